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
//!                {"id": "msg_…", "role": "user", "tier": "input", "tokens": 8}],
//!   "this_turn": {"parts": 2, "tokens": 33},
//!   "left_out": [{"id": "msg_…", "seq": 39, "role": "assistant", "tier": "window", "tokens": 900, "limit": "max_tokens"}],
//!   "older": 38,
//!   "limits": {"last_messages": 10, "max_tokens": 8000,
//!              "recall": {"scope": "resource", "top_k": 4, "before": 1, "after": 1, "threshold": 0.0,
//!                         "space": "hash-1/512"}}
//! }
//! ```
//!
//! `position` counts back from the question (1 is the newest row before it); `thread` is named only for messages of other
//! threads; `beside` is the rank of the hit a neighbour came with; `tokens.estimated` is the documented estimate over
//! everything fed, `input` and `output` are what the provider billed (absent where it did not say); `older` counts the
//! rows of the thread below the window's limit, recalled ones included; a recall `space` of `null` means that words alone
//! decided.

use roster_model::feed::FeedRecord;
use roster_model::id::TurnId;
use roster_model::message::{Origin, Part, StoredMessage};
use roster_model::provider::Usage;
use roster_model::time::Timestamp;
use roster_model::working::MemoryScope;
use serde_json::{Map, Value, json};

use super::estimate_tokens;
use super::recall::{Found, Gathered, Searched, Why};
use super::window::estimate_text;
use crate::definition::{RecallConfig, WindowConfig};

/// How long records are kept: 30 days, in milliseconds.
pub const RETENTION_MILLIS: i64 = 30 * 24 * 3600 * 1000;

/// Records older than this may go.
#[must_use]
pub fn keep_after(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.millis().saturating_sub(RETENTION_MILLIS))
}

/// What is the same for every model call of a turn.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    system: Vec<Value>,
    messages: Vec<Value>,
    left_out: Vec<Value>,
    older: u64,
    limits: Map<String, Value>,
    tokens: u64,
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
    /// What the provider billed, where it said so.
    pub usage: Usage,
}

impl Feed {
    /// The limits of tier 1.
    pub fn limits(&mut self, window: WindowConfig) {
        self.limits.insert("last_messages".to_owned(), json!(window.last_messages));
        self.limits.insert("max_tokens".to_owned(), json!(window.max_tokens));
    }

    /// A system text.
    pub fn system(&mut self, part: &'static str, text: &str) {
        let tokens = u64::from(estimate_text(text));
        self.tokens += tokens;
        self.system.push(json!({"part": part, "tokens": tokens}));
    }

    /// The working memory.
    pub fn working(&mut self, text: &str, scope: &MemoryScope, version: u64) {
        self.system("working_memory", text);
        let scope = match scope {
            MemoryScope::Thread(_) => "thread",
            MemoryScope::Resource(_) => "resource",
        };
        if let Some(last) = self.system.last_mut() {
            last["scope"] = json!(scope);
            last["version"] = json!(version);
        }
    }

    /// The window's rows, oldest first, those that no longer fitted, and how many the thread has below its limit.
    pub fn window(&mut self, kept: &[StoredMessage], cut: &[StoredMessage], older: u64) {
        for (at, row) in kept.iter().enumerate() {
            let mut entry = of_row(row, "window");
            entry["position"] = json!(kept.len() - at);
            self.fed(entry);
        }
        self.left_out.extend(cut.iter().map(|row| with_limit(of_row(row, "window"))));
        self.older = older;
    }

    /// What was recalled and why.
    pub fn recall(&mut self, config: &RecallConfig, searched: &Searched, gathered: &Gathered) {
        let entry = |found: &Found, here: bool| {
            let mut entry = of_row(&found.row, "recall");
            if !here {
                entry["thread"] = json!(found.thread.as_str());
            }
            explain(&mut entry, found.why, searched);
            entry
        };
        let here: Vec<Value> = gathered.here.iter().map(|found| entry(found, true)).collect();
        let elsewhere: Vec<Value> = gathered.elsewhere.iter().map(|found| entry(found, false)).collect();
        self.left_out.extend(gathered.left_out.iter().map(|found| with_limit(entry(found, false))));
        here.into_iter().for_each(|entry| self.fed(entry));
        // Their tokens are those of the block, counted with the system texts.
        self.messages.extend(elsewhere);
        let limits = json!({
            "scope": searched.scope.as_str(),
            "top_k": config.top_k,
            "before": config.before,
            "after": config.after,
            "threshold": config.threshold,
            "space": searched.space,
        });
        self.limits.insert("recall".to_owned(), limits);
    }

    /// A message of the request.
    pub fn input(&mut self, id: &str, role: &str, parts: &[Part]) {
        self.fed(json!({"id": id, "role": role, "tier": "input", "tokens": estimate_tokens(parts)}));
    }

    fn fed(&mut self, entry: Value) {
        self.tokens += entry["tokens"].as_u64().unwrap_or(0);
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
        let mut tokens = json!({"estimated": self.tokens + call.tokens});
        for (name, count) in [("input", call.usage.input_tokens), ("output", call.usage.output_tokens)] {
            if let Some(count) = count {
                tokens[name] = json!(count);
            }
        }
        let record = [
            ("v", json!(1)),
            ("agent", json!(origin.agent.as_str())),
            ("generation", json!(origin.generation)),
            ("fingerprint", json!(origin.fingerprint)),
            ("model", json!(call.model)),
            ("tokens", tokens),
            ("system", json!(self.system)),
            ("messages", json!(self.messages)),
            ("this_turn", json!({"parts": call.parts, "tokens": call.tokens})),
            ("left_out", json!(self.left_out)),
            ("older", json!(self.older)),
            ("limits", Value::Object(self.limits.clone())),
        ];
        let record = record.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        FeedRecord { turn: turn.clone(), step: call.step, at: call.at, record }
    }
}

fn of_row(row: &StoredMessage, tier: &str) -> Value {
    json!({
        "id": row.message.id.as_str(),
        "seq": row.seq.0,
        "role": row.message.role.as_str(),
        "tier": tier,
        "tokens": estimate_tokens(&row.message.parts),
    })
}

fn with_limit(mut entry: Value) -> Value {
    entry["limit"] = json!("max_tokens");
    entry
}

fn explain(entry: &mut Value, why: Why, searched: &Searched) {
    let rank = why.rank();
    if matches!(why, Why::Beside(_)) {
        entry["beside"] = json!(rank);
        return;
    }
    entry["rank"] = json!(rank);
    let Some(hit) = searched.hits.get(rank - 1) else { return };
    entry["score"] = json!(hit.score);
    if let Some(cosine) = hit.cosine {
        entry["cosine"] = json!(cosine);
    }
    let by = [("meaning", hit.by_meaning.is_some()), ("words", hit.by_words.is_some())];
    entry["found_by"] = json!(by.iter().filter(|(_, found)| *found).map(|(by, _)| *by).collect::<Vec<_>>());
}
