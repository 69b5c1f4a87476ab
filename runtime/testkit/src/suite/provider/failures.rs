//! Failures are told by their kind, tried again where that may help, and never made a success.

use roster_model::provider::{Completion, ProviderErrorKind as Kind};

use super::{Heard, Subject, hear};
use crate::scripted::{Reply, refused_base_url};

pub(super) async fn all(subject: &Subject<'_>) {
    statuses(subject).await;
    what_may_pass_is_tried_again(subject).await;
    half_an_answer_is_never_a_whole_one(subject).await;
    nothing_is_no_answer(subject).await;
}

fn once(subject: &Subject<'_>) -> Completion {
    let mut completion = subject.hello();
    completion.settings.max_retries = Some(0);
    completion
}

async fn only(subject: &Subject<'_>, reply: Reply) -> Heard {
    let (server, provider) = subject.server().await;
    server.push(reply);
    let heard = hear(&*provider, once(subject)).await;
    assert_eq!(server.requests().len(), 1);
    heard
}

async fn statuses(subject: &Subject<'_>) {
    for (status, kind) in [
        (400, Kind::BadRequest),
        (401, Kind::Auth),
        (403, Kind::Auth),
        (404, Kind::NotFound),
        (429, Kind::RateLimited),
        (500, Kind::Server),
        (503, Kind::Overloaded),
        (529, Kind::Overloaded),
    ] {
        let error = only(subject, Reply::refusal(subject.dialect, status, "said why")).await.error.expect("refused");
        assert_eq!((error.kind, error.status), (kind, Some(status)), "{error}");
        assert!(error.message.contains("said why"), "{error}");
    }
    let provider = (subject.make)(&refused_base_url());
    assert_eq!(hear(&*provider, once(subject)).await.error.expect("nobody there").kind, Kind::Connect);
}

async fn what_may_pass_is_tried_again(subject: &Subject<'_>) {
    for (status, again) in
        [(429, true), (500, true), (503, true), (529, true), (400, false), (401, false), (404, false)]
    {
        let (server, provider) = subject.server().await;
        server.push(Reply::refusal(subject.dialect, status, "not now").header("retry-after-ms", "1"));
        let heard = hear(&*provider, subject.hello()).await;
        assert_eq!((heard.error.is_none(), server.requests().len()), (again, if again { 2 } else { 1 }), "{status}");
    }
    // A wait of an hour is handed on with the error.
    let (server, provider) = subject.server().await;
    server.push(Reply::refusal(subject.dialect, 429, "later").header("retry-after", "3600"));
    let error = hear(&*provider, subject.hello()).await.error.expect("refused");
    assert_eq!((error.retry_after.map(|wait| wait.as_secs()), server.requests().len()), (Some(3600), 1));
}

/// Cut at every tenth byte of the body, closed, reset or ended: what was said stays, and the end is a failure.
async fn half_an_answer_is_never_a_whole_one(subject: &Subject<'_>) {
    let (server, provider) = subject.server().await;
    for at in (0..400).step_by(10) {
        for reply in [reply().cut_after(at), reply().reset_after(at), reply().end_after(at)] {
            server.push(reply);
            let heard = hear(&*provider, once(subject)).await;
            let error = heard.error.unwrap_or_else(|| panic!("cut at {at} and nobody noticed: {}", heard.text));
            assert!(matches!(error.kind, Kind::Truncated | Kind::Protocol | Kind::Connect), "{at}: {error:?}");
            assert!(WORDS.starts_with(&heard.text), "{at}: {}", heard.text);
        }
    }
}

/// So long that no form of it is whole after 400 bytes.
const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen \
    seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three twenty-four twenty-five twenty-six \
    twenty-seven twenty-eight twenty-nine thirty thirty-one thirty-two thirty-three thirty-four thirty-five thirty-six \
    thirty-seven thirty-eight thirty-nine forty forty-one forty-two forty-three forty-four forty-five forty-six";

fn reply() -> Reply {
    Reply::text(WORDS)
}

async fn nothing_is_no_answer(subject: &Subject<'_>) {
    assert_eq!(only(subject, Reply::nothing()).await.error.expect("no answer").kind, Kind::Connect);
    assert_eq!(only(subject, Reply::text("")).await.error.expect("no words").kind, Kind::Empty);
    let html = Reply::raw(200, "<!doctype html><p>sign in").header("content-type", "text/html");
    assert_eq!(only(subject, html).await.error.expect("a page").kind, Kind::NotFound);
}
