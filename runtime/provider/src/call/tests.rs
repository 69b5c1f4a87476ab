//! Calls against the scripted server, over real sockets. Waits are noted, not waited.

mod bounds;
mod secrecy;

use std::time::Duration;

use roster_model::provider::{Delta, Provider, ProviderErrorKind as Kind, StopReason, Usage};
use roster_testkit::scripted::{Gate, Reply, ScriptedServer, refused_base_url};
use serde_json::json;

use super::*;
use crate::tests::{KEY, all, completion, hello, provider_at, provider_of, provider_with, text, user};

/// Longer than any of this takes; what it guards never comes.
const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_streamed_answer() {
    let server = ScriptedServer::builder().strict().start().await;
    server.push(Reply::text("Hello there").reasoning("Let me see").usage(11, 5).model("m-2"));
    let (provider, pace) = provider_of(&server);
    let (deltas, error) = all(&provider, hello()).await;
    assert!(error.is_none(), "{error:?}");
    let reasoning: Vec<&Delta> = deltas.iter().filter(|delta| matches!(delta, Delta::Reasoning(_))).collect();
    assert_eq!((reasoning.len(), text(&deltas).as_str()), (3, "Hello there"));
    let usage = Usage { input_tokens: Some(11), output_tokens: Some(5), total_tokens: Some(16), ..Usage::default() };
    assert_eq!(deltas.last(), Some(&Delta::End { reason: StopReason::Stop, usage, model: Some("m-2".to_owned()) }));
    let request = &server.requests()[0];
    assert_eq!((request.method(), request.path()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("user-agent"), Some(concat!("roster/", env!("CARGO_PKG_VERSION"))));
    assert_eq!(request.json().expect("json")["stream_options"], json!({"include_usage": true}));
    assert!(pace.seconds().is_empty());
}

#[tokio::test]
async fn a_whole_answer_where_no_stream_is_asked_for_and_where_none_is_given() {
    let server = ScriptedServer::start().await;
    let (provider, _) = provider_with(&server.base_url(), |config| config.stream = false);
    let (deltas, error) = all(&provider, hello()).await;
    assert_eq!((text(&deltas).as_str(), error.map(|error| error.kind)), ("echo: hello", None));
    assert_eq!(server.requests()[0].json().expect("json")["stream"], json!(false));
    let body = json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]});
    server.push(Reply::json(200, &body));
    let (provider, _) = provider_of(&server);
    let (deltas, error) = all(&provider, hello()).await;
    assert_eq!((text(&deltas).as_str(), error.map(|error| error.kind)), ("whole", None));
}

#[tokio::test]
async fn connections_are_used_again_after_every_complete_answer() {
    let server = ScriptedServer::start().await;
    let (provider, _) = provider_of(&server);
    for reply in
        [Reply::text("a"), Reply::text("b").without_done(), Reply::error(400, "x", None, "no"), Reply::text("c")]
    {
        server.push(reply);
        all(&provider, hello()).await;
    }
    let connections: Vec<u64> =
        server.requests().iter().map(roster_testkit::scripted::RecordedRequest::connection).collect();
    assert_eq!(connections, [1, 1, 1, 1]);
}

/// What comes when the one reply is this and nothing is tried again.
async fn only(reply: Reply) -> (String, Option<ProviderError>) {
    let server = ScriptedServer::start().await;
    server.push(reply);
    let (provider, _) = provider_of(&server);
    let mut completion = hello();
    completion.settings.max_retries = Some(0);
    let (deltas, error) = tokio::time::timeout(LIMIT, all(&provider, completion)).await.expect("an end");
    (text(&deltas), error)
}

/// The byte after the frames of role and two words.
const TWO_WORDS: usize = {
    let frame = r#"data: {"id":"chatcmpl-scripted","object":"chat.completion.chunk","created":1700000000,"model":"scripted-1","choices":[{"index":0,"delta":,"finish_reason":null}]}"#;
    3 * (frame.len() + 2)
        + r#"{"role":"assistant","content":""}"#.len()
        + r#"{"content":"one "}{"content":"two "}"#.len()
};

