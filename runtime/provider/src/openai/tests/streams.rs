//! `NAME.sse` is what a server sends, `NAME.deltas` what it stands for, a line each.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use proptest::prelude::*;
use roster_model::provider::{Delta, ProviderError};

use crate::call::{Wire as _, answer_of};
use crate::openai::OpenAi;
use crate::refusal::shortened;

macro_rules! goldens {
    ($($name:literal,)*) => {
        &[$((
            $name,
            include_str!(concat!("../../../tests/golden/openai/", $name, ".sse")),
            include_str!(concat!("../../../tests/golden/openai/", $name, ".deltas")),
        ),)*]
    };
}

/// Name, stream, deltas.
const GOLDENS: &[(&str, &str, &str)] = goldens![
    "broken-frame",
    "calls-braces-in-strings",
    "calls-empty-arguments",
    "calls-finish-stop",
    "calls-glued-arguments",
    "calls-id-and-name-in-every-piece",
    "calls-id-first-piece-only",
    "calls-index-zero-thrice",
    "calls-index-zero-thrice-in-pieces",
    "calls-interleaved",
    "calls-name-in-every-piece",
    "calls-name-late",
    "calls-name-never",
    "calls-no-id",
    "calls-no-id-index-zero-thrice",
    "calls-no-id-no-index",
    "calls-no-id-no-index-one-frame",
    "calls-no-index",
    "calls-no-index-one-frame",
    "calls-same-id",
    "calls-standard",
    "chatter",
    "content-parts",
    "cut-in-arguments",
    "cut-in-frame",
    "cut-in-frame-after-finish",
    "data-over-lines",
    "empty-answer",
    "error-429-in-stream",
    "error-event",
    "error-in-stream",
    "error-null-is-none",
    "error-numeric-code",
    "error-object-vllm",
    "error-string",
    "finish-content-filter",
    "finish-error",
    "finish-length",
    "finish-tool-calls-without-calls",
    "finish-without-done",
    "function-call",
    "no-bytes",
    "no-finish-no-done",
    "null-finish-then-done",
    "null-finish-then-done-with-calls",
    "only-done",
    "only-thinking",
    "plain",
    "reasoning",
    "reasoning-content",
    "refusal",
    "second-candidate-ignored",
    "usage-early-null",
];

fn response(kind: &str, pieces: Vec<Bytes>) -> reqwest::Response {
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(pieces.into_iter().map(Ok::<_, std::io::Error>)));
    http::Response::builder().header("content-type", kind).body(body).expect("response").into()
}

async fn replay(kind: &str, pieces: Vec<Bytes>) -> String {
    let reader = OpenAi::new(true).reader();
    let mut shown = String::new();
    match answer_of(response(kind, pieces), reader, Duration::from_secs(5)).await {
        Ok(stream) => {
            let mut stream = std::pin::pin!(stream);
            while let Some(delta) = stream.next().await {
                show(&mut shown, delta);
            }
        }
        Err(error) => show(&mut shown, Err(error)),
    }
    shown
}

fn show(shown: &mut String, delta: Result<Delta, ProviderError>) {
    let written = match delta {
        Ok(Delta::Text(text)) => writeln!(shown, "text {text:?}"),
        Ok(Delta::Reasoning(text)) => writeln!(shown, "reasoning {text:?}"),
        Ok(Delta::ReasoningOpaque(value)) => writeln!(shown, "opaque {value}"),
        Ok(Delta::ToolCall { index, id, name }) => {
            writeln!(shown, "call {index} {} {name}", id.as_deref().unwrap_or("-"))
        }
        Ok(Delta::ToolArguments { index, fragment }) => writeln!(shown, "arguments {index} {fragment:?}"),
        Ok(Delta::End { reason, usage, model }) => {
            writeln!(shown, "end {reason:?} {} {}", numbers(&usage), model.as_deref().unwrap_or("-"))
        }
        Err(error) => writeln!(shown, "error {:?} {} {}", error.kind, numbers(&error.usage), shortened(&error.message)),
    };
    written.expect("shown");
}

fn numbers(usage: &roster_model::provider::Usage) -> String {
    let all = [
        usage.input_tokens,
        usage.output_tokens,
        usage.total_tokens,
        usage.cached_input_tokens,
        usage.reasoning_tokens,
    ];
    all.map(|count| count.map_or("-".to_owned(), |count| count.to_string())).join("/")
}

fn in_pieces(bytes: &[u8], size: usize) -> Vec<Bytes> {
    bytes.chunks(size).map(Bytes::copy_from_slice).collect()
}

async fn events(pieces: Vec<Bytes>) -> String {
    replay("text/event-stream", pieces).await
}

