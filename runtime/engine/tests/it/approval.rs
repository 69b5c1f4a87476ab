//! Calls that wait for a person.

use std::sync::atomic::Ordering;
use std::time::Duration;

use roster_engine::turn::{TurnEvent, TurnStream, Verdict, decline_for_good, resume, start};
use roster_model::id::{ResourceId, TurnId};
use roster_model::message::Role;
use roster_model::provider::StopReason;
use roster_model::suspension::{EXPIRES_AFTER, SuspensionStore};

use crate::double::{CLERK, World, all, calls, end, key, names, text};

/// `pay` needs a person, `look` does not: the same tool under two names of two agents.
const TELLER: &str = "id = \"clerk\"\ninstructions = \"Be brief.\"\nmemory = \"create_memory\"\nresource = \"shop\"\n\
    tools = [\"pay\", \"look\"]\nmax_steps = 3\n[tool_settings.pay]\napproval = \"always\"\n";

fn shop() -> ResourceId {
    ResourceId::new("shop").unwrap()
}

fn yes() -> Verdict {
    Verdict { call: None, approved: true, reason: None }
}

/// The turn that waits in the shop.
async fn waiting(world: &World) -> TurnId {
    let turns = world.store.suspended_turns(&shop(), 10).await.unwrap();
    assert_eq!(turns.len(), 1, "{turns:?}");
    turns[0].turn.clone()
}

async fn go_on(world: &World, turn: &TurnId, verdict: Verdict) -> TurnStream {
    let waiting = world.store.suspended_turn(&shop(), turn).await.unwrap().expect("known");
    let request = world.request("clerk", waiting.key.thread.as_str(), &[]);
    resume(&world.services, request, &waiting, verdict).expect("accepted")
}

async fn asked(world: &World) -> Vec<TurnEvent> {
    world.model.say(calls(&[("", "pay", "{\"amount\":5}")]));
    all(world.ask("t", "pay 5")).await
}

#[tokio::test]
async fn a_call_that_needs_approval_waits_and_runs_when_it_is_given() {
    let world = World::new(&[TELLER]);
    let events = asked(&world).await;
    assert!(names(&events).ends_with("called?:pay step done:suspended"), "{}", names(&events));
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
    assert_eq!(world.rows("t").await, ["user: pay 5", "assistant(suspended): [pay {\"amount\":5}]"]);
    world.model.say(text("done"));
    let turn = waiting(&world).await;
    let events = all(go_on(&world, &turn, yes()).await).await;
    assert_eq!(names(&events), "started finished:{\"paid\":5} text:done step done:stop");
    assert_eq!(world.runs.load(Ordering::SeqCst), 1);
    assert_eq!(world.rows("t").await, ["user: pay 5", "assistant: [pay {\"amount\":5}][={\"paid\":5}]done"]);
    let prompts = world.model.prompts();
    assert!(prompts[1].starts_with("system: Be brief. | user: pay 5 | assistant: [pay:"), "{}", prompts[1]);
    assert!(prompts[1].ends_with("={\"paid\":5}"), "{}", prompts[1]);
}

#[tokio::test]
async fn a_declined_call_is_not_run_and_its_model_is_told_why() {
    let world = World::new(&[TELLER]);
    asked(&world).await;
    let turn = waiting(&world).await;
    let no = Verdict { call: None, approved: false, reason: Some("too much".into()) };
    let events = names(&all(go_on(&world, &turn, no).await).await);
    assert!(
        events.contains("declined this call") && events.contains("too much") && events.ends_with("done:stop"),
        "{events}"
    );
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
    assert!(world.model.prompts()[1].contains("too much"));
}

