//! The walk of a turn.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use roster_engine::turn::{Limits, TurnEvent, TurnRefused, start};
use roster_model::message::Role;
use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason};
use roster_model::storage::ConversationStore;
use tokio::sync::Notify;

use crate::double::{CLERK, Say, World, all, calls, end, key, names, text};

fn piece(words: &str) -> Say {
    Say::Delta(Delta::Text(words.into()))
}

#[tokio::test]
async fn a_plain_turn_stores_two_rows() {
    let world = World::new(&[CLERK]);
    world.model.say(vec![piece("Hel"), piece("lo"), end(StopReason::Stop)]);
    let events = all(world.ask("t", "hi")).await;
    assert_eq!(names(&events), "started text:Hel text:lo step done:stop");
    assert_eq!(world.rows("t").await, ["user: hi", "assistant: Hello"]);
    assert_eq!(world.model.prompts(), ["system: Be brief. | user: hi"]);
}

#[tokio::test]
async fn the_question_is_stored_before_the_model_is_asked_and_the_answer_before_the_end() {
    let world = World::new(&[CLERK]);
    let gate = Arc::new(Notify::new());
    world.model.say(vec![Say::Wait(gate.clone()), piece("a"), end(StopReason::Stop)]);
    let mut turn = world.ask("t", "hi");
    assert!(matches!(turn.next().await, Some(TurnEvent::Started { .. })));
    assert_eq!(world.rows("t").await, ["user: hi"]);
    gate.notify_one();
    while let Some(event) = turn.next().await {
        if matches!(event, TurnEvent::Finished { .. }) {
            assert_eq!(world.rows("t").await, ["user: hi", "assistant: a"]);
        }
    }
}

/// TO-a1 and the default window: the newest rows before the turn, in order, then the question once.
#[tokio::test]
async fn the_window_is_the_newest_rows_before_the_turn() {
    for (setting, from) in [("", 0), ("3", 7), ("10", 0), ("11", 0), ("1", 9), ("0", 10), ("false", 10)] {
        let memory = match setting {
            "" => "memory = \"create_memory\"\n".to_owned(),
            n => format!("[memory]\nfactory = \"create_memory\"\nlast_messages = {n}\n"),
        };
        let world = World::new(&[&format!("id = \"clerk\"\ninstructions = \"x\"\nresource = \"shop\"\n{memory}")]);
        for n in 0..5 {
            world.model.say(text(&format!("m{}", 2 * n + 1)));
            all(world.ask("t", &format!("m{}", 2 * n))).await;
        }
        all(world.ask("t", "next?")).await;
        let words = |n| format!("{}: m{n}", if n % 2 == 0 { "user" } else { "assistant" });
        // A window that begins with an answer gets a person's word before it: providers want one.
        let first = (from % 2 == 1).then(|| "user: .".to_owned());
        let history: Vec<_> = first.into_iter().chain((from..10).map(words)).collect();
        let expected = [vec!["system: x".to_owned()], history, vec!["user: next?".to_owned()]].concat().join(" | ");
        assert_eq!(world.model.prompts().last(), Some(&expected), "last_messages = {setting}");
        assert_eq!(world.rows("t").await.len(), 12, "everything is stored whatever is fed");
    }
}

