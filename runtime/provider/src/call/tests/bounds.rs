//! Answers that are out of all bounds.

use roster_model::provider::{Delta, ProviderErrorKind as Kind};
use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::json;

use crate::tests::{all, hello, provider_of};

#[tokio::test]
async fn sixty_thousand_calls_in_one_answer_are_refused() {
    let call = |number| {
        json!({"choices": [{"delta": {"tool_calls":
            [{"id": format!("c{number}"), "function": {"name": "weigh", "arguments": "{}"}}]}}]})
    };
    let frames: String = (0..60_000).map(|number| format!("data: {}\n\n", call(number))).collect();
    let server = ScriptedServer::start().await;
    server.push(Reply::raw_sse(frames));
    let (deltas, error) = all(&provider_of(&server).0, hello()).await;
    let error = error.expect("too many");
    assert_eq!(error.kind, Kind::Protocol);
    assert_eq!(error.message, "provider `test`: the answer holds more than 256 tool calls");
    assert_eq!(deltas.len(), 2 * 256);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn absurd_token_counts_are_unknown_and_sums_do_not_wrap() {
    let (most, limit) = (u64::MAX, 1_u64 << 53);
    for (input, output, expected) in [
        (json!(most), json!(most), [None, None, None]),
        (json!(most.to_string()), json!(3), [None, Some(3), None]),
        (json!(1e300), json!(limit + 1), [None, None, None]),
        (json!(limit), json!(limit), [Some(limit), Some(limit), Some(2 * limit)]),
        (json!(7.0), json!("5"), [Some(7), Some(5), Some(12)]),
    ] {
        let body = json!({
            "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": input, "completion_tokens": output},
        });
        let server = ScriptedServer::start().await;
        server.push(Reply::json(200, &body));
        let (deltas, _) = all(&provider_of(&server).0, hello()).await;
        let Some(Delta::End { usage, .. }) = deltas.last() else { panic!("no end of {body}: {deltas:?}") };
        assert_eq!([usage.input_tokens, usage.output_tokens, usage.total_tokens], expected, "{body}");
    }
}
