//! The prompt X-ray: for each model call, what was fed, in which tier and why, and what was left out.
//!
//! The record's form, as stored and shown (`GET /api/memory/threads/{id}/feed`, `roster why`):
//!
//! ```json
//! {
//!   "v": 1,
//!   "agent": "docs-agent", "generation": 3, "fingerprint": "91d6df1b…", "model": "openai/gpt-4o",
//!   "tokens": {"estimated": 812, "input": 799, "output": 41},
//!   "system": [{"part": "instructions", "tokens": 20},
//!              {"part": "working_memory", "tokens": 210, "scope": "resource", "version": 3},
//!              {"part": "recalled", "tokens": 90}],
//!   "messages": [{"id": "msg_…", "seq": 7, "role": "user", "tier": "recall", "tokens": 9, "rank": 1, "score": 0.0325,
//!                 "cosine": 0.81, "found_by": ["meaning", "words"]},
//!                {"id": "msg_…", "seq": 8, "role": "assistant", "tier": "recall", "tokens": 12, "beside": 1},
//!                {"id": "msg_…", "seq": 3, "role": "user", "tier": "recall", "thread": "thread_…", "tokens": 7, "rank": 2, …},
//!                {"id": "msg_…", "seq": 40, "role": "user", "tier": "window", "tokens": 11, "position": 2},
//!                {"id": "msg_…", "seq": 41, "role": "assistant", "tier": "window", "tokens": 16400, "position": 1,
//!                 "cut_results": [{"call": "call_…", "tool": "http_fetch", "bytes": 1048576, "fed": 65530}]},
//!                {"id": "msg_…", "role": "user", "tier": "input", "tokens": 8}],
//!   "this_turn": {"parts": 2, "tokens": 33},
//!   "left_out": [{"id": "msg_…", "seq": 39, "role": "assistant", "tier": "window", "tokens": 900, "limit": "max_tokens"}],
//!   "older": 38,
//!   "limits": {"last_messages": 10, "max_tokens": 8000, "tool_result": 65536,
//!              "recall": {"scope": "resource", "top_k": 4, "before": 1, "after": 1, "threshold": 0.0,
//!                         "space": "hash-1/512"}}
//! }
//! ```
//!
//! `position` counts back from the question (1 is the newest row before it); `thread` is named only for messages of other
//! threads; `beside` is the rank of the hit a neighbour came with; `tokens.estimated` is the documented estimate over
//! everything fed, `input` and `output` are what the provider billed (absent where it did not say); `older` counts the
//! rows of the thread below the window's limit, recalled ones included; a recall `space` of `null` means that words alone
//! decided. `cut_results` (also of `this_turn`) are results above the limit `tool_result`, of which a part was fed.

use roster_model::feed::FeedRecord;
use roster_model::id::{MessageId, ThreadId, TurnId};
use roster_model::message::{Origin, Part, StoredMessage};
use roster_model::provider::Usage;
use roster_model::time::Timestamp;
use roster_model::working::MemoryScope;
use serde::Serialize;

use super::recall::{Found, Gathered, Searched, Why};
use super::transcript::ResultCap;
use super::window::{CutResult, estimate_text, measure};
use crate::definition::{RecallConfig, WindowConfig};

/// How long records are kept: 30 days, in milliseconds.
pub const RETENTION_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// Records older than this may go.
#[must_use]
pub fn keep_after(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.millis().saturating_sub(RETENTION_MILLIS))
}

/// What is the same for every model call of a turn. Written as text once for each call: every turn makes one.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    system: Vec<System>,
    messages: Vec<Entry>,
    left_out: Vec<Entry>,
    older: u64,
    limits: Limits,
    tokens: u64,
    cap: ResultCap,
}

/// One model call.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// From 1.
    pub step: u32,
    /// When it was asked.
    pub at: Timestamp,
    /// `provider/model`.
    pub model: String,
    /// What this turn had said before it.
    pub parts: usize,
    /// Its estimated tokens.
    pub tokens: u64,
    /// The results among it that were not fed whole.
    pub cut: Vec<CutResult>,
    /// What the provider billed, where it said so.
    pub usage: Usage,
}

/// A system text.
#[derive(Debug, Clone, Serialize)]
struct System {
    part: &'static str,
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u64>,
}

/// A message that was fed or left out.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    id: MessageId,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    role: &'static str,
    tier: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<ThreadId>,
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rank: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cosine: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    beside: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut_results: Vec<CutResult>,
}

#[derive(Debug, Clone, Default, Serialize)]
struct Limits {
    last_messages: u32,
    max_tokens: Option<u32>,
    tool_result: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    recall: Option<RecallLimits>,
}

#[derive(Debug, Clone, Serialize)]
struct RecallLimits {
    scope: &'static str,
    top_k: usize,
    before: usize,
    after: usize,
    threshold: f32,
    space: Option<String>,
}

#[derive(Serialize)]
struct Record<'a> {
    v: u32,
    agent: &'a str,
    generation: u64,
    fingerprint: &'a str,
    model: &'a str,
    tokens: Tokens,
    system: &'a [System],
    messages: &'a [Entry],
    this_turn: ThisTurn<'a>,
    left_out: &'a [Entry],
    older: u64,
    limits: &'a Limits,
}

#[derive(Serialize)]
struct Tokens {
    estimated: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
}

#[derive(Serialize)]
struct ThisTurn<'a> {
    parts: usize,
    tokens: u64,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    cut_results: &'a [CutResult],
}

