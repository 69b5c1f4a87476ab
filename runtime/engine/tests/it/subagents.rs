//! Agents as tools of other agents.

use std::sync::atomic::Ordering;

use roster_engine::turn::start;
use roster_model::id::ResourceId;
use roster_model::message::Role;
use roster_model::provider::Completion;
use roster_model::storage::{ConversationStore, ThreadQuery};

use crate::double::{World, all, calls, names, text};

fn agent(id: &str, agents: &str, memory: bool) -> String {
    let memory = if memory { "memory = \"create_memory\"\n" } else { "" };
    format!("id = \"{id}\"\ninstructions = \"I am {id}.\"\nagents = [{agents}]\n{memory}")
}

fn is(completion: &Completion, id: &str) -> bool {
    matches!(&completion.messages[0], roster_model::provider::PromptMessage::System(text) if *text == format!("I am {id}."))
}

/// TO-h2: each name leads to its own agent.
#[tokio::test]
async fn a_sub_agent_answers_under_a_thread_of_its_own() {
    let world = World::new(&[
        &agent("boss", "\"billing.eu\",\"billing_eu\"", false),
        &agent("billing.eu", "", true),
        &agent("billing_eu", "", true),
    ]);
    let names_offered: Vec<_> = {
        let snapshot = world.registry.snapshot();
        snapshot.serving().next().unwrap().tools.offered().iter().map(|tool| tool.name.clone()).collect()
    };
    let offered = names_offered.clone();
    world.model.always(move |asked| match &asked.messages[..] {
        [.., roster_model::provider::PromptMessage::Tool(_)] => text("all done"),
        _ if is(asked, "boss") => {
            calls(&[("", &offered[0], "{\"prompt\":\"dots?\"}"), ("", &offered[1], "{\"prompt\":\"lines?\"}")])
        }
        _ if is(asked, "billing.eu") => text("I have dots"),
        _ => text("I have lines"),
    });
    let request = world.request("boss", "t", &[(Role::User, "ask both")]);
    let events = names(&all(start(&world.services, request).unwrap()).await);
    assert!(events.contains("finished:\"I have dots\"") && events.contains("finished:\"I have lines\""), "{events}");
    assert!(events.ends_with("text:all done step done:stop"), "{events}");
    assert!(world.rows("t").await.is_empty(), "the parent has no memory");
    let owner = ResourceId::new("shop").unwrap();
    let listed = world.store.threads(&owner, ThreadQuery { limit: 10, ..ThreadQuery::default() }).await.unwrap();
    assert!(listed.rows.is_empty(), "threads of sub-agents are left out of lists");
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 2);
}

/// TO-h1: re-entering, depth and the whole tree are bounded, and the model can answer.
#[tokio::test]
async fn agents_that_call_each_other_come_to_an_end() {
    let world = World::new(&[&agent("a", "\"b\"", false), &agent("b", "\"a\"", false), &agent("c", "\"c\"", false)]);
    world.model.always(|asked| {
        let tool = if is(asked, "a") {
            "agent_b"
        } else if is(asked, "b") {
            "agent_a"
        } else {
            "agent_c"
        };
        match &asked.messages[..] {
            [.., roster_model::provider::PromptMessage::Tool(_)] => text("enough"),
            _ => calls(&[("", tool, "{\"prompt\":\"go\"}")]),
        }
    });
    for id in ["a", "c"] {
        let request = world.request(id, "t", &[(Role::User, "go")]);
        let events = names(&all(start(&world.services, request).unwrap()).await);
        assert!(events.ends_with("text:enough step done:stop"), "{events}");
    }
    let prompts = world.model.prompts().join("\n");
    assert!(prompts.contains("`a` is already at work") && prompts.contains("`c` is already at work"), "{prompts}");
}

