use roster_testkit::scripted::{Gate, Reply, ScriptedServer};

use super::*;
use crate::call::HttpProvider;
use crate::tests::{all, hello, provider_with};
use roster_model::provider::{Completion, Provider};

const REST: Duration = Duration::from_secs(30);

fn breaker(failures: u32) -> Arc<Breaker> {
    Breaker::new("test", BreakerLimits { failures, rest: REST })
}

fn failure(kind: Kind) -> ProviderError {
    ProviderError::new(kind, "it broke")
}

fn fail(breaker: &Arc<Breaker>, kind: Kind) {
    breaker.enter().expect("leave").failed(&failure(kind));
}

#[tokio::test(start_paused = true)]
async fn it_opens_after_failures_in_a_row_and_lets_one_try_after_the_rest() {
    let breaker = breaker(3);
    fail(&breaker, Kind::Server);
    fail(&breaker, Kind::Connect);
    breaker.enter().expect("leave").ended();
    fail(&breaker, Kind::RateLimited);
    fail(&breaker, Kind::Timeout);
    assert_eq!(breaker.circuit(), Circuit::Closed, "a success in between begins anew");
    fail(&breaker, Kind::Truncated);
    assert_eq!(breaker.circuit(), Circuit::Open);
    let error = breaker.enter().err().expect("resting");
    assert_eq!((error.kind, error.retry_after), (Kind::Truncated, Some(REST)));
    assert_eq!(error.message, "not asked for 30 s more, since it failed 3 times in a row, last: it broke");
    tokio::time::advance(REST).await;
    let mut probe = breaker.enter().expect("a probe");
    assert_eq!(breaker.circuit(), Circuit::HalfOpen);
    assert!(breaker.enter().is_err(), "one at a time");
    probe.began();
    assert_eq!(breaker.circuit(), Circuit::Closed);
    assert!(breaker.enter().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_fails_opens_it_again_and_one_that_is_given_up_says_nothing() {
    let breaker = breaker(1);
    fail(&breaker, Kind::Server);
    tokio::time::advance(REST).await;
    fail(&breaker, Kind::Server);
    assert_eq!(breaker.enter().err().expect("resting").retry_after, Some(REST));
    tokio::time::advance(REST).await;
    drop(breaker.enter().expect("a probe"));
    assert_eq!(breaker.circuit(), Circuit::Open);
    breaker.enter().expect("another probe").failed(&failure(Kind::BadRequest));
    assert_eq!(breaker.circuit(), Circuit::Closed, "who refuses a request is there");
}

#[tokio::test(start_paused = true)]
async fn failures_of_the_request_do_not_count_and_zero_never_opens() {
    let breaker = breaker(2);
    for kind in [Kind::BadRequest, Kind::Auth, Kind::NotFound, Kind::ContextLength, Kind::ContentFilter, Kind::Empty] {
        fail(&breaker, Kind::Server);
        fail(&breaker, kind);
    }
    assert_eq!(breaker.circuit(), Circuit::Closed);
    let never = self::breaker(0);
    for _ in 0..100 {
        fail(&never, Kind::Server);
    }
    assert_eq!(never.circuit(), Circuit::Closed);
}

fn with_breaker(server: &ScriptedServer, failures: u32, rest: Duration) -> HttpProvider {
    provider_with(&server.base_url(), |config| config.breaker = BreakerLimits { failures, rest }).0
}

fn once() -> Completion {
    let mut completion = hello();
    completion.settings.max_retries = Some(0);
    completion
}

#[tokio::test]
async fn an_open_circuit_asks_nobody_and_tells_the_failure_behind_it() {
    let server = ScriptedServer::start().await;
    server.always(Reply::error(503, "overloaded_error", None, "busy"));
    let provider = with_breaker(&server, 4, Duration::from_secs(600));
    // Three attempts, then one more opens it: the other two retries are not made.
    assert_eq!(all(&provider, hello()).await.1.expect("busy").status, Some(503));
    assert_eq!(provider.circuit(), Circuit::Closed);
    all(&provider, hello()).await;
    assert_eq!((server.requests().len(), provider.circuit()), (4, Circuit::Open));
    let error = all(&provider, hello()).await.1.expect("resting");
    assert_eq!((server.requests().len(), error.kind, error.status), (4, Kind::Overloaded, Some(503)));
    assert!(error.message.starts_with("provider `test`: not asked for 600 s more"), "{error}");
    assert!(error.message.ends_with("last: error 503 overloaded_error: busy"), "{error}");
}

#[tokio::test]
async fn answers_that_break_off_count_and_a_probe_brings_the_provider_back() {
    let server = ScriptedServer::start().await;
    let provider = with_breaker(&server, 2, Duration::ZERO);
    for _ in 0..2 {
        server.push(Reply::text("one two three").cut_after(400));
        assert_eq!(all(&provider, once()).await.1.expect("cut").kind, Kind::Truncated);
    }
    assert_eq!(provider.circuit(), Circuit::Open);
    let gate = Gate::new();
    server.push(Reply::text("well again").hold(&gate));
    let probe = all(&provider, once());
    let meanwhile = async {
        gate.reached().await;
        let circuit = provider.circuit();
        let other = all(&provider, once()).await.1.expect("one probe at a time");
        gate.open();
        (circuit, other.kind)
    };
    let ((_, error), seen) = tokio::join!(probe, meanwhile);
    assert!(error.is_none(), "{error:?}");
    assert_eq!((seen, provider.circuit()), ((Circuit::HalfOpen, Kind::Truncated), Circuit::Closed));
}

#[tokio::test]
async fn what_was_tried_again_is_noted() {
    let server = ScriptedServer::start().await;
    server.push(Reply::error(500, "x", None, "no"));
    server.push(Reply::error(429, "x", None, "no").header("retry-after", "2"));
    let (provider, _) = provider_with(&server.base_url(), |_| {});
    let completion = hello();
    let attempts = Arc::clone(&completion.attempts);
    assert!(all(&provider, completion).await.1.is_none());
    let noted: Vec<(Kind, bool)> =
        attempts.failed().iter().map(|failed| (failed.kind, failed.waited >= Duration::from_secs(2))).collect();
    assert_eq!(noted, [(Kind::Server, false), (Kind::RateLimited, true)]);
}
