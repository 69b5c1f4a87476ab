//! Ends of a stream that no whole turn shows.

use super::*;

fn chunks(with_usage: bool) -> Chunks {
    Chunks::new(Head { id: "x".into(), created: 1, model: "m".into() }, with_usage)
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
    failure.usage = Usage { input_tokens: Some(5), ..Usage::default() };
    let mut out = Frames::default();
    chunks(true).event(TurnEvent::Failed(failure), &mut out);
    let usage = "{\"prompt_tokens\":5,\"completion_tokens\":0,\"total_tokens\":5}";
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
