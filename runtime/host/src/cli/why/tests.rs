use roster_model::feed::FeedRecord;
use roster_model::id::{ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::time::Timestamp;
use serde_json::{Value, json};

use super::page::{Said, of};
use super::record::Record;

fn page(record: &Value, said: &[(&str, &str)]) -> String {
    let record = record.to_string();
    let turn = TurnId::new("turn_1").expect("an id");
    let stored = FeedRecord { turn, step: 1, at: Timestamp::from_millis(0), record };
    let key = ThreadKey {
        resource: ResourceId::new("user:ada").expect("an id"),
        thread: ThreadId::new("tea").expect("an id"),
    };
    let said: Said = said.iter().map(|(id, words)| ((*id).to_owned(), (*words).to_owned())).collect();
    of(&key, &[(&stored, Record::read(&stored))], &said)
}

fn everything() -> Value {
    json!({
        "v": 1, "agent": "keeper", "model": "stub/one",
        "tokens": {"estimated": 812, "input": 799, "output": 41},
        "system": [{"part": "instructions", "tokens": 20},
                   {"part": "working_memory", "tokens": 210, "scope": "resource", "version": 3},
                   {"part": "recalled", "tokens": 90}],
        "messages": [
            {"id": "m1", "seq": 7, "role": "user", "tier": "recall", "tokens": 9, "rank": 1, "score": 0.0325,
             "cosine": 0.8125, "found_by": ["meaning", "words"]},
            {"id": "m2", "seq": 8, "role": "assistant", "tier": "recall", "tokens": 12, "beside": 1},
            {"id": "m3", "seq": 3, "role": "user", "tier": "recall", "thread": "old", "tokens": 7, "rank": 2,
             "score": 0.016, "found_by": ["words"]},
            {"id": "m4", "seq": 40, "role": "user", "tier": "window", "tokens": 11, "position": 1,
             "cut_results": [{"call": "c1", "tool": "http_fetch", "bytes": 1_048_576, "fed": 65_530}]},
            {"id": "m5", "role": "user", "tier": "input", "tokens": 8}],
        "this_turn": {"parts": 2, "tokens": 33,
                      "cut_results": [{"call": "c2", "tool": "get\u{1b}it", "bytes": 70_000, "fed": 65_530}]},
        "left_out": [{"id": "m6", "seq": 39, "role": "assistant", "tier": "window", "tokens": 900, "limit": "max_tokens"}],
        "older": 38,
        "limits": {"last_messages": 10, "max_tokens": 8000,
                   "recall": {"scope": "resource", "top_k": 4, "before": 1, "after": 1, "threshold": 0.5,
                              "space": "hash-1/512"}}
    })
}

const SHOWN: &str = r#"turn turn_1 of thread tea of user:ada: 1 model call

call 1 at 1970-01-01T00:00:00.000Z: keeper asked stub/one
  812 tokens by estimate; the provider counted 799 in and 41 out

  TOKENS  FED
      20  instructions
     210  working memory of the owner, version 3
      90  lines recalled from other threads
       9  recall  user       hit 1 by meaning and words, cosine 0.812, score 0.0325
          "I like tea"
      12  recall  assistant  beside hit 1
       7  recall  user       hit 2 by words, score 0.0160, of thread old
      11  window  user       1 before the question
          result of http_fetch: 65530 of 1048576 bytes, cut by `tool_result`
       8  input   user       of the request
      33  2 parts of this turn so far
          result of get it: 65530 of 70000 bytes, cut by `tool_result`

  TOKENS  LEFT OUT
     900  window  assistant  no room within `max_tokens`

  window: the newest 10 messages, at most 8000 tokens; 38 older messages beyond it
  recall: all threads of the owner, by vectors (hash-1/512) and words; at most 4 hits with 1 before and 1 after, threshold 0.5
"#;

#[test]
fn everything_that_was_fed_or_left_out_is_shown_with_its_reason() {
    assert_eq!(page(&everything(), &[("m1", "I like\n tea")]), SHOWN);
}

#[test]
fn a_record_that_says_little_is_shown_as_far_as_it_goes() {
    let text = page(&json!({"v": 9, "agent": "keeper", "model": "stub/one"}), &[]);
    assert!(text.contains("the provider did not say"), "{text}");
    assert!(text.contains("window: none"), "{text}");
    assert!(!text.contains("LEFT OUT") && !text.contains("recall:"), "{text}");
}

#[test]
fn what_people_said_cannot_write_to_the_terminal() {
    let record = json!({"messages": [{"id": "m", "role": "user", "tier": "window", "position": 1}]});
    let text = page(&record, &[("m", &format!("\u{1b}[31mred\u{7} {}", "x".repeat(200)))]);
    assert!(text.contains("\"[31mred xxx") && text.contains("x…\""), "{text}");
    assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text}");
}
