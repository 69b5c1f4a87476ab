//! More than somebody can take: slow readers, more calls than places, a process that has stopped answering.

use std::time::Duration;

use roster_plugin::call::{Call, Event};
use roster_plugin::settings::{Isolation, Settings};
use serde_json::{Value, json};

use crate::failures::in_both_modes;
use crate::world::World;

in_both_modes!(
    pieces_wait_for_a_slow_reader_and_none_is_lost,
    a_plugin_that_may_not_wait_is_told_when_there_is_room,
    a_piece_may_be_larger_than_the_window_but_not_than_an_output,
    calls_without_a_place_wait_and_are_answered,
    a_plugin_that_takes_one_call_at_a_time_gets_one,
    who_finds_no_place_before_the_deadline_is_told,
);

fn with(macros: &[&str], isolation: Isolation, change: impl FnOnce(&mut Settings)) -> World {
    World::new(macros, isolation, Vec::new(), change)
}

/// All pieces and the end of a call.
async fn read(mut call: Call) -> (Vec<Value>, Value) {
    let mut pieces = Vec::new();
    loop {
        match call.next().await {
            Event::Chunk(chunk) => pieces.push(chunk.read().expect("JSON")),
            Event::Progress(_) => {}
            Event::Done(outcome) => return (pieces, outcome.expect("good").read().expect("JSON")),
        }
    }
}

fn counted() -> Vec<Value> {
    (0..200).map(|number| json!(number)).collect()
}

async fn pieces_wait_for_a_slow_reader_and_none_is_lost(isolation: Isolation) {
    let world = with(&[], isolation, |_| {});
    let slow = world.call("chunks", json!({}), true, None).await.expect("begins");
    // Nobody reads: so many are under way, and the plugin waits with the next one.
    let emitted = async || world.tool("emitted", json!({})).await.expect("another call goes on").as_u64();
    while emitted().await < Some(64) {
        tokio::task::yield_now().await;
    }
    for _ in 0..20 {
        assert_eq!(emitted().await, Some(64));
    }
    assert_eq!(read(slow).await, (counted(), json!(200)));
    assert_eq!(emitted().await, Some(200));
}

async fn a_plugin_that_may_not_wait_is_told_when_there_is_room(isolation: Isolation) {
    // Calls at once, and does not block.
    let world = with(&["FLAGS=2"], isolation, |_| {});
    let call = world.call("pump", json!({}), true, None).await.expect("begins");
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")), "it did not wait");
    assert_eq!(read(call).await, (counted(), json!(200)));
}

async fn a_piece_may_be_larger_than_the_window_but_not_than_an_output(isolation: Isolation) {
    let world = with(&[], isolation, |_| {});
    let (pieces, end) = read(world.call("wide", json!({}), true, None).await.expect("begins")).await;
    let lengths: Vec<_> = pieces.iter().map(|piece| piece.as_str().map(str::len)).collect();
    assert_eq!((lengths, end), (vec![Some((2 << 20) - 2); 3], json!(0)));
    let (pieces, end) = read(world.call("too_wide", json!({}), true, None).await.expect("begins")).await;
    assert_eq!((pieces.len(), end), (0, json!(-10)), "the plugin is told");
}

/// So many calls at once; how many of them the plugin ever had at work together.
async fn peak(world: &World, calls: usize) -> Option<u64> {
    let all = (0..calls).map(|_| world.tool("work", json!({})));
    for answer in futures_util::future::join_all(all).await {
        assert_eq!(answer, Ok(json!("worked")));
    }
    world.tool("peak", json!({})).await.expect("a number").as_u64()
}

async fn calls_without_a_place_wait_and_are_answered(isolation: Isolation) {
    let world = with(&[], isolation, |settings| settings.max_concurrency = 2);
    assert_eq!(peak(&world, 60).await, Some(2));
}

async fn a_plugin_that_takes_one_call_at_a_time_gets_one(isolation: Isolation) {
    // Blocks, and is not to be entered by several threads.
    let world = with(&["FLAGS=1"], isolation, |settings| settings.max_concurrency = 8);
    assert_eq!(peak(&world, 20).await, Some(1));
}

async fn who_finds_no_place_before_the_deadline_is_told(isolation: Isolation) {
    let world = with(&[], isolation, |settings| settings.max_concurrency = 2);
    let wait = async || world.call("wait", json!({}), false, None).await.expect("begins");
    let held = [wait().await, wait().await];
    let late = world.call("version", json!({}), false, Some(Duration::from_millis(50))).await;
    let error = late.err().expect("no place");
    assert_eq!((error.code.as_str(), error.retryable), ("plugin_busy", true), "{error:?}");
    drop(held);
    world.until(|world| world.plugin().status().counters.orphans == 0).await;
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_does_not_answer_is_killed_and_replaced() {
    let world = with(&[], Isolation::Process, |settings| settings.ping = Duration::from_millis(500));
    let call = world.call("freeze", json!({}), false, None).await.expect("begins");
    let error = call.end().await.expect_err("its process was stopped");
    assert_eq!((error.code.as_str(), error.retryable), ("plugin_restarted", true), "{error:?}");
    assert!(error.message.contains("its process did not answer"), "{error:?}");
    world.until_tool("version", json!("v1")).await;
    assert!(world.plugin().status().counters.restarts >= 1);
}
