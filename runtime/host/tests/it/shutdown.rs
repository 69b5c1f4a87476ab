//! Stopping: turns finish, and a second signal does not wait.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use rustix::process::Signal;

use crate::http::{get, lines, messages, open_chat, question, read_until, rest};
use crate::project::Project;
use crate::roster::Roster;

#[tokio::test]
async fn sigterm_lets_a_running_turn_finish() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two three").hold_before(3, &gate));
    let project = Project::scripted(&server).keeper();
    let roster = Roster::serve(&project).await;
    let mut answer = open_chat(&roster, &question("keeper", "c", "count")).await;
    let before = read_until(&mut answer, "two ").await;
    roster.signal(Signal::TERM);
    until_log_has(&roster, "draining").await;
    gate.open();
    let frames = rest(answer, &before).await;
    assert_eq!(frames.text(), "one two three");
    assert_eq!(frames.done()["finishReason"], "stop");
    let ended = roster.ended().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "", "only the ready lines are on stdout");

    let roster = Roster::serve(&project).await;
    assert_eq!(lines(&messages(&roster, "c").await), ["user: count", "assistant: one two three"]);
    roster.terminate().await;
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two three").hold_before(2, &gate));
    let project = Project::scripted(&server).keeper();
    let roster = Roster::serve(&project).await;
    let mut answer = open_chat(&roster, &question("keeper", "c", "count")).await;
    read_until(&mut answer, "one ").await;
    roster.signal(Signal::INT);
    until_log_has(&roster, "draining").await;
    roster.signal(Signal::INT);
    assert_eq!(roster.ended().await.code, Some(130), "it does not wait for the turn");
}

#[tokio::test]
async fn while_draining_it_is_not_ready() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two").hold_before(2, &gate));
    let project = Project::scripted(&server).keeper();
    let roster = Roster::serve(&project).await;
    assert_eq!(get(&format!("{}/ready", roster.gateway)).await.0, 200);
    let mut answer = open_chat(&roster, &question("keeper", "c", "count")).await;
    let before = read_until(&mut answer, "one ").await;
    roster.signal(Signal::TERM);
    until_log_has(&roster, "draining").await;
    let refused = reqwest::Client::builder().no_proxy().build().expect("client");
    let after = refused.get(format!("{}/ready", roster.gateway)).send().await;
    assert!(after.is_err_and(|error| error.is_connect()), "nobody listens any more");
    gate.open();
    rest(answer, &before).await.done();
    roster.ended().await;
}

/// Waits until the log holds these words.
async fn until_log_has(roster: &Roster, words: &str) {
    let patience = tokio::time::Instant::now() + std::time::Duration::from_secs(30);
    while !roster.stderr().contains(words) {
        assert!(tokio::time::Instant::now() < patience, "no {words:?} in: {}", roster.stderr());
        tokio::task::yield_now().await;
    }
}