#[tokio::test]
async fn each_stream_gives_its_deltas() {
    let mut wrong = String::new();
    for (name, stream, expected) in GOLDENS {
        let shown = events(in_pieces(stream.as_bytes(), usize::MAX)).await;
        if shown != *expected {
            write!(wrong, "== {name}\n{shown}").expect("written");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[tokio::test]
async fn a_cut_at_any_byte_changes_nothing() {
    for (name, stream, expected) in GOLDENS {
        for at in 0..stream.len() {
            let (head, tail) = stream.as_bytes().split_at(at);
            let pieces = vec![Bytes::copy_from_slice(head), Bytes::copy_from_slice(tail)];
            assert_eq!(events(pieces).await, *expected, "{name} cut at {at}");
        }
    }
}

#[tokio::test]
async fn pieces_line_ends_blanks_and_marks_change_nothing() {
    for (name, stream, expected) in GOLDENS {
        for line_end in ["\n", "\r\n", "\r"] {
            for with_blank in [true, false] {
                for mark in ["", "\u{feff}"] {
                    let stream = if with_blank { (*stream).to_owned() } else { stream.replace("data: ", "data:") };
                    let bytes = format!("{mark}{}", stream.replace('\n', line_end));
                    for size in [1, 2, 3, 7] {
                        let shown = events(in_pieces(bytes.as_bytes(), size)).await;
                        assert_eq!(shown, *expected, "{name} {line_end:?} {with_blank} {mark:?} {size}");
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn a_missing_last_blank_line_changes_nothing() {
    for (name, stream, expected) in GOLDENS {
        for cut in [stream.trim_end_matches('\n'), stream.strip_suffix('\n').unwrap_or(stream)] {
            assert_eq!(events(in_pieces(cut.as_bytes(), 5)).await, *expected, "{name}");
        }
    }
}

#[tokio::test]
async fn the_done_mark_may_be_missing_once_the_model_has_stopped() {
    let mut tried = 0;
    for (name, stream, expected) in GOLDENS {
        let Some(cut) = stream.strip_suffix("data: [DONE]\n\n") else { continue };
        if stream.contains(r#""finish_reason":""#) {
            tried += 1;
            assert_eq!(events(in_pieces(cut.as_bytes(), 7)).await, *expected, "{name}");
        }
    }
    assert!(tried > 10, "only {tried} streams were tried");
}

/// The TO-f5 stream, and that a wrong or missing content type does not matter.
#[tokio::test]
async fn the_first_byte_counts_where_the_content_type_is_wrong() {
    let (_, stream, expected) = GOLDENS.iter().find(|golden| golden.0 == "chatter").expect("there");
    for kind in ["text/plain", "application/octet-stream", "text/event-stream; charset=utf-8"] {
        assert_eq!(replay(kind, in_pieces(stream.as_bytes(), 1)).await, *expected, "{kind}");
    }
    let whole = r#"{"model":"m","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for kind in ["application/json", "application/json; charset=utf-8", "text/event-stream", "text/plain"] {
        let shown = replay(kind, in_pieces(whole.as_bytes(), 9)).await;
        assert_eq!(shown, "text \"hi\"\nend Stop -/-/-/-/- m\n", "{kind}");
    }
    for kind in ["text/html", "application/json", "text/event-stream"] {
        let shown = replay(kind, in_pieces(b"\n<!doctype html><p>sign in", 4)).await;
        assert!(shown.starts_with("error NotFound") && shown.contains("web page"), "{kind}: {shown}");
    }
}

async fn whole(body: &str) -> String {
    replay("application/json", in_pieces(body.as_bytes(), 11)).await
}

#[tokio::test]
async fn whole_answers_are_read_as_streams_are() {
    for (body, expected) in [
        (
            r#"{"model":"m","choices":[{"index":0,"message":{"role":"assistant","reasoning_content":"hm","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":2}}}"#,
            "reasoning \"hm\"\ntext \"hi\"\nend Stop 7/3/10/2/- m\n",
        ),
        (
            r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"weigh","arguments":"{\"box\":1}"}},{"id":"a","function":{"name":"weigh","arguments":"{\"box\":2}"}},{"function":{"name":"ping","arguments":{}}}]},"finish_reason":"tool_calls"}]}"#,
            "call 0 a weigh\narguments 0 \"{\\\"box\\\":1}\"\ncall 1 a weigh\narguments 1 \"{\\\"box\\\":2}\"\ncall 2 - ping\narguments 2 \"{}\"\nend ToolCalls -/-/-/-/- -\n",
        ),
        (
            r#"{"choices":[{"message":{"content":"","function_call":{"name":"weigh","arguments":""}},"finish_reason":null}]}"#,
            "call 0 - weigh\nend ToolCalls -/-/-/-/- -\n",
        ),
        (
            r#"{"choices":[{"message":{"content":"long"},"finish_reason":"length"}],"usage":null}"#,
            "text \"long\"\nend Length -/-/-/-/- -\n",
        ),
    ] {
        assert_eq!(whole(body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn whole_failures_keep_their_kind_and_tokens() {
    for (body, expected) in [
        (
            r#"{"choices":[{"message":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":7}}"#,
            "error Empty 7/-/-/-/-",
        ),
        (r#"{"choices":[]}"#, "error Empty"),
        (r#"{"error":{"message":"busy","type":"overloaded_error"}}"#, "error Overloaded"),
        (r#"{"error":{"message":"m","code":"model_not_found"},"choices":null}"#, "error NotFound"),
        (r#"{"detail":"no"}"#, "error Server"),
        (r#"{"choices":[{"mess"#, "error Protocol"),
        ("", "error Protocol"),
    ] {
        let shown = whole(body).await;
        assert!(shown.starts_with(expected), "{body}: {shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_deltas(
        golden in 0..GOLDENS.len(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..40),
    ) {
        let (name, stream, expected) = GOLDENS[golden];
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for place in places.into_iter().chain([stream.len()]) {
            pieces.push(Bytes::copy_from_slice(&stream.as_bytes()[from..place]));
            from = place;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("runtime");
        prop_assert_eq!(runtime.block_on(events(pieces)), expected, "{}", name);
    }
}
