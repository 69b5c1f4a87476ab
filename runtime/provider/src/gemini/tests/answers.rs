//! Whole answers, and answers that are no streams of events.

use crate::config::Dialect;
use crate::tests::goldens::{in_pieces, replay, whole};

#[tokio::test]
async fn whole_answers_are_read_as_streams_are() {
    for (body, expected) in [
        (
            r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"hi","thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":24,"cachedContentTokenCount":20,"candidatesTokenCount":3,"thoughtsTokenCount":4,"totalTokenCount":31},"modelVersion":"gemini-2.5-flash"}"#,
            "reasoning \"hm\"\ntext \"hi\"\nopaque {\"gemini\":{\"signature\":\"c2ln\"},\"after\":{\"text\":true,\"calls\":0}}\nend Stop 24/7/31/20/4 gemini-2.5-flash\n",
        ),
        (
            r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"weigh","args":{"box":1}}},{"functionCall":{"name":"ping","args":null}}]},"finishReason":"STOP"}]}"#,
            "call 0 - weigh\narguments 0 \"{\\\"box\\\":1}\"\ncall 1 - ping\nend ToolCalls -/-/-/-/- -\n",
        ),
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"long"}]},"finishReason":"MAX_TOKENS"}]}"#,
            "text \"long\"\nend Length -/-/-/-/- -\n",
        ),
    ] {
        assert_eq!(whole(Dialect::Gemini, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn whole_failures_keep_their_kind_and_tokens() {
    for (body, expected) in [
        (r#"{"candidates":[],"usageMetadata":{"promptTokenCount":7,"totalTokenCount":7}}"#, "error Empty 7/-/7/-/-"),
        (r#"{"usageMetadata":{"promptTokenCount":7}}"#, "error Empty"),
        (r#"{"candidates":[{"finishReason":"STOP"}]}"#, "error Empty"),
        (r#"{"candidates":[{"finishReason":"SAFETY"}]}"#, "error ContentFilter"),
        (r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#, "error Protocol"),
        (r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#, "error ContentFilter"),
        (r#"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#, "error Overloaded"),
        (r#"[{"error":{"code":429,"message":"busy","status":"RESOURCE_EXHAUSTED"}}]"#, "error RateLimited"),
        (
            r#"{"error":{"code":400,"message":"The input token count (2) exceeds the maximum number of tokens allowed (1).","status":"INVALID_ARGUMENT"}}"#,
            "error ContextLength",
        ),
        (
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#,
            "error Auth",
        ),
        (r#"{"detail":"no"}"#, "error Server"),
        (r#"{"candid"#, "error Protocol"),
        ("", "error Protocol"),
    ] {
        let shown = whole(Dialect::Gemini, body).await;
        assert!(shown.starts_with(expected), "{body}: {shown}");
    }
}

/// What servers send that do not know `alt=sse`.
#[tokio::test]
async fn a_stream_that_is_a_list_is_read_whole() {
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"one "}]}}]},
{"candidates":[{"content":{"parts":[{"text":"two"}]},"finishReason":"STOP"}]}]"#;
    let shown = replay(Dialect::Gemini, "application/json", in_pieces(list.as_bytes(), 7)).await;
    assert_eq!(shown, "text \"one \"\ntext \"two\"\nend Stop -/-/-/-/- -\n");
    let cut = r#"[{"candidates":[{"content":{"parts":[{"text":"one "}]}}]},"#;
    let shown = replay(Dialect::Gemini, "application/json", in_pieces(cut.as_bytes(), 7)).await;
    assert!(shown.starts_with("error Protocol"), "{shown}");
}
