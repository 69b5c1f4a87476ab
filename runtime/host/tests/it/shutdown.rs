//! Stopping: turns finish, and a second signal does not wait.

use std::io::Write;
use std::time::Duration;

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;

use crate::http::{get, lines, messages, open_chat, post_open, question, read_until, rest};
use crate::project::Project;
use crate::roster::{Roster, command};

/// Nothing here takes this long; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

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
    for listener in [&roster.gateway, &roster.studio] {
        assert_eq!(get(&format!("{listener}/ready")).await.0, 503, "watchers are told");
        assert_eq!(get(&format!("{listener}/health")).await.0, 200);
        assert_eq!(get(&format!("{listener}/api/memory/threads")).await.0, 503);
    }
    gate.open();
    rest(answer, &before).await.done();
    roster.ended().await;
}

/// Waits until the log holds these words.
async fn until_log_has(roster: &Roster, words: &str) {
    until(words, async || roster.stderr().contains(words)).await;
}

/// What a pipe holds before whoever writes to it has to wait.
const FULL: u64 = 65_536;

/// The log stands still, and with it whoever writes to it: here the one that drains.
#[tokio::test]
async fn a_second_signal_ends_at_once_also_when_nobody_reads_the_log() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two three").hold_before(2, &gate));
    let project = Project::scripted(&server).keeper();
    let (unread, log) = std::io::pipe().expect("a pipe");
    let mut filler = log.try_clone().expect("its other end");
    let mut command = command(project.root(), &["serve", "--gateway", "127.0.0.1:0", "--only", "gateway"]);
    command.stderr(log);
    let mut child = command.spawn().expect("start");
    drop(command);
    let mut ready = BufReader::new(child.stdout.take().expect("stdout")).lines();
    let line = ready.next_line().await.expect("stdout").expect("a ready line");
    let gateway = line.strip_prefix("gateway ").expect("the gateway").to_owned();
    let mut answer = post_open(&gateway, &question("keeper", "c", "count")).await;
    read_until(&mut answer, "one ").await;

    // Ends when nobody is left to read.
    let filling = std::thread::spawn(move || while filler.write_all(b".").is_ok() {});
    until("the pipe is full", async || rustix::io::ioctl_fionread(&unread).expect("how much") >= FULL).await;
    signal(&child, Signal::TERM);
    until("it drains", async || get(&format!("{gateway}/ready")).await.0 == 503).await;
    signal(&child, Signal::TERM);
    let ended = tokio::time::timeout(PATIENCE, child.wait()).await.expect("ends in time").expect("ends");
    assert_eq!(ended.code(), Some(130), "it waits neither for the turn nor for the log");
    drop(unread);
    filling.join().expect("the filler ends");
}

fn signal(child: &Child, signal: Signal) {
    let id = i32::try_from(child.id().expect("still running")).expect("a pid");
    kill_process(Pid::from_raw(id).expect("no zero"), signal).expect("signal");
}

/// Waits for a condition.
async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let patience = tokio::time::Instant::now() + PATIENCE;
    while !condition().await {
        assert!(tokio::time::Instant::now() < patience, "waited in vain until {what}");
        tokio::task::yield_now().await;
    }
}