#[tokio::test]
async fn half_an_answer_is_never_a_whole_one() {
    let words = || Reply::text("one two three").no_usage();
    let (said, error) = only(words().reset_after(TWO_WORDS)).await;
    assert_eq!((said.as_str(), error.map(|error| error.kind)), ("one two ", Some(Kind::Truncated)), "reset");
    let (said, error) = only(words().cut_after(TWO_WORDS)).await;
    assert_eq!((said.as_str(), error.map(|error| error.kind)), ("one two ", Some(Kind::Truncated)), "cut");
    let (said, error) = only(words().end_after(TWO_WORDS)).await;
    assert_eq!((said.as_str(), error.map(|error| error.kind)), ("one two ", Some(Kind::Truncated)), "clean end");
    let (_, error) = only(Reply::tool_calls([("c", "pay", r#"{"amount":5}"#)]).end_after(TWO_WORDS)).await;
    assert_eq!(error.map(|error| error.kind), Some(Kind::Truncated), "inside a call");
    let body = json!({"choices": [{"message": {"content": "a long answer"}, "finish_reason": "stop"}]});
    let (said, error) = only(Reply::json(200, &body).cut_after(30)).await;
    assert_eq!((said.as_str(), error.map(|error| error.kind)), ("", Some(Kind::Truncated)), "whole answer cut");
}

#[tokio::test]
async fn failures_before_the_first_token_say_what_happened() {
    let (provider, _) = provider_at(&refused_base_url());
    let mut completion = hello();
    completion.settings.max_retries = Some(0);
    let (_, error) = all(&provider, completion).await;
    let error = error.expect("refused");
    assert_eq!(error.kind, Kind::Connect);
    assert_eq!(error.message, "provider `test`: cannot be reached: the connection was refused");

    let (_, error) = only(Reply::nothing()).await;
    assert_eq!(error.map(|error| error.kind), Some(Kind::Connect));
    let (_, error) = only(Reply::raw_sse("")).await;
    assert_eq!(error.map(|error| error.kind), Some(Kind::Truncated));
    let (_, error) = only(Reply::text("")).await;
    let error = error.expect("empty");
    assert_eq!((error.kind, error.usage.input_tokens), (Kind::Empty, Some(7)));
}

#[tokio::test]
async fn a_web_page_instead_of_an_answer_fails_at_once_and_asks_after_the_address() {
    let page = || Reply::raw(200, "<html>sign in</html>");
    for page in [
        page().header("content-type", "text/html"),
        page().header("content-type", "application/json"),
        Reply::raw(200, "\u{feff}\r\n<!doctype html>").header("content-type", "text/html"),
    ] {
        let (waits, requests, error) = tried(vec![page]).await;
        let error = error.expect("no answer");
        assert_eq!((error.kind, waits.len(), requests), (Kind::NotFound, 0, 1));
        assert_eq!(error.message, "provider `test`: it answered with a web page; is `base_url` right?");
    }
    let (waits, requests, error) = tried(vec![Reply::raw_sse("data: {\"choices\":7}\n\n")]).await;
    assert_eq!((waits.len(), requests, error.map(|error| error.kind)), (1, 2, None), "other faults may pass");
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let server = ScriptedServer::start().await;
    server.push(Reply::raw(307, "").header("location", "https://evil.example/v1/chat/completions"));
    let (provider, _) = provider_of(&server);
    let (_, error) = all(&provider, hello()).await;
    let error = error.expect("not followed");
    assert_eq!((error.kind, error.status, server.requests().len()), (Kind::BadRequest, Some(307), 1));
    assert!(error.message.contains("correct `base_url`") && !error.message.contains("evil"), "{error}");
}

/// The waits noted and the requests made when these replies come before a good one.
async fn tried(replies: Vec<Reply>) -> (Vec<f64>, usize, Option<ProviderError>) {
    let server = ScriptedServer::start().await;
    replies.into_iter().for_each(|reply| server.push(reply));
    let (provider, pace) = provider_of(&server);
    let (_, error) = all(&provider, hello()).await;
    (pace.seconds(), server.requests().len(), error)
}

fn refusal(status: u16) -> Reply {
    Reply::error(status, "some_error", None, "not now")
}

#[tokio::test]
async fn what_is_tried_again_and_after_which_wait() {
    let after = |text: &str| refusal(429).header("retry-after", text);
    for (reply, from, to) in [
        (after("2"), 2.0, 4.0),
        (after("1.5"), 1.5, 2.0),
        (after("Tue, 01 Jan 2030 00:00:03 GMT"), 3.0, 3.5),
        (after("Mon, 31 Dec 2029 23:00:00 GMT"), 0.0, 0.0),
        (after("banana"), 0.25, 0.5),
        (refusal(503).header("retry-after-ms", "70"), 0.07, 0.08),
        (refusal(500), 0.25, 0.5),
        (refusal(502), 0.25, 0.5),
        (refusal(503), 0.25, 0.5),
        (refusal(529), 0.25, 0.5),
        (Reply::nothing(), 0.25, 0.5),
        (Reply::raw_sse(""), 0.25, 0.5),
        (Reply::text(""), 0.25, 0.5),
        (Reply::json(200, &json!({"error": {"message": "busy", "type": "overloaded_error"}})), 0.25, 0.5),
        (Reply::raw_sse("data: {\"error\":{\"code\":429}}\n\n"), 0.25, 0.5),
    ] {
        let label = format!("{reply:?}");
        let (waits, requests, error) = tried(vec![reply]).await;
        assert!(error.is_none() && requests == 2, "{label}: {error:?}");
        assert!(waits.len() == 1 && (from..=to).contains(&waits[0]), "{label}: {waits:?}");
    }
}

#[tokio::test]
async fn what_is_not_tried_again() {
    let context = Reply::error(400, "invalid_request_error", Some("context_length_exceeded"), "too long");
    let quota = Reply::error(429, "insufficient_quota", Some("insufficient_quota"), "empty");
    for (reply, kind) in [
        (context, Kind::ContextLength),
        (quota, Kind::Auth),
        (refusal(401), Kind::Auth),
        (refusal(403), Kind::Auth),
        (refusal(404), Kind::NotFound),
        (refusal(422), Kind::BadRequest),
        (refusal(429).header("retry-after", "3600"), Kind::RateLimited),
    ] {
        let (waits, requests, error) = tried(vec![reply]).await;
        let error = error.expect("refused");
        assert_eq!((error.kind, waits.len(), requests), (kind, 0, 1), "{error}");
        let asked = (kind == Kind::RateLimited).then_some(Duration::from_secs(3600));
        assert_eq!(error.retry_after, asked);
    }
    let (waits, requests, error) = tried(vec![refusal(500), refusal(500), refusal(503)]).await;
    assert_eq!((waits.len(), requests), (2, 3));
    assert_eq!(error.map(|error| (error.kind, error.status)), Some((Kind::Overloaded, Some(503))));
    let (waits, requests, error) = tried(vec![Reply::raw_sse(
        "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"code\":429}}\n\n",
    )])
    .await;
    assert_eq!((waits.len(), requests, error.map(|error| error.kind)), (0, 1, Some(Kind::RateLimited)));
}

#[tokio::test]
async fn the_first_delta_comes_before_the_answer_ends_and_leaving_closes_the_connection() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two").hold_before(2, &gate));
    let (provider, _) = provider_of(&server);
    let mut stream = provider.complete(hello()).await.expect("begun");
    assert_eq!(stream.next().await.expect("delta").expect("good"), Delta::Text("one ".to_owned()));
    gate.reached().await;
    let request = server.requests().remove(0);
    assert_eq!(request.closed_at(), None);
    drop(stream);
    tokio::time::timeout(LIMIT, request.closed()).await.expect("closed");
}

#[tokio::test]
async fn giving_up_before_the_first_delta_closes_the_connection() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("never").hold(&gate));
    let (provider, _) = provider_of(&server);
    tokio::select! {
        answer = provider.complete(hello()) => panic!("an answer came: {}", answer.is_ok()),
        () = gate.reached() => {}
    }
    tokio::time::timeout(LIMIT, server.requests()[0].closed()).await.expect("closed");
}

/// What comes of a call whose answer stops at a gate that nobody opens: from then on the clock runs by itself.
async fn stopped(reply: Reply, gate: &Gate, limit: Option<Duration>) -> (String, ProviderError, usize) {
    let server = ScriptedServer::start().await;
    server.push(reply.clone());
    server.always(reply);
    let (provider, _) = provider_of(&server);
    let mut completion = hello();
    completion.settings.timeout = limit;
    let stop_the_clock = async {
        gate.reached().await;
        tokio::time::pause();
    };
    let ((deltas, error), ()) = tokio::join!(all(&provider, completion), stop_the_clock);
    tokio::time::resume();
    (text(&deltas), error.expect("out of time"), server.requests().len())
}

#[tokio::test]
async fn the_first_token_is_awaited_for_a_minute_and_then_asked_for_again() {
    let gate = Gate::new();
    let (said, error, requests) = stopped(Reply::text("never").hold(&gate), &gate, None).await;
    assert_eq!((said.as_str(), error.kind, requests), ("", Kind::Timeout, 3));
    assert_eq!(error.message, "provider `test`: no answer began within 60.0 s");
}

#[tokio::test]
async fn a_whole_answer_is_awaited_five_times_as_long() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("late").hold(&gate));
    let (provider, _) = provider_with(&server.base_url(), |config| config.stream = false);
    let mut completion = hello();
    completion.settings.max_retries = Some(0);
    let stop_the_clock = async {
        gate.reached().await;
        tokio::time::pause();
    };
    let ((_, error), ()) = tokio::join!(all(&provider, completion), stop_the_clock);
    assert_eq!(error.expect("out of time").message, "provider `test`: no answer began within 300.0 s");
}