#[tokio::test]
async fn of_the_clients_list_only_the_newest_user_message_counts_once_the_thread_has_rows() {
    let world = World::new(&[CLERK]);
    let list = [(Role::System, "s"), (Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c")];
    all(start(&world.services, world.request("clerk", "t", &list)).unwrap()).await;
    assert_eq!(world.rows("t").await, ["user: a", "assistant: b", "user: c", "assistant: ok"], "seeded when empty");
    let again = [&list[..], &[(Role::Assistant, "EDITED"), (Role::User, "d")]].concat();
    all(start(&world.services, world.request("clerk", "t", &again)).unwrap()).await;
    assert_eq!(world.rows("t").await[4..], ["user: d", "assistant: ok"]);
    let prompts = world.model.prompts();
    assert_eq!(prompts[0], "system: Be brief. | user: a | assistant: b | user: c");
    assert_eq!(prompts[1], "system: Be brief. | user: a | assistant: b | user: c | assistant: ok | user: d");
}

#[tokio::test]
async fn agent_without_memory_touches_no_store() {
    let world = World::new(&["id = \"clerk\"\ninstructions = \"x\"\n"]);
    let list = [(Role::System, "s"), (Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c")];
    all(start(&world.services, world.request("clerk", "t", &list)).unwrap()).await;
    assert_eq!(world.model.prompts(), ["system: x | system: s | user: a | assistant: b | user: c"]);
    assert_eq!(world.store.thread(&key("t")).await.unwrap(), None);
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_turn_that_is_not_stored_reads_and_writes_nothing() {
    let world = World::new(&[CLERK]);
    let mut request = world.request("clerk", "t", &[(Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c")]);
    request.stored = false;
    all(start(&world.services, request).unwrap()).await;
    assert_eq!(world.model.prompts(), ["system: Be brief. | user: a | assistant: b | user: c"]);
    assert_eq!(world.store.thread(&key("t")).await.unwrap(), None);
}

#[tokio::test]
async fn tools_run_at_once_and_their_results_go_by_id() {
    let world = World::new(&[CLERK]);
    let gates: Vec<_> = (1..=3).map(|n| (n, Arc::new(Notify::new()))).collect();
    world.gates.lock().unwrap().extend(gates.clone());
    let list = [1, 2, 3].map(|n| format!("{{\"amount\":{n}}}"));
    world.model.say(calls(&[("c1", "pay", &list[0]), ("c2", "pay", &list[1]), ("c3", "pay", &list[2])]));
    let turn = world.ask("t", "pay all");
    let reading = tokio::task::LocalSet::new();
    let events = reading
        .run_until(async {
            let events = tokio::task::spawn_local(all(turn));
            for number in [2, 0, 1] {
                gates[number].1.notify_one();
                tokio::task::yield_now().await;
            }
            events.await.unwrap()
        })
        .await;
    let finished: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::ToolFinished(result) => Some(result.call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(finished.len(), 3);
    let prompt = &world.model.prompts()[1];
    assert!(
        prompt.ends_with("[pay:c1,pay:c2,pay:c3] | tool: c1={\"paid\":1},c2={\"paid\":2},c3={\"paid\":3}"),
        "{prompt}"
    );
}

/// TO-f3: the same ids, or none, in every turn of a thread.
#[tokio::test]
async fn call_ids_are_unique_in_the_thread() {
    let world = World::new(&[CLERK]);
    for _ in 0..3 {
        world.model.say(calls(&[("call_0", "pay", "{\"amount\":1}"), ("", "pay", "{\"amount\":2}")]));
        all(world.ask("t", "pay")).await;
    }
    let rows = world.store.tail(&key("t"), 100, None).await.unwrap();
    let ids: Vec<_> = rows
        .iter()
        .flat_map(|row| &row.message.parts)
        .filter_map(|part| match part {
            roster_model::message::Part::ToolCall(call) => Some(call.id.clone()),
            _ => None,
        })
        .collect();
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len()), (6, 6), "{ids:?}");
    assert_eq!(ids[0], "call_0", "the provider's own id where it is new");
}

/// TO-f2: what is no object or does not fit the schema is never run; the model is told and the loop goes on.
#[tokio::test]
async fn bad_arguments_are_answered_not_run() {
    let bad = ["{\"amount\": 5", "{\"amount\":5}{\"amount\":6}", "null", "[]", "{\"amount\":\"5\"}", "", "{}"];
    let world = World::new(&[CLERK]);
    for arguments in bad {
        world.model.say(calls(&[("", "pay", arguments)]));
        let events = names(&all(world.ask("t", "pay")).await);
        assert!(events.contains("!") && events.ends_with("done:stop"), "{arguments:?}: {events}");
    }
    world.model.say(calls(&[("", "nope", "{}")]));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.contains("there is no tool `nope`; there are `pay`"), "{events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
    world.model.say(calls(&[("", "pay", "{\"amount\":5}")]));
    all(world.ask("t", "pay")).await;
    assert_eq!(world.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_crashing_tool_ends_only_its_call() {
    let world = World::new(&[CLERK]);
    world.model.say(calls(&[("", "pay", "{\"amount\":666}")]));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.contains("the tool crashed\"!") && events.ends_with("done:stop"), "{events}");
}

#[tokio::test]
async fn max_steps_ends_a_model_that_keeps_calling() {
    let world = World::new(&[CLERK]);
    world.model.always(|_| calls(&[("", "pay", "{\"amount\":1}")]));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.ends_with("done:tool-calls"), "{events}");
    assert_eq!(world.model.prompts().len(), 5);
    assert_eq!(world.runs.load(Ordering::SeqCst), 5);
}

/// TO-b1: what was said is stored and marked, the provider's stream is dropped, the next turn has it once.
#[tokio::test]
async fn a_client_that_leaves_interrupts_the_turn() {
    let world = World::new(&[CLERK]);
    world.model.say(vec![piece("one "), piece("two"), Say::Wait(Arc::new(Notify::new()))]);
    let mut turn = world.ask("t", "count");
    while !matches!(turn.next().await, Some(TurnEvent::Text(text)) if text == "two") {}
    drop(turn);
    world.model.cut_notice.notified().await;
    all(world.ask("t", "go on")).await;
    assert_eq!(
        world.rows("t").await,
        ["user: count", "assistant(interrupted): one two", "user: go on", "assistant: ok"]
    );
    assert_eq!(world.model.prompts()[1], "system: Be brief. | user: count | assistant: one two | user: go on");
}

#[tokio::test]
async fn an_agent_may_finish_for_a_client_that_left() {
    let world = World::new(&[&format!("{CLERK}on_disconnect = \"finish\"\n")]);
    let gate = Arc::new(Notify::new());
    world.model.say(vec![piece("one "), Say::Wait(gate.clone()), piece("two"), end(StopReason::Stop)]);
    let mut turn = world.ask("t", "count");
    while !matches!(turn.next().await, Some(TurnEvent::Text(_))) {}
    drop(turn);
    gate.notify_one();
    all(world.ask("t", "go on")).await;
    assert_eq!(world.rows("t").await[1], "assistant: one two");
}

/// TO-b2: a call whose result never came is answered truly, and the thread lives on.
#[tokio::test]
async fn stopped_between_call_and_result() {
    let world = World::new(&[CLERK]);
    world.gates.lock().unwrap().insert(2, Arc::new(Notify::new()));
    world.model.say(calls(&[("c1", "pay", "{\"amount\":1}"), ("c2", "pay", "{\"amount\":2}")]));
    let mut turn = world.ask("t", "pay");
    while !matches!(turn.next().await, Some(TurnEvent::ToolFinished(_))) {}
    assert_eq!(
        world.rows("t").await[1],
        "assistant(running): [pay {\"amount\":1}][pay {\"amount\":2}][={\"paid\":1}]",
        "a finished call's result is on record while others run"
    );
    drop(turn);
    all(world.ask("t", "hello")).await;
    let prompt = &world.model.prompts()[1];
    assert!(prompt.contains("c1={\"paid\":1},c2=\"This call was interrupted"), "{prompt}");
    let rows = world.rows("t").await;
    assert!(rows[1].starts_with("assistant(interrupted): ") && rows[1].ends_with("[={\"paid\":1}]"), "{rows:?}");
}

/// TO-b5: half an answer is marked as failed, with the text so far and the usage known.
#[tokio::test]
async fn a_provider_that_breaks_off_fails_the_turn() {
    let world = World::new(&[CLERK]);
    let broken = ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off");
    world.model.say(vec![piece("Hel"), piece("lo"), Say::Fail(broken)]);
    let events = names(&all(world.ask("t", "hi")).await);
    assert_eq!(events, "started text:Hel text:lo failed:provider_truncated");
    assert_eq!(world.rows("t").await[1], "assistant(failed): Hello[error provider_truncated]");
    let refused = ProviderError::new(ProviderErrorKind::Auth, "401");
    world.model.say(vec![Say::Fail(refused)]);
    assert_eq!(names(&all(world.ask("t", "hi")).await), "started failed:provider_auth");
    all(world.ask("t", "and now?")).await;
    let prompt = world.model.prompts().pop().unwrap();
    assert_eq!(
        prompt, "system: Be brief. | user: hi | assistant: Hello | user: hi | user: and now?",
        "nothing empty is fed"
    );
}

/// TO-a7: rows are turn by turn, whoever comes first; another thread is not slowed.
#[tokio::test]
async fn two_turns_at_once_in_one_thread_follow_each_other() {
    let world = World::new(&[CLERK]);
    let gate = Arc::new(Notify::new());
    world.model.say(vec![piece("1"), Say::Wait(gate.clone()), end(StopReason::Stop)]);
    let mut first = world.ask("t", "first");
    while !matches!(first.next().await, Some(TurnEvent::Text(_))) {}
    let second = world.ask("t", "second");
    assert_eq!(names(&all(world.ask("other", "third")).await), "started text:ok step done:stop");
    gate.notify_one();
    all(first).await;
    all(second).await;
    assert_eq!(world.rows("t").await, ["user: first", "assistant: 1", "user: second", "assistant: ok"]);
    assert_eq!(world.model.prompts()[2], "system: Be brief. | user: first | assistant: 1 | user: second");
}

#[tokio::test]
async fn a_waiting_client_that_leaves_stores_nothing_and_holds_nobody() {
    let world = World::new(&[CLERK]);
    let gate = Arc::new(Notify::new());
    world.model.say(vec![piece("1"), Say::Wait(gate.clone()), end(StopReason::Stop)]);
    let mut first = world.ask("t", "first");
    while !matches!(first.next().await, Some(TurnEvent::Text(_))) {}
    drop(world.ask("t", "never"));
    let third = world.ask("t", "third");
    gate.notify_one();
    all(first).await;
    all(third).await;
    assert_eq!(world.rows("t").await, ["user: first", "assistant: 1", "user: third", "assistant: ok"]);
}

#[tokio::test(start_paused = true)]
async fn time_is_bounded() {
    let limits = Limits { turn_timeout: Duration::from_secs(3), ..Limits::default() };
    let world = World::limited(&[CLERK], limits);
    world.model.say(vec![piece("slow"), Say::Wait(Arc::new(Notify::new()))]);
    assert_eq!(names(&all(world.ask("t", "hi")).await), "started text:slow failed:turn_timeout");
    assert_eq!(world.rows("t").await[1], "assistant(failed): slow[error turn_timeout]");
}

#[tokio::test]
async fn places_are_bounded_and_draining_takes_no_more() {
    let world = World::limited(&[CLERK], Limits { concurrent_turns: 1, ..Limits::default() });
    world.model.say(vec![Say::Wait(Arc::new(Notify::new()))]);
    let first = world.ask("t", "hi");
    let refused = start(&world.services, world.request("clerk", "u", &[(Role::User, "hi")]));
    assert_eq!(refused.err(), Some(TurnRefused::Busy));
    let none = start(&world.services, world.request("clerk", "u", &[(Role::Assistant, "hi")]));
    assert_eq!(none.err(), Some(TurnRefused::NoQuestion));
    world.services.draining.cancel();
    let refused = start(&world.services, world.request("clerk", "u", &[(Role::User, "hi")]));
    assert_eq!(refused.err(), Some(TurnRefused::Draining));
    world.services.stop.cancel();
    assert_eq!(names(&all(first).await), "started failed:cancelled");
    world.services.tracker.close();
    world.services.tracker.wait().await;
    assert_eq!(world.services.turns_running(), 0);
}

#[tokio::test]
async fn a_thread_deleted_in_mid_turn_fails_the_turn() {
    let world = World::new(&[CLERK]);
    let gate = Arc::new(Notify::new());
    world.model.say(vec![Say::Wait(gate.clone()), piece("a"), end(StopReason::Stop)]);
    let mut turn = world.ask("t", "hi");
    turn.next().await;
    assert!(world.store.delete_thread(&key("t")).await.unwrap());
    gate.notify_one();
    assert_eq!(names(&all(turn).await), "text:a step failed:thread_deleted");
    assert_eq!(world.store.thread(&key("t")).await.unwrap(), None);
}

/// One request that repeats one call id is read in one pass: the runtime's threads are everybody's.
#[tokio::test]
async fn a_list_of_repeated_calls_is_read_in_one_pass() {
    let world = World::new(&["id = \"clerk\"\ninstructions = \"x\"\n"]);
    let call = roster_model::message::ToolCall {
        id: "a".into(),
        name: "pay".into(),
        arguments: serde_json::Map::new(),
        malformed: None,
    };
    let mut request = world.request("clerk", "t", &[(Role::Assistant, ""), (Role::User, "go")]);
    request.input.messages[0].parts = vec![roster_model::message::Part::ToolCall(call); 20_000];
    assert!(names(&all(start(&world.services, request).unwrap()).await).ends_with("done:stop"));
    let asked = world.model.asked.lock().unwrap();
    let ids: std::collections::HashSet<_> = asked[0]
        .messages
        .iter()
        .filter_map(|message| match message {
            roster_model::provider::PromptMessage::Assistant { calls, .. } => Some(calls),
            _ => None,
        })
        .flatten()
        .map(|call| call.id.as_str())
        .collect();
    assert_eq!(ids.len(), 20_000);
}

/// A client that never reads keeps no place among the turns once its turn is over.
#[tokio::test(start_paused = true)]
async fn a_client_that_never_reads_holds_no_place() {
    let limits = Limits { concurrent_turns: 1, turn_timeout: Duration::from_secs(3), ..Limits::default() };
    let world = World::limited(&[CLERK], limits);
    world.model.say((0..1_000).map(|_| piece("x")).chain([end(StopReason::Stop)]).collect());
    let silent = world.ask("t", "hi");
    while world.services.turns_running() > 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(names(&all(world.ask("u", "hi")).await), "started text:ok step done:stop");
    drop(silent);
}

/// An answer without end is cut at a bound; what was said up to it is stored and marked.
#[tokio::test]
async fn an_endless_answer_is_cut() {
    let world = World::new(&[CLERK]);
    let chunk = "x".repeat(1024 * 1024);
    world.model.say((0..20).map(|_| piece(&chunk)).collect());
    let events = all(world.ask("t", "hi")).await;
    assert!(matches!(events.last(), Some(TurnEvent::Failed(failure)) if failure.message.contains("more than 8 MiB")));
    let row = &world.store.tail(&key("t"), 1, None).await.unwrap()[0];
    assert_eq!(row.message.text().len(), 8 * 1024 * 1024);
    let many: Vec<_> = (0..200).map(|_| ("", "pay", "{}")).collect();
    world.model.say(calls(&many));
    let events = all(world.ask("t", "hi")).await;
    assert!(matches!(events.last(), Some(TurnEvent::Failed(failure)) if failure.message.contains("128 tool calls")));
}