#[tokio::test]
async fn of_parallel_calls_the_free_ones_run_and_each_other_is_decided_by_itself() {
    let world = World::new(&[TELLER]);
    let list = [("a", "pay", "{\"amount\":1}"), ("b", "look", "{\"amount\":2}"), ("c", "pay", "{\"amount\":3}")];
    world.model.say(calls(&list));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.contains("called?:pay called:look called?:pay"), "{events}");
    assert!(events.ends_with("finished:{\"paid\":2} done:suspended"), "{events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 1);
    let turn = waiting(&world).await;
    let known = world.store.suspended_turn(&shop(), &turn).await.unwrap().unwrap();
    let ids: Vec<String> = known.calls().iter().map(|call| call.id.clone()).collect();
    let one = |id: &str, approved| Verdict { call: Some(id.to_owned()), approved, reason: None };
    let events = names(&all(go_on(&world, &turn, one(&ids[1], true)).await).await);
    assert_eq!(events, "started finished:{\"paid\":3} called?:pay done:suspended");
    assert_eq!(waiting(&world).await, turn);
    let rows = world.rows("t").await;
    for approved in [true, false] {
        let events = names(&all(go_on(&world, &turn, one(&ids[1], approved)).await).await);
        assert_eq!(events, "failed:call_decided", "nothing happens, and nobody is told otherwise");
    }
    let declined = decline_for_good(&world.services, world.store.clone(), known, one(&ids[1], false)).await;
    assert_eq!(declined.unwrap_err().code, "call_decided");
    assert_eq!((waiting(&world).await, world.rows("t").await), (turn.clone(), rows), "the other call waits on");
    let events = names(&all(go_on(&world, &turn, one(&ids[0], false)).await).await);
    assert!(events.ends_with("done:stop"), "{events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_turn_is_decided_once_and_a_new_message_overtakes_it() {
    let world = World::new(&[TELLER]);
    asked(&world).await;
    let turn = waiting(&world).await;
    all(go_on(&world, &turn, yes()).await).await;
    let again = names(&all(go_on(&world, &turn, yes()).await).await);
    assert_eq!(again, "failed:turn_not_suspended");
    assert_eq!(world.runs.load(Ordering::SeqCst), 1);
    asked(&world).await;
    let turn = waiting(&world).await;
    all(world.ask("t", "never mind")).await;
    let rows = world.rows("t").await;
    assert!(rows[3].starts_with("assistant(interrupted): [pay") && rows[3].contains("was not run"), "{rows:?}");
    assert!(world.model.prompts().last().unwrap().contains("was not run"));
    assert_eq!(names(&all(go_on(&world, &turn, yes()).await).await), "failed:turn_not_suspended");
    assert_eq!(world.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_call_that_waited_too_long_is_not_run() {
    let world = World::new(&[TELLER]);
    asked(&world).await;
    let turn = waiting(&world).await;
    world.clock.advance(EXPIRES_AFTER + Duration::from_secs(1));
    assert_eq!(world.store.suspended_turns(&shop(), 10).await.unwrap(), []);
    assert_eq!(names(&all(go_on(&world, &turn, yes()).await).await), "failed:turn_not_suspended");
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn steps_of_a_turn_that_waited_are_counted_together() {
    let world = World::new(&[TELLER]);
    for round in 0..3 {
        world.model.say(calls(&[("", "pay", "{\"amount\":5}")]));
        let events = match round {
            0 => all(world.ask("t", "pay")).await,
            _ => all(go_on(&world, &waiting(&world).await, yes()).await).await,
        };
        assert!(names(&events).ends_with("done:suspended"), "{}", names(&events));
    }
    let events = names(&all(go_on(&world, &waiting(&world).await, yes()).await).await);
    assert_eq!(events, "started finished:{\"paid\":5} done:tool-calls");
    assert_eq!(world.model.prompts().len(), 3);
}

#[tokio::test]
async fn nobody_can_be_asked_without_a_store_or_behind_another_agent() {
    let boss =
        "id = \"boss\"\ninstructions = \"x\"\nmemory = \"create_memory\"\nresource = \"shop\"\nagents = [\"clerk\"]\n";
    let world = World::new(&[TELLER, boss]);
    world.model.say(calls(&[("", "agent_clerk", "{\"prompt\":\"pay 5\"}")]));
    world.model.say(calls(&[("", "pay", "{\"amount\":5}")]));
    let events = names(&all(start(&world.services, world.request("boss", "b", &[(Role::User, "pay")])).unwrap()).await);
    assert!(events.ends_with("done:stop"), "{events}");
    assert!(world.model.prompts()[2].contains("nobody can be asked"), "{:?}", world.model.prompts());
    let mut request = world.request("clerk", "t", &[(Role::User, "pay")]);
    request.stored = false;
    world.model.say(calls(&[("", "pay", "{\"amount\":5}")]));
    let events = names(&all(start(&world.services, request).unwrap()).await);
    assert!(events.contains("called:pay") && events.contains("nobody can be asked"), "{events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_without_asking() {
    let world = World::new(&[TELLER]);
    world.model.say(calls(&[("", "pay", "{\"amount\":\"much\"}")]));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.contains("do not fit the schema") && events.ends_with("done:stop"), "{events}");
}

/// The person approved what stands there; what is there now decides whether it can run.
#[tokio::test]
async fn a_tool_that_is_gone_when_approval_comes_is_told_to_the_model() {
    let world = World::new(&[TELLER]);
    asked(&world).await;
    let turn = waiting(&world).await;
    world.load(&[&CLERK.replace("[\"pay\"]", "[\"look\"]")]);
    let events = names(&all(go_on(&world, &turn, yes()).await).await);
    assert!(events.contains("there is no tool `pay`; there are `look`") && events.ends_with("done:stop"), "{events}");
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_turn_waits_while_it_holds_no_thread_and_the_model_may_be_another() {
    let world = World::new(&[TELLER]);
    asked(&world).await;
    let turn = waiting(&world).await;
    world.model.say(vec![end(StopReason::Stop)]);
    all(world.ask("elsewhere", "hi")).await;
    assert_eq!(world.services.turns_running(), 0);
    let known = world.store.suspended_turn(&shop(), &turn).await.unwrap().unwrap();
    assert_eq!(known.key, key("t"));
}

/// A decision nobody waits for is no turn, so none failed.
#[tokio::test]
async fn a_decision_that_comes_too_late_is_not_counted_as_a_failed_turn() {
    let world = World::new(&[TELLER]);
    asked(&world).await;
    let turn = waiting(&world).await;
    all(go_on(&world, &turn, yes()).await).await;
    for _ in 0..2 {
        assert_eq!(names(&all(go_on(&world, &turn, yes()).await).await), "failed:turn_not_suspended");
    }
    let metrics = world.services.metrics_text();
    assert!(!metrics.contains("outcome=\"failed\""), "{metrics}");
    assert!(metrics.contains("roster_turns_total{agent=\"clerk\",outcome=\"finished\"} 1"), "{metrics}");
}

/// Without its agent: one call after the other, and whoever goes on with the conversation is told.
#[tokio::test]
async fn what_waits_can_be_declined_when_its_agent_is_gone() {
    let world = World::new(&[TELLER]);
    world.model.say(calls(&[("", "pay", "{\"amount\":1}"), ("", "pay", "{\"amount\":2}")]));
    all(world.ask("t", "pay")).await;
    let turn = waiting(&world).await;
    let known = world.store.suspended_turn(&shop(), &turn).await.unwrap().unwrap();
    let ids: Vec<String> = known.calls().iter().map(|call| call.id.clone()).collect();
    let decline = async |call: Option<&str>| {
        let (call, reason) = (call.map(str::to_owned), Some("closed".to_owned()));
        let verdict = Verdict { call, approved: false, reason };
        decline_for_good(&world.services, world.store.clone(), known.clone(), verdict).await
    };
    let first = decline(Some(&ids[0])).await.unwrap();
    assert!(first.waits && first.results[0].call_id == ids[0], "{first:?}");
    assert_eq!(waiting(&world).await, turn, "the other call waits on");
    let second = decline(None).await.unwrap();
    assert!(!second.waits && second.results.len() == 1 && second.results[0].call_id == ids[1], "{second:?}");
    assert_eq!(decline(None).await.unwrap_err().code, "turn_not_suspended");
    let row = &world.rows("t").await[1];
    assert!(row.starts_with("assistant(interrupted): [pay") && row.matches("closed").count() == 2, "{row}");
    all(world.ask("t", "and?")).await;
    assert!(world.model.prompts().last().unwrap().contains("Their reason: closed"), "the thread is free");
    assert_eq!(world.runs.load(Ordering::SeqCst), 0);
}
