//! In a process of its own: what a plugin does to itself is its own business.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use roster_plugin::plugin::PluginState;
use roster_plugin::refusal::RefusalKind;
use roster_plugin::settings::{Isolation, Settings};
use serde_json::json;

use crate::liar::liar;
use crate::world::World;

fn with(change: impl FnOnce(&mut Settings)) -> World {
    World::new(&[], Isolation::Process, Vec::new(), change)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_kills_the_plugin_leaves_the_runtime_and_is_named() {
    let world = World::outside(&[]);
    for (tool, how) in [("segv", "signal 11"), ("abort", "signal 6"), ("exit", "exit code 3"), ("overflow", "signal 6")]
    {
        let error = world.tool(tool, json!({})).await.expect_err(tool);
        assert_eq!(error.code, "plugin_crashed", "{tool}");
        assert!(error.message.contains(how), "{tool}: {}", error.message);
        assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")), "after {tool}");
    }
    assert_eq!(world.plugin().status().counters.restarts, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_crashes_with_a_good_answer_after_each_and_the_breaker_stays_shut() {
    let world = World::outside(&[]);
    let (mut failing, mut recovering) = (Vec::new(), Vec::new());
    for _ in 0..100 {
        let began = Instant::now();
        assert_eq!(world.tool("segv", json!({})).await.expect_err("crashes").code, "plugin_crashed");
        failing.push(began.elapsed());
        let began = Instant::now();
        assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
        recovering.push(began.elapsed());
    }
    failing.sort();
    recovering.sort();
    println!("failed after {:?}, good again after {:?} (medians of 100)", failing[50], recovering[50]);
    assert_eq!(world.plugin().status().state, PluginState::Serving);
    assert_eq!(world.plugin().counters.restarts.load(Ordering::Relaxed), 100);
}

/// Whoever calls at the moment of a crash is told so, or answered by the next process; nobody is forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn crashes_under_load_leave_no_call_without_an_end() {
    let world = with(|settings| settings.max_concurrency = 16);
    let crashing = async {
        for _ in 0..40 {
            assert_eq!(world.tool("segv", json!({})).await.expect_err("crashes").code, "plugin_crashed");
            assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
        }
    };
    let asking = futures_util::future::join_all((0..8).map(|_| async {
        let mut good = 0;
        while good < 200 {
            match world.tool("version", json!({})).await {
                Ok(answer) => good += usize::from(answer == json!("v1")),
                Err(error) => assert_eq!(error.code, "plugin_crashed", "{error:?}"),
            }
        }
    }));
    futures_util::future::join(crashing, asking).await;
    let counters = world.plugin().status().counters;
    assert_eq!((counters.restarts, counters.in_flight, counters.orphans), (40, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_but_crashes_opens_the_breaker_for_a_while() {
    let world = with(|settings| {
        settings.restart.max = 2;
        settings.restart.window = Duration::from_millis(300);
        settings.restart.backoff_min = Duration::from_millis(1);
    });
    for _ in 0..3 {
        assert_eq!(world.tool("segv", json!({})).await.expect_err("crashes").code, "plugin_crashed");
    }
    world.until(|world| world.plugin().status().state == PluginState::Down).await;
    let error = world.tool("version", json!({})).await.expect_err("given up");
    assert!(error.message.contains("3 times in a row"), "{}", error.message);
    world.until_tool("version", json!("v1")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hang_frees_its_caller_at_the_deadline_and_innocent_calls_go_on() {
    let world = with(|settings| {
        settings.call_timeout = Duration::from_millis(150);
        settings.cancel_grace = Duration::from_millis(20);
        settings.kill_grace = Duration::from_millis(50);
        settings.max_concurrency = 2;
    });
    let began = Instant::now();
    assert_eq!(world.tool("hang", json!({})).await.expect_err("hangs").code, "timeout");
    assert!(began.elapsed() >= Duration::from_millis(150) && began.elapsed() < Duration::from_secs(2));
    world.until(|world| world.plugin().status().counters.restarts == 1).await;
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
    // Calls that were never sent go to the next process.
    let calls = (0..20).map(|at| {
        let world = &world;
        async move { if at < 2 { world.tool("hang", json!({})).await } else { world.tool("version", json!({})).await } }
    });
    let answers = futures_util::future::join_all(calls).await;
    assert!(answers[..2].iter().all(|answer| answer.as_ref().expect_err("hangs").code == "timeout"));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_beyond_the_limit_ends_the_plugin_only() {
    let world = with(|settings| settings.limits.memory = 256 << 20);
    let error = world.tool("leak", json!({})).await.expect_err("too much");
    assert_eq!(error.code, "plugin_crashed");
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn printing_does_not_disturb_the_channel() {
    let world = World::outside(&[]);
    for _ in 0..3 {
        assert_eq!(world.tool("stdout", json!({})).await, Ok(json!("printed")));
    }
    assert_eq!(world.tool("chatty", json!({})).await, Ok(json!("said")));
    world.until(|world| world.plugin().status().counters.log_dropped > 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_start_is_refused_with_how_it_ended() {
    let refused = |macros: &[&str]| World::outside(macros).plugin().refusal().expect("refused");
    let crashed = refused(&["CREATE_SEGV"]);
    assert_eq!(crashed.kind, RefusalKind::Start);
    assert!(crashed.message.contains("signal 11"), "{}", crashed.message);
    let undefined = refused(&["UNDEFINED"]);
    assert_eq!(undefined.kind, RefusalKind::Open);
    assert!(undefined.message.contains("nope_fn"), "{}", undefined.message);
    let small = with(|settings| settings.limits.memory = 4_096).plugin().refusal().expect("refused");
    assert!(small.kind == RefusalKind::Open && small.help.contains("limits.memory"), "{small:?}");
    let said_no = refused(&["CREATE_FAILS"]);
    assert!(said_no.message.contains("the station does not answer"), "{}", said_no.message);
    let hangs = World::new(&["CREATE_HANGS"], Isolation::Process, Vec::new(), |settings| {
        settings.start_timeout = Duration::from_millis(100);
    });
    assert!(hangs.plugin().refusal().expect("refused").message.contains("100 ms"));
    let own = World::outside(&["FLAGS=7"]);
    assert_eq!(own.tool("version", json!({})).await, Ok(json!("v1")), "panic = \"abort\" is no danger there");
}

/// The same library answers alike wherever it runs.
#[tokio::test(flavor = "multi_thread")]
async fn both_modes_give_the_same_transcript() {
    let (inside, outside) = (World::inside(&[]), World::outside(&[]));
    for tool in [
        "version", "units", "fail", "late", "drop", "double", "bad_json", "null", "huge", "big", "typed", "context",
        "progress", "chatty", "stdout", "nobody",
    ] {
        let arguments = json!({"a": 1, "b": ["ü", null]});
        assert_eq!(inside.tool(tool, arguments.clone()).await, outside.tool(tool, arguments).await, "{tool}");
    }
    for (service, input) in [
        ("kv.get", json!({"key": "a"})),
        ("secret.get", json!({"name": "STATION"})),
        ("http.fetch", json!({"url": "https://api.example.org/x"})),
        ("model.generate", json!({})),
    ] {
        let arguments = json!({"service": service, "input": input});
        assert_eq!(inside.tool("ask", arguments.clone()).await, outside.tool("ask", arguments).await, "{service}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_ends_with_its_plugins_and_leaves_nothing() {
    let world = World::outside(&[]);
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
    world.replace(&liar(&["ANSWER=\"v2\""]));
    world.until_tool("version", json!("v2")).await;
    world.until(|world| world.plugin().status().retiring == 0).await;
    world.plugins.close(Duration::from_secs(10)).await;
    assert_eq!(world.children(), 0);
}