#[tokio::test]
async fn silence_in_an_answer_ends_it() {
    let gate = Gate::new();
    let (said, error, requests) = stopped(Reply::text("one two").hold_before(2, &gate), &gate, None).await;
    assert_eq!((said.as_str(), error.kind, requests), ("one ", Kind::Timeout, 1));
    assert_eq!(error.message, "provider `test`: nothing came for 60 s");
}

#[tokio::test]
async fn the_limit_of_the_whole_call_ends_it_and_leaves_no_time_for_another_attempt() {
    let limit = Some(Duration::from_secs(20));
    let gate = Gate::new();
    let (said, error, requests) = stopped(Reply::text("one two").hold_before(2, &gate), &gate, limit).await;
    assert_eq!((said.as_str(), error.kind, requests), ("one ", Kind::Timeout, 1));
    assert!(error.message.contains("the call's `timeout`"), "{error}");
    let gate = Gate::new();
    let (said, error, requests) = stopped(Reply::text("never").hold(&gate), &gate, limit).await;
    assert_eq!((said.as_str(), error.kind, requests), ("", Kind::Timeout, 1));
}

#[tokio::test]
async fn a_server_that_says_why_it_stopped_and_then_nothing_has_answered() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("done").without_done().no_usage().hold_end(&gate));
    let (provider, _) = provider_of(&server);
    let stop_the_clock = async {
        gate.reached().await;
        tokio::time::pause();
    };
    let ((deltas, error), ()) = tokio::join!(all(&provider, hello()), stop_the_clock);
    assert!(error.is_none(), "{error:?}");
    assert!(matches!(deltas.last(), Some(Delta::End { reason: StopReason::Stop, .. })), "{deltas:?}");
}

#[tokio::test]
async fn many_calls_at_once_do_not_mix() {
    let server = ScriptedServer::start().await;
    let (provider, _) = provider_of(&server);
    let calls = (0..64).map(|number| {
        let provider = &provider;
        async move {
            let (deltas, error) = all(provider, completion(vec![user(&format!("call {number}"))])).await;
            assert!(error.is_none());
            assert_eq!(text(&deltas), format!("echo: call {number}"));
        }
    });
    futures_util::future::join_all(calls).await;
    assert_eq!(server.requests().len(), 64);
}
