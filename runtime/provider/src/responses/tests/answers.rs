//! Whole answers.

use crate::config::Dialect;
use crate::tests::goldens::whole;

#[tokio::test]
async fn whole_answers_are_read_as_streams_are() {
    for (body, expected) in [
        (
            r#"{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.1","error":null,"incomplete_details":null,"output":[{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA","status":null},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi","annotations":[]}]}],"usage":{"input_tokens":24,"input_tokens_details":{"cached_tokens":20},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":31}}"#,
            "reasoning \"hm\"\nopaque {\"openai-responses\":{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"hm\"}],\"encrypted_content\":\"gAAA\"},\"after\":{\"text\":false,\"calls\":0}}\ntext \"hi\"\nend Stop 24/7/31/20/4 gpt-5.1\n",
        ),
        (
            r#"{"status":"completed","output":[{"type":"function_call","call_id":"a","name":"weigh","arguments":"{\"box\":1}"},{"type":"function_call","call_id":"b","name":"ping","arguments":""}]}"#,
            "call 0 a weigh\narguments 0 \"{\\\"box\\\":1}\"\ncall 1 b ping\nend ToolCalls -/-/-/-/- -\n",
        ),
        (
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"message","content":[{"type":"output_text","text":"long"}]}]}"#,
            "text \"long\"\nend Length -/-/-/-/- -\n",
        ),
        (
            r#"{"status":"completed","output":[{"type":"message","content":[{"type":"refusal","refusal":"I cannot."}]}]}"#,
            "text \"I cannot.\"\nend Stop -/-/-/-/- -\n",
        ),
    ] {
        assert_eq!(whole(Dialect::OpenAiResponses, body).await, expected, "{body}");
    }
}

#[tokio::test]
async fn whole_failures_keep_their_kind_and_tokens() {
    for (body, expected) in [
        (r#"{"status":"completed","output":[],"usage":{"input_tokens":7,"output_tokens":0}}"#, "error Empty 7/0/7/-/-"),
        (
            r#"{"status":"failed","output":[],"error":{"code":"server_error","message":"no"},"usage":{"input_tokens":7}}"#,
            "error Server 7/-/-/-/-",
        ),
        (r#"{"status":"cancelled","output":[]}"#, "error Server"),
        (r#"{"status":"queued","output":[]}"#, "error Truncated"),
        (r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#, "error ContextLength"),
        (r#"{"detail":"no"}"#, "error Server"),
        (r#"{"status":"#, "error Protocol"),
        ("", "error Protocol"),
    ] {
        let shown = whole(Dialect::OpenAiResponses, body).await;
        assert!(shown.starts_with(expected), "{body}: {shown}");
    }
}
