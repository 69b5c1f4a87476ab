//! Ends of a stream that no whole turn shows.

use roster_engine::turn::ClientTools;
use roster_model::id::TurnId;
use roster_model::provider::Usage;

use super::*;

fn chunks(with_usage: bool) -> Chunks {
    let turn = TurnId::new("turn_1").expect("legal");
    Chunks::new(
        Head { id: "x".into(), turn, created: 1, model: "m".into(), remembers: false, tools: ClientTools::default() },
        with_usage,
    )
}

const HEAD: &str = "{\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":";

#[test]
fn a_turn_without_a_last_event_ends_with_an_error_and_the_done_mark() {
    let mut out = Frames::default();
    chunks(false).broken_off(&mut out);
    let error = "{\"error\":{\"message\":\"the turn broke off\",\"type\":\"server_error\",\"param\":null,\"code\":\"internal\"}}";
    assert_eq!(out.text(), format!("data: {error}\n\ndata: [DONE]\n\n"));
}

#[test]
fn a_failure_tells_the_usage_known_so_far_before_it() {
    let mut failure = Failure::cancelled();
    failure.usage = Usage { input_tokens: Some(5), output_tokens: Some(2), ..Usage::default() };
    let mut out = Frames::default();
    chunks(true).event(TurnEvent::Failed(failure), &mut out);
    let usage = "{\"prompt_tokens\":5,\"completion_tokens\":2,\"total_tokens\":7}";
    assert!(
        out.text().starts_with(&format!("data: {HEAD}[],\"usage\":{usage}}}\n\ndata: {{\"error\":")),
        "{}",
        out.text()
    );
}

#[test]
fn the_role_comes_first_also_when_nothing_was_said() {
    use roster_engine::turn::FinishReason;
    let mut out = Frames::default();
    chunks(false).event(TurnEvent::Finished { reason: FinishReason::Stop, usage: Usage::default() }, &mut out);
    let text = out.text();
    let frames: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert!(frames[0].contains("\"delta\":{\"role\":\"assistant\",\"content\":\"\"}"), "{text}");
    assert!(frames[1].contains("\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\""), "{text}");
    assert_eq!(frames[2], "data: [DONE]");
}

#[test]
fn an_unknown_usage_is_null_and_never_zero() {
    use roster_engine::turn::FinishReason;
    let mut out = Frames::default();
    let usage = Usage { input_tokens: Some(5), ..Usage::default() };
    chunks(true).event(TurnEvent::Finished { reason: FinishReason::Stop, usage }, &mut out);
    assert!(out.text().ends_with("\"choices\":[],\"usage\":null}\n\ndata: [DONE]\n\n"), "{}", out.text());
    let known = |usage| WireUsage::of(usage).map(|usage| serde_json::to_value(usage).expect("JSON"));
    let told = |prompt: u64, completion: u64, total: u64| {
        Some(serde_json::json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}))
    };
    let of = |input_tokens, output_tokens, total_tokens| Usage {
        input_tokens,
        output_tokens,
        total_tokens,
        ..Usage::default()
    };
    assert_eq!(known(of(Some(5), Some(2), None)), told(5, 2, 7));
    assert_eq!(known(of(Some(5), None, Some(7))), told(5, 2, 7));
    assert_eq!(known(of(None, Some(2), Some(7))), told(5, 2, 7));
    assert_eq!(known(of(None, None, Some(7))), None);
    assert_eq!(known(Usage::default()), None);
}