#[tokio::test]
async fn depth_and_budget_bound_a_fan_out() {
    let ids = ["a", "b", "c", "d", "e"];
    let files: Vec<_> = ids
        .iter()
        .map(|id| {
            agent(id, &ids.iter().filter(|o| o != &id).map(|o| format!("\"{o}\"")).collect::<Vec<_>>().join(","), false)
        })
        .collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    let world = World::new(&files);
    world.model.always(|asked| {
        let all: Vec<_> = asked.tools.iter().map(|tool| tool.name.clone()).collect();
        let all: Vec<_> = all.iter().map(|name| ("", name.as_str(), "{\"prompt\":\"go\"}")).collect();
        calls(&all)
    });
    let events = names(&all(start(&world.services, world.request("a", "t", &[(Role::User, "go")])).unwrap()).await);
    assert!(events.ends_with("failed:budget_exhausted"), "{events}");
    assert_eq!(world.model.prompts().len(), 64, "the documented number");
    let prompts = world.model.prompts().join("\n");
    assert!(prompts.contains("3 deep"), "the depth limit was met");
}

/// TO-h1: twenty agents in a ring; the depth ends it, with two calls a level.
#[tokio::test]
async fn a_ring_of_twenty_ends_at_the_depth_limit() {
    let files: Vec<_> =
        (0..20).map(|n| agent(&format!("a{n}"), &format!("\"a{}\"", (n + 1) % 20), n % 2 == 0)).collect();
    let world = World::new(&files.iter().map(String::as_str).collect::<Vec<_>>());
    let problems = world.registry.snapshot().entries.iter().map(|entry| entry.problems[0].code).collect::<Vec<_>>();
    assert_eq!(problems, ["agent_cycle"; 20], "shown when they are loaded");
    world.model.always(|asked| match &asked.messages[..] {
        [.., roster_model::provider::PromptMessage::Tool(_)] => text("enough"),
        _ => calls(&[("", &asked.tools[0].name, "{\"prompt\":\"go\"}")]),
    });
    let events = names(&all(start(&world.services, world.request("a7", "t", &[(Role::User, "go")])).unwrap()).await);
    assert!(events.ends_with("text:enough step done:stop"), "{events}");
    let prompts = world.model.prompts();
    assert_eq!(prompts.len(), 8, "four agents, two calls each");
    assert!(prompts.join("\n").contains("agent `a11` was not asked: agents may call each other 3 deep"));
}

/// TO-h1: three at once on every level; the number of model calls is the documented one, whoever asks.
#[tokio::test]
async fn three_at_once_on_every_level_stay_within_the_budget() {
    let level = |n: usize| (0..3).map(|m| format!("\"l{n}-{m}\"")).collect::<Vec<_>>().join(",");
    let mut files = vec![agent("root", &level(1), false)];
    for n in 1..=5 {
        files.extend((0..3).map(|m| agent(&format!("l{n}-{m}"), &level(n + 1), false)));
    }
    files.extend((0..3).map(|m| agent(&format!("l6-{m}"), "", false)));
    let world = World::new(&files.iter().map(String::as_str).collect::<Vec<_>>());
    world.model.always(|asked| match &asked.messages[..] {
        [.., roster_model::provider::PromptMessage::Tool(_)] => text("done"),
        _ => {
            let all: Vec<_> = asked.tools.iter().map(|tool| ("", tool.name.as_str(), "{\"prompt\":\"go\"}")).collect();
            calls(&all)
        }
    });
    let turn = all(start(&world.services, world.request("root", "t", &[(Role::User, "go")])).unwrap()).await;
    let asked = world.model.prompts().len();
    assert!(asked <= 64, "{asked}");
    let last = names(&turn);
    assert!(last.ends_with("done:stop") || last.ends_with("failed:budget_exhausted"), "{last}");
}

/// A sub-agent that crashes or fails is a failed call; its thread is free again and the caller's model can answer.
#[tokio::test]
async fn a_sub_agent_that_fails_is_told_to_the_caller() {
    let world = World::new(&[&agent("boss", "\"clerk\"", false), &agent("clerk", "", true)]);
    world.model.always(|asked| match &asked.messages[..] {
        [.., roster_model::provider::PromptMessage::Tool(results)] => text(&format!("told: {}", results[0].output)),
        _ if is(asked, "boss") => calls(&[("", "agent_clerk", "{\"prompt\":\"go\"}")]),
        _ => panic!("the model's driver has a hole"),
    });
    let events = names(&all(start(&world.services, world.request("boss", "t", &[(Role::User, "go")])).unwrap()).await);
    assert!(events.contains("told: \"agent `clerk` failed: the turn crashed\""), "{events}");
    assert!(events.ends_with("done:stop"), "{events}");
}
