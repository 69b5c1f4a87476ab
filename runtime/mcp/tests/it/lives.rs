//! Servers that end, come back, and are changed; and what becomes of their processes.

use std::path::Path;
use std::time::Duration;

use roster_model::source::{Standing, ToolSource};
use serde_json::json;

use crate::peer::{PATIENCE, World, server};

#[tokio::test]
async fn a_server_that_dies_in_a_call_fails_that_call_and_comes_back() {
    let ways = r#"
*'"method":"tools/call"'*) if [ -e "$FLAG" ]; then text back; else : > "$FLAG"; kill -9 $$; fi;;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let tool = world.tool("one");
    let error = world.call("one").await.expect_err("it dies");
    assert_eq!(error.code, "server_gone");
    assert!(error.message.contains("whether it did its work is not known"), "{}", error.message);
    world.until("connected anew", |state| state.reconnects == 1 && state.state == "ready").await;
    // Who held the tool through it all, a turn under way, can call it again.
    let again = tool.call(serde_json::Map::new(), crate::peer::context());
    assert_eq!(tokio::time::timeout(PATIENCE, again).await.expect("in time"), Ok(json!("back")));
    world.close().await;
}

#[tokio::test]
async fn a_server_that_cannot_be_started_is_told_and_tried_again() {
    let world = World::with("echo 'no luck' >&2; exit 3");
    world.until("waiting", |state| state.state == "waiting").await;
    let Standing::Absent(reason) = world.standing() else { panic!("absent") };
    assert!(reason.contains("ended before it was ready") && reason.contains('3'), "{reason}");
    let mut config = world.config("x", "");
    if let roster_mcp::client::Reach::Stdio { program, .. } = &mut config.reach {
        *program = "no-such-program".to_owned();
    }
    world.servers.apply(&[config]);
    world.until("waiting", |state| state.error.as_ref().is_some_and(|error| error.contains("no program"))).await;
    assert_eq!(world.state().error.as_deref(), Some("cannot be started: there is no program `no-such-program`"));
    world.close().await;
}

#[tokio::test]
async fn changing_the_configuration_changes_the_servers() {
    let world = World::with(&server(""));
    world.ready().await;
    let tool = world.tool("one");
    let same = world.config("x", &server(""));
    world.servers.apply(std::slice::from_ref(&same));
    assert_eq!(world.state().state, "ready", "an unchanged one is left alone");

    let mut off = same.clone();
    off.enabled = false;
    world.servers.apply(&[off]);
    assert_eq!(world.state().state, "disabled");
    assert_eq!(world.standing(), Standing::Absent("is disabled in config/runtime.toml".to_owned()));
    let error = tool.call(serde_json::Map::new(), crate::peer::context()).await.expect_err("its server is gone");
    assert!(["server_absent", "server_gone"].contains(&error.code), "{error:?}");

    world.servers.apply(&[]);
    assert!(world.servers.group("x").is_none());
    world.close().await;
}

#[tokio::test]
async fn a_slow_server_is_given_up_and_nobody_waits_for_it() {
    let world = World::new();
    let mut config = world.config("x", "sleep 600");
    config.start_timeout = Duration::from_millis(300);
    world.servers.apply(&[config]);
    assert_eq!(world.standing(), Standing::Connecting);
    world.until("waiting", |state| state.state == "waiting").await;
    assert_eq!(world.state().error.as_deref(), Some("was not ready within 0.3 s"));
    world.close().await;
}

/// Whether a process lives; one that ended and was not waited for does not.
fn lives(pid: &str) -> bool {
    let status = crate::peer::read(&Path::new("/proc").join(pid).join("status"));
    status.contains("State:") && !status.contains("State:\tZ")
}

#[tokio::test]
async fn a_child_ends_with_all_that_it_started() {
    // It ignores being asked, and so does what it started.
    let stubborn = format!("trap '' TERM; sleep 600 & echo \"$$ $!\" > \"$NOTES\"; {}\nsleep 600", server(""));
    let world = World::with(&stubborn);
    world.ready().await;
    let pids = world.noted("notes", "\n").await;
    let pids: Vec<&str> = pids.split_whitespace().collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| lives(pid)), "{pids:?}");
    world.close().await;
    assert!(pids.iter().all(|pid| !lives(pid)), "{pids:?}");
}

#[tokio::test]
async fn settled_waits_for_the_first_try_only() {
    let world = World::with(&server(""));
    world.servers.settled(PATIENCE).await;
    assert_eq!(world.state().state, "ready");
    world.close().await;
}

#[tokio::test]
async fn a_server_that_answers_nothing_else_during_a_long_call_is_left_to_it() {
    let ways = r#"
*'"method":"tools/call"'*) echo called >> "$NOTES"; until [ -e "$FLAG" ]; do sleep 0.02; done; text late;;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let tool = world.tool("one");
    let call = tokio::spawn(async move { tool.call(serde_json::Map::new(), crate::peer::context()).await });
    world.noted("notes", "called").await;
    // Long enough to be asked for a sign of life, and for that to be awaited in vain.
    for _ in 0..5 {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(20)).await;
        tokio::time::resume();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    std::fs::write(world.folder.path().join("flag"), "").expect("written");
    assert_eq!(call.await.expect("no panic"), Ok(json!("late")));
    assert_eq!((world.state().state, world.state().reconnects), ("ready", 0));
    world.close().await;
}