impl Feed {
    /// A record in which nothing stands yet; results are fed up to this cap.
    #[must_use]
    pub fn new(cap: ResultCap) -> Self {
        let limits = Limits { tool_result: cap.most(), ..Limits::default() };
        Self { cap, limits, ..Self::default() }
    }

    /// The limits of tier 1.
    pub fn limits(&mut self, window: WindowConfig) {
        self.limits.last_messages = window.last_messages;
        self.limits.max_tokens = window.max_tokens;
    }

    /// A system text.
    pub fn system(&mut self, part: &'static str, text: &str) {
        let tokens = u64::from(estimate_text(text));
        self.tokens += tokens;
        self.system.push(System { part, tokens, scope: None, version: None });
    }

    /// The working memory.
    pub fn working(&mut self, text: &str, scope: &MemoryScope, version: u64) {
        self.system("working_memory", text);
        if let Some(last) = self.system.last_mut() {
            last.scope = Some(match scope {
                MemoryScope::Thread(_) => "thread",
                MemoryScope::Resource(_) => "resource",
            });
            last.version = Some(version);
        }
    }

    /// The window's rows, oldest first, those that no longer fitted, and how many the thread has below its limit.
    pub fn window(&mut self, kept: &[StoredMessage], cut: &[StoredMessage], older: u64) {
        for (at, row) in kept.iter().enumerate() {
            let entry = Entry::of_row(row, "window", self.cap);
            self.fed(Entry { position: Some(kept.len() - at), ..entry });
        }
        self.left_out.extend(cut.iter().map(|row| Entry::of_row(row, "window", self.cap).cut()));
        self.older = older;
    }

    /// What was recalled and why.
    pub fn recall(&mut self, config: &RecallConfig, searched: &Searched, gathered: &Gathered) {
        for found in &gathered.here {
            self.fed(Entry::of_found(found, true, searched, self.cap));
        }
        // Their tokens are those of the block, counted with the system texts.
        let of = |found: &Found| Entry::of_found(found, false, searched, self.cap);
        self.messages.extend(gathered.elsewhere.iter().map(of));
        self.left_out.extend(gathered.left_out.iter().map(|found| of(found).cut()));
        self.limits.recall = Some(RecallLimits {
            scope: searched.scope.as_str(),
            top_k: config.top_k,
            before: config.before,
            after: config.after,
            threshold: config.threshold,
            space: searched.space.clone(),
        });
    }

    /// A message of the request.
    pub fn input(&mut self, id: &MessageId, role: &'static str, parts: &[Part]) {
        self.fed(Entry::new(id, role, "input", parts, self.cap));
    }

    fn fed(&mut self, entry: Entry) {
        self.tokens += entry.tokens;
        self.messages.push(entry);
    }

    /// The estimated tokens of everything but what this turn says.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The record of one model call.
    #[must_use]
    pub fn record(&self, turn: &TurnId, origin: &Origin, call: &ModelCall) -> FeedRecord {
        let record = Record {
            v: 1,
            agent: origin.agent.as_str(),
            generation: origin.generation,
            fingerprint: &origin.fingerprint,
            model: &call.model,
            tokens: Tokens {
                estimated: self.tokens + call.tokens,
                input: call.usage.input_tokens,
                output: call.usage.output_tokens,
            },
            system: &self.system,
            messages: &self.messages,
            this_turn: ThisTurn { parts: call.parts, tokens: call.tokens, cut_results: &call.cut },
            left_out: &self.left_out,
            older: self.older,
            limits: &self.limits,
        };
        // Numbers, texts and lists: nothing in it can fail to be written.
        let record = serde_json::to_string(&record).unwrap_or_else(|_| "{}".to_owned());
        FeedRecord { turn: turn.clone(), step: call.step, at: call.at, record }
    }
}

impl Entry {
    fn new(id: &MessageId, role: &'static str, tier: &'static str, parts: &[Part], cap: ResultCap) -> Self {
        let measured = measure(parts, cap);
        Self {
            id: id.clone(),
            seq: None,
            role,
            tier,
            thread: None,
            tokens: u64::from(measured.tokens),
            rank: None,
            score: None,
            cosine: None,
            found_by: None,
            beside: None,
            position: None,
            limit: None,
            cut_results: measured.cut,
        }
    }

    fn of_row(row: &StoredMessage, tier: &'static str, cap: ResultCap) -> Self {
        let message = &row.message;
        Self { seq: Some(row.seq.0), ..Self::new(&message.id, message.role.as_str(), tier, &message.parts, cap) }
    }

    fn of_found(found: &Found, here: bool, searched: &Searched, cap: ResultCap) -> Self {
        let mut entry = Self::of_row(&found.row, "recall", cap);
        entry.thread = (!here).then(|| found.thread.clone());
        let rank = found.why.rank();
        if matches!(found.why, Why::Beside(_)) {
            return Self { beside: Some(rank), ..entry };
        }
        entry.rank = Some(rank);
        let Some(hit) = searched.hits.get(rank - 1) else { return entry };
        let by = [("meaning", hit.by_meaning.is_some()), ("words", hit.by_words.is_some())];
        Self {
            score: Some(hit.score),
            cosine: hit.cosine,
            found_by: Some(by.into_iter().filter(|(_, found)| *found).map(|(by, _)| by).collect()),
            ..entry
        }
    }

    /// Left out, by the one limit that leaves out.
    fn cut(self) -> Self {
        Self { limit: Some("max_tokens"), ..self }
    }
}
