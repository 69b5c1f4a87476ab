use std::cell::RefCell;

use reqwest::header::HeaderValue;
use roster_model::provider::ProviderErrorKind as Kind;
use roster_testkit::clock::TestClock;
use roster_testkit::ids::TestIds;

use super::*;
use crate::tests::NOW;

fn failure(kind: Kind, retry_after: Option<Duration>) -> ProviderError {
    ProviderError { retry_after, ..ProviderError::new(kind, "failed") }
}

fn bounds(max_retries: u32, deadline: Option<Instant>, attempts: &Attempts) -> Bounds<'_> {
    Bounds { max_retries, deadline, may_retry: &|| true, attempts }
}

fn steady() -> Steady {
    Steady { clock: Arc::new(TestClock::default()), ids: Arc::new(TestIds::default()) }
}

/// Fails with each error in turn, then succeeds; gives the result and when each attempt was made.
async fn run(errors: Vec<ProviderError>, max: u32, deadline: Option<Duration>) -> (Result<(), Kind>, Vec<Duration>) {
    let begun = Instant::now();
    let times = RefCell::new(Vec::new());
    let errors = RefCell::new(errors.into_iter());
    let attempt = || {
        times.borrow_mut().push(begun.elapsed());
        let error = errors.borrow_mut().next();
        async move { error.map_or(Ok(()), Err) }
    };
    let pace = steady();
    let attempts = Attempts::default();
    let result = with_retries(&pace, bounds(max, deadline.map(|limit| begun + limit), &attempts), attempt).await;
    (result.map_err(|error| error.kind), times.into_inner())
}

