//! A tool's own `timeout` and `concurrency`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::Notify;

use crate::double::{CLERK, World, all, calls, names};

fn clerk(settings: &str) -> String {
    format!("{CLERK}[tool_settings.pay]\n{settings}\n")
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_does_not_answer_in_its_time_is_given_up_and_the_model_is_told() {
    let world = World::new(&[&clerk("timeout = \"2s\"")]);
    world.gates.lock().unwrap().insert(1, Arc::new(Notify::new()));
    world.model.say(calls(&[("c1", "pay", "{\"amount\":1}"), ("c2", "pay", "{\"amount\":2}")]));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.contains("finished:{\"paid\":2} finished:\"the tool gave no answer within 2 s\"!"), "{events}");
    assert!(events.ends_with("done:stop"), "{events}");
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_concurrency_wait_within_their_time_and_do_not_run_after_it() {
    let world = World::new(&[&clerk("timeout = \"2s\"\nconcurrency = 1")]);
    world.gates.lock().unwrap().insert(1, Arc::new(Notify::new()));
    world.model.say(calls(&[("c1", "pay", "{\"amount\":1}"), ("c2", "pay", "{\"amount\":1}")]));
    let events = names(&all(world.ask("t", "pay")).await);
    assert_eq!(events.matches("gave no answer within 2 s").count(), 2, "{events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 1, "the second never had the slot");
    world.model.say(calls(&[("c3", "pay", "{\"amount\":3}"), ("c4", "pay", "{\"amount\":4}")]));
    let events = names(&all(world.ask("t", "again")).await);
    assert!(events.contains("{\"paid\":3}") && events.contains("{\"paid\":4}"), "the slot is free again: {events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 3);
}
