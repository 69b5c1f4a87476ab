//! Feed records as a person reads them.

use std::collections::HashMap;
use std::fmt::Write as _;

use roster_model::feed::FeedRecord;
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::message::Seq;
use roster_model::recall::RecallStore;
use roster_model::storage::StoreError;

use super::record::{Cut, Fed, Recall, Record};
use crate::render::{many, one_line};

/// Letters of a message that are shown.
const SHOWN: usize = 72;

/// The words of messages, by their ids.
pub(super) type Said = HashMap<String, String>;

/// Looks the words of everything named in the records up. What was deleted meanwhile has none.
///
/// # Errors
/// The store's.
pub(super) async fn said(
    store: &dyn RecallStore,
    key: &ThreadKey,
    calls: &[(&FeedRecord, Record)],
) -> Result<Said, StoreError> {
    let mut said = Said::new();
    for (_, record) in calls {
        let newest = record.messages.iter().filter(|fed| fed.tier == "window").filter_map(|fed| fed.seq).max();
        let mut question = newest.unwrap_or_default();
        for fed in record.messages.iter().chain(&record.left_out) {
            let (thread, seq) = match (&fed.thread, fed.seq) {
                (Some(thread), Some(seq)) => (ThreadId::new(thread).ok(), seq),
                (None, Some(seq)) => (Some(key.thread.clone()), seq),
                // What came with the request stands behind the window.
                (_, None) => {
                    question += 1;
                    (Some(key.thread.clone()), question)
                }
            };
            let Some(thread) = thread.filter(|_| !said.contains_key(&fed.id)) else { continue };
            let key = ThreadKey { resource: key.resource.clone(), thread };
            let rows = store.around(&key, Seq(seq), 0, 0).await?;
            let row = rows.into_iter().find(|row| row.message.id.as_str() == fed.id);
            said.extend(row.map(|row| (fed.id.clone(), row.message.text())));
        }
    }
    Ok(said)
}

/// All calls of a turn.
pub(super) fn of(key: &ThreadKey, calls: &[(&FeedRecord, Record)], said: &Said) -> String {
    let turn = calls.first().map(|(record, _)| record.turn.as_str()).unwrap_or_default();
    let count = many(calls.len() as u64, "model call");
    let mut text = format!("turn {turn} of thread {} of {}: {count}\n", key.thread, key.resource);
    for (stored, record) in calls {
        let Record { agent, model, .. } = record;
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(text, "\ncall {} at {}: {agent} asked {model}", stored.step, stored.at);
        call(&mut text, record, said);
    }
    text
}

fn call(text: &mut String, record: &Record, said: &Said) {
    let _ = writeln!(text, "  {}\n\n  TOKENS  FED", tokens(record));
    for system in &record.system {
        let what = match (system.part.as_str(), &system.scope, system.version) {
            ("working_memory", Some(scope), Some(version)) => {
                format!("working memory of the {}, version {version}", owner(scope))
            }
            ("recalled", _, _) => "lines recalled from other threads".to_owned(),
            (other, _, _) => other.replace('_', " "),
        };
        row(text, system.tokens, &what);
    }
    for fed in &record.messages {
        row(text, fed.tokens, &format!("{:<7} {:<10} {}", fed.tier, fed.role, why(fed)));
        words(text, fed, said);
        cut(text, &fed.cut_results);
    }
    if record.this_turn.parts > 0 {
        let what = format!("{} of this turn so far", many(record.this_turn.parts, "part"));
        row(text, record.this_turn.tokens, &what);
        cut(text, &record.this_turn.cut_results);
    }
    if !record.left_out.is_empty() {
        text.push_str("\n  TOKENS  LEFT OUT\n");
    }
    for fed in &record.left_out {
        let limit = fed.limit.as_deref().unwrap_or("a limit");
        row(text, fed.tokens, &format!("{:<7} {:<10} no room within `{limit}`", fed.tier, fed.role));
        words(text, fed, said);
    }
    limits(text, record);
}

fn tokens(record: &Record) -> String {
    let billed = match (record.tokens.input, record.tokens.output) {
        (None, None) => "the provider did not say how many it counted".to_owned(),
        (input, output) => {
            let told = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
            format!("the provider counted {} in and {} out", told(input), told(output))
        }
    };
    format!("{} tokens by estimate; {billed}", record.tokens.estimated)
}

fn row(text: &mut String, tokens: u64, what: &str) {
    let _ = writeln!(text, "  {tokens:>6}  {}", what.trim_end());
}

/// Why a message was fed.
fn why(fed: &Fed) -> String {
    let mut why = match (fed.tier.as_str(), fed.position, fed.rank, fed.beside) {
        ("window", Some(position), _, _) => format!("{position} before the question"),
        ("recall", _, Some(rank), _) => hit(fed, rank),
        ("recall", _, _, Some(hit)) => format!("beside hit {hit}"),
        ("input", _, _, _) => "of the request".to_owned(),
        _ => String::new(),
    };
    if let Some(thread) = &fed.thread {
        let _ = write!(why, ", of thread {}", one_line(thread, SHOWN));
    }
    why
}

fn hit(fed: &Fed, rank: u64) -> String {
    let mut why = format!("hit {rank}");
    if !fed.found_by.is_empty() {
        let _ = write!(why, " by {}", fed.found_by.join(" and "));
    }
    if let Some(cosine) = fed.cosine {
        let _ = write!(why, ", cosine {cosine:.3}");
    }
    if let Some(score) = fed.score {
        let _ = write!(why, ", score {score:.4}");
    }
    why
}

/// The beginning of what the message says, on a line of its own.
fn words(text: &mut String, fed: &Fed, said: &Said) {
    let words = said.get(&fed.id).map(|words| one_line(words, SHOWN)).filter(|words| !words.is_empty());
    if let Some(words) = words {
        let _ = writeln!(text, "          \"{words}\"");
    }
}

/// Results of which a part was fed, on lines of their own.
fn cut(text: &mut String, results: &[Cut]) {
    for Cut { tool, bytes, fed } in results {
        let tool = one_line(tool, SHOWN);
        let _ = writeln!(text, "          result of {tool}: {fed} of {bytes} bytes, cut by `tool_result`");
    }
}

fn limits(text: &mut String, record: &Record) {
    let limits = &record.limits;
    let window = match limits.last_messages {
        None | Some(0) => "none".to_owned(),
        Some(last) => format!("the newest {last} messages"),
    };
    let _ = write!(text, "\n  window: {window}");
    if let Some(most) = limits.max_tokens {
        let _ = write!(text, ", at most {most} tokens");
    }
    if record.older > 0 {
        let _ = write!(text, "; {} beyond it", many(record.older, "older message"));
    }
    text.push('\n');
    if let Some(recall) = &limits.recall {
        let _ = writeln!(text, "  recall: {}", searched(recall));
    }
}

fn searched(recall: &Recall) -> String {
    let Recall { scope, top_k, before, after, threshold, space } = recall;
    let looked = if scope == "resource" { "all threads of the owner" } else { "this thread only" };
    let by = match space {
        Some(space) => format!("by vectors ({space}) and words"),
        None => "by words alone".to_owned(),
    };
    let hits = many(*top_k, "hit");
    format!("{looked}, {by}; at most {hits} with {before} before and {after} after, threshold {threshold}")
}

fn owner(scope: &str) -> &str {
    if scope == "resource" { "owner" } else { scope }
}