#[tokio::test(start_paused = true)]
async fn a_wait_in_seconds_is_kept_and_hardly_longer() {
    for (asked, from, to) in [(2.0, 2.0, 2.3), (1.5, 1.5, 1.8), (0.0, 0.0, 0.01), (60.0, 60.0, 60.3)] {
        let error = failure(Kind::RateLimited, Some(Duration::from_secs_f64(asked)));
        let (result, times) = run(vec![error], 2, None).await;
        assert_eq!(result, Ok(()));
        let second = times[1].as_secs_f64();
        assert!((from..=to).contains(&second) && times.len() == 2, "{asked}: {times:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_more_than_a_minute_is_handed_on() {
    let begun = Instant::now();
    let error = failure(Kind::RateLimited, Some(Duration::from_secs(3600)));
    let pace = steady();
    let given = with_retries::<(), _, _>(&pace, bounds(2, None, &Attempts::default()), || {
        std::future::ready(Err(error.clone()))
    })
    .await;
    assert_eq!(given.expect_err("failed").retry_after, Some(Duration::from_secs(3600)));
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn the_backoff_doubles_with_jitter_up_to_its_cap() {
    let (result, times) = run(vec![failure(Kind::Server, None); 7], 6, None).await;
    assert_eq!((result, times.len()), (Err(Kind::Server), 7));
    let waits = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
    for (wait, whole) in waits.zip([0.5, 1.0, 2.0, 4.0, 8.0, 8.0]) {
        assert!((whole / 2.0..=whole + 0.002).contains(&wait), "{wait} of {whole}");
    }
}

#[tokio::test(start_paused = true)]
async fn only_kinds_that_may_pass_are_tried_again_and_only_so_often() {
    for kind in
        [Kind::KeyMissing, Kind::Auth, Kind::NotFound, Kind::BadRequest, Kind::ContextLength, Kind::ContentFilter]
    {
        let (result, times) = run(vec![failure(kind, Some(Duration::ZERO))], 2, None).await;
        assert_eq!((result, times.len()), (Err(kind), 1));
    }
    for kind in
        [Kind::Connect, Kind::Timeout, Kind::RateLimited, Kind::Overloaded, Kind::Server, Kind::Truncated, Kind::Empty]
    {
        let (result, times) = run(vec![failure(kind, None); 5], 2, None).await;
        assert_eq!((result, times.len()), (Err(kind), 3));
        let (result, times) = run(vec![failure(kind, None)], 0, None).await;
        assert_eq!((result, times.len()), (Err(kind), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn no_attempt_begins_after_the_deadline() {
    let error = failure(Kind::RateLimited, Some(Duration::from_secs(5)));
    let (result, times) = run(vec![error.clone()], 2, Some(Duration::from_secs(4))).await;
    assert_eq!((result, times.len()), (Err(Kind::RateLimited), 1));
    let (result, times) = run(vec![error], 2, Some(Duration::from_secs(6))).await;
    assert_eq!((result, times.len()), (Ok(()), 2));
}

fn asked(headers: &[(&'static str, &str)]) -> Option<f64> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, HeaderValue::from_str(value).expect("header"));
    }
    asked_wait(&map, Timestamp::from_millis(NOW)).map(|wait| wait.as_secs_f64())
}

#[test]
fn waits_are_read_in_every_form() {
    assert_eq!(asked(&[("retry-after", "2")]), Some(2.0));
    assert_eq!(asked(&[("retry-after", " 1.5 ")]), Some(1.5));
    assert_eq!(asked(&[("retry-after", "3600")]), Some(3600.0));
    assert_eq!(asked(&[("retry-after-ms", "1500"), ("retry-after", "9")]), Some(1.5));
    assert_eq!(asked(&[("retry-after-ms", "soon"), ("retry-after", "9")]), Some(9.0));
    // 2030-01-01 is a Tuesday; the clock stands at its first second.
    assert_eq!(asked(&[("retry-after", "Tue, 01 Jan 2030 00:00:03 GMT")]), Some(3.0));
    assert_eq!(asked(&[("retry-after", "Tuesday, 01-Jan-30 00:00:03 GMT")]), Some(3.0));
    assert_eq!(asked(&[("retry-after", "Tue Jan  1 00:00:03 2030")]), Some(3.0));
    assert_eq!(asked(&[("retry-after", "Mon, 31 Dec 2029 23:59:00 GMT")]), Some(0.0));
    for unreadable in ["banana", "", "-3", "NaN", "inf", "1e400", "Tue, 99 Jan 2030 00:00:03 GMT"] {
        assert_eq!(asked(&[("retry-after", unreadable)]), None, "{unreadable:?}");
    }
    assert_eq!(asked(&[]), None);
}

#[test]
fn chance_is_below_one() {
    struct Most;
    impl IdSource for Most {
        fn fresh(&self) -> u128 {
            u128::MAX
        }
    }
    let pace = Steady { clock: Arc::new(TestClock::default()), ids: Arc::new(Most) };
    assert!((0.99..1.0).contains(&pace.chance()));
}

#[test]
fn limits_that_are_used_up_say_when_they_are_whole_again() {
    let now = Timestamp::from_millis(NOW);
    for (headers, expected) in [
        (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "1s")][..], Some(1000)),
        (&[("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "6m0s")], Some(360_000)),
        (&[("x-ratelimit-remaining-requests", "9"), ("x-ratelimit-reset-requests", "1s")], None),
        (&[("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "soon")], None),
        (
            &[
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "2030-01-01T00:00:02Z"),
                ("anthropic-ratelimit-tokens-remaining", "0"),
                ("anthropic-ratelimit-tokens-reset", "2030-01-01T00:00:07Z"),
                ("anthropic-ratelimit-input-tokens-remaining", "5"),
                ("anthropic-ratelimit-input-tokens-reset", "2030-01-01T01:00:00Z"),
            ],
            Some(7000),
        ),
        (
            &[
                ("anthropic-ratelimit-requests-remaining", "0"),
                ("anthropic-ratelimit-requests-reset", "2029-01-01T00:00:00Z"),
            ],
            Some(0),
        ),
        (
            &[("retry-after", "2"), ("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "9s")],
            Some(2000),
        ),
    ] {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().expect("name"), HeaderValue::from_static(value)))
            .collect::<HeaderMap>();
        assert_eq!(asked_wait(&map, now), expected.map(Duration::from_millis), "{headers:?}");
    }
}

#[test]
fn spans_of_time_are_read_in_every_form() {
    for (text, millis) in
        [("20ms", 20), ("1.5s", 1500), ("6m0s", 360_000), ("1h30m", 5_400_000), ("34.5s", 34_500), ("7", 7000)]
    {
        assert_eq!(span(text), Some(Duration::from_millis(millis)), "{text}");
    }
    for bad in ["", "soon", "1x", "s", "1.2.3s", "-1s"] {
        assert_eq!(span(bad), None, "{bad}");
    }
}
