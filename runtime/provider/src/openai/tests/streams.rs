//! What of streams and whole answers is this dialect's own; the goldens are replayed by `crate::tests::goldens`.

use crate::config::Dialect;
use crate::tests::goldens::{Golden, events, goldens, in_pieces, replay, whole};

#[tokio::test]
async fn the_done_mark_may_be_missing_once_the_model_has_stopped() {
    let mut tried = 0;
    for Golden { name, stream, deltas: expected } in goldens(Dialect::OpenAi) {
        let Some(cut) = stream.strip_suffix("data: [DONE]\n\n") else { continue };
        if stream.contains(r#""finish_reason":""#) {
            tried += 1;
            assert_eq!(events(Dialect::OpenAi, in_pieces(cut.as_bytes(), 7)).await, expected, "{name}");
        }
    }
    assert!(tried > 10, "only {tried} streams were tried");
}

/// The TO-f5 stream, and that a wrong or missing content type does not matter.
#[tokio::test]
async fn the_first_byte_counts_where_the_content_type_is_wrong() {
    let all = goldens(Dialect::OpenAi);
    let Golden { stream, deltas: expected, .. } = all.iter().find(|golden| golden.name == "chatter").expect("there");
    for kind in ["text/plain", "application/octet-stream", "text/event-stream; charset=utf-8"] {
        assert_eq!(replay(Dialect::OpenAi, kind, in_pieces(stream.as_bytes(), 1)).await, *expected, "{kind}");
    }
    let whole = r#"{"model":"m","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}"#;
    for kind in ["application/json", "application/json; charset=utf-8", "text/event-stream", "text/plain"] {
        let shown = replay(Dialect::OpenAi, kind, in_pieces(whole.as_bytes(), 9)).await;
        assert_eq!(shown, "text \"hi\"\nend Stop -/-/-/-/- m\n", "{kind}");
    }
    for kind in ["text/html", "application/json", "text/event-stream"] {
        let shown = replay(Dialect::OpenAi, kind, in_pieces(b"\n<!doctype html><p>sign in", 4)).await;
        assert!(shown.starts_with("error NotFound") && shown.contains("web page"), "{kind}: {shown}");
    }
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
        assert_eq!(whole(Dialect::OpenAi, body).await, expected, "{body}");
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
        let shown = whole(Dialect::OpenAi, body).await;
        assert!(shown.starts_with(expected), "{body}: {shown}");
    }
}
