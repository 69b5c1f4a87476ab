//! From files to what is served.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use roster_engine::registry::AgentState;
use roster_model::id::AgentId;

use crate::double::{CLERK, World};

pub fn id(text: &str) -> AgentId {
    AgentId::new(text).unwrap()
}

pub fn problems(world: &World, agent: &str) -> Vec<String> {
    world.registry.snapshot().entry(&id(agent)).unwrap().problems.iter().map(ToString::to_string).collect()
}

const PLAIN: &str = "id = \"plain\"\ninstructions = \"x\"\n";

#[tokio::test]
async fn the_factory_is_called_once() {
    let world = World::new(&[CLERK, PLAIN]);
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 1);
    let before = world.registry.snapshot();
    world.load(&[CLERK, PLAIN]);
    let after = world.registry.snapshot();
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 1);
    assert!(Arc::ptr_eq(before.agent(&id("clerk")).unwrap(), after.agent(&id("clerk")).unwrap()), "the same `Arc`");
    assert_eq!((before.generation, after.generation), (1, 2));
}

#[tokio::test]
async fn a_change_beside_the_memory_keeps_the_memory() {
    let world = World::new(&[CLERK]);
    world.load(&[&CLERK.replace("brief", "long")]);
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 1);
    let agent = world.registry.snapshot().agent(&id("clerk")).unwrap().clone();
    assert_eq!((agent.definition.instructions.as_str(), agent.generation), ("Be long.", 2));
    world.load(&[&CLERK.replace("shop", "other")]);
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 2, "another resource is another registration");
}

#[tokio::test]
async fn a_bad_file_never_removes_a_good_agent() {
    let world = World::new(&[CLERK, PLAIN]);
    world.load(&["id = \"clerk\"\ninstructions = 5\n", PLAIN]);
    let snapshot = world.registry.snapshot();
    let entry = snapshot.entry(&id("clerk")).unwrap();
    assert_eq!(entry.state, AgentState::ServingLastGood);
    assert_eq!(entry.agent.as_ref().unwrap().definition.instructions, "Be brief.");
    assert!(
        problems(&world, "clerk")[0].starts_with("agents/x.toml:2:16: error[wrong_type]"),
        "{entry:?}",
        entry = entry.problems
    );
    world.load(&[CLERK, PLAIN]);
    assert_eq!(world.registry.snapshot().entry(&id("clerk")).unwrap().state, AgentState::Serving);
}

#[tokio::test]
async fn a_bad_file_from_the_start_is_rejected_alone() {
    let world = World::new(&["id = \"clerk\"\n", PLAIN]);
    let snapshot = world.registry.snapshot();
    assert_eq!(snapshot.entry(&id("clerk")).unwrap().state, AgentState::Rejected);
    assert!(snapshot.agent(&id("clerk")).is_none());
    assert!(snapshot.agent(&id("plain")).is_some());
}

#[tokio::test]
async fn names_that_stand_for_nothing_are_problems_at_their_place() {
    let bad = "id = \"clerk\"\ninstructions = \"x\"\nmodel = \"nobody/x\"\nmemory = \"creat_memory\"\ntools = [\"pya\", \"p:t\", \"mcp:s/t\"]\nagents = [\"plane\"]\n";
    let world = World::new(&[bad, PLAIN]);
    let found = problems(&world, "clerk").join("\n");
    for expected in [
        "agents/x.toml:3:9: error[unknown_provider]",
        "agents/x.toml:4:10: error[unknown_factory]: unknown memory factory `creat_memory`",
        "agents/x.toml:5:10: error[unknown_tool]: unknown tool `pya`",
        "agents/x.toml:5:17: error[unknown_plugin]",
        "agents/x.toml:5:24: error[unknown_server]",
        "agents/x.toml:6:11: error[unknown_agent]",
    ] {
        assert!(found.contains(expected), "{expected} in\n{found}");
    }
    assert_eq!(world.factory.calls.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_failing_factory_is_a_problem_naming_the_agent() {
    let world = World::new(&[PLAIN]);
    *world.factory.fails.lock().unwrap() = true;
    world.load(&[CLERK, PLAIN]);
    let found = problems(&world, "clerk").join("\n");
    assert!(found.contains("the memory factory of agent `clerk` failed: no room"), "{found}");
    assert_eq!(world.registry.snapshot().entry(&id("clerk")).unwrap().state, AgentState::Rejected);
}

#[tokio::test]
async fn a_factory_that_failed_is_called_again_only_for_something_else() {
    let mut world = World::new(&[PLAIN]);
    let calls = |world: &World| world.factory.calls.load(Ordering::SeqCst);
    *world.factory.fails.lock().unwrap() = true;
    world.load(&[CLERK, PLAIN]);
    let found = problems(&world, "clerk");
    assert_eq!(calls(&world), 1);
    for _ in 0..2 {
        world.load(&[CLERK, &format!("{PLAIN}max_steps = 2\n")]);
        assert_eq!((calls(&world), problems(&world, "clerk")), (1, found.clone()), "another agent changed");
    }
    world.load(&[&CLERK.replace("brief", "long"), PLAIN]);
    assert_eq!(calls(&world), 2, "the definition changed");
    world.catalog.revision += 1;
    world.load(&[&CLERK.replace("brief", "long"), PLAIN]);
    assert_eq!(calls(&world), 3, "the catalog changed");
    *world.factory.fails.lock().unwrap() = false;
    world.load(&[CLERK, PLAIN]);
    assert_eq!((calls(&world), problems(&world, "clerk")), (4, Vec::new()));
    assert_eq!(world.registry.snapshot().entry(&id("clerk")).unwrap().state, AgentState::Serving);
}

#[tokio::test]
async fn disabled_and_removed_agents_leave_service() {
    let world = World::new(&[CLERK, PLAIN]);
    world.load(&[&format!("{CLERK}enabled = false\n")]);
    let snapshot = world.registry.snapshot();
    assert_eq!(snapshot.entry(&id("clerk")).unwrap().state, AgentState::Disabled);
    assert!(snapshot.agent(&id("clerk")).is_none());
    assert!(snapshot.entry(&id("plain")).is_none());
}

#[tokio::test]
async fn a_disabled_agent_stays_out_of_service_when_its_file_breaks() {
    let world = World::new(&[CLERK]);
    world.load(&[&format!("{CLERK}enabled = false\n")]);
    world.load(&[&format!("{CLERK}enabled = false\nno_such_key = 1\n")]);
    let snapshot = world.registry.snapshot();
    assert_eq!(snapshot.entry(&id("clerk")).unwrap().state, AgentState::Disabled);
    assert_eq!(problems(&world, "clerk").len(), 1, "and the problem is listed");
    world.load(&[CLERK]);
    assert_eq!(world.registry.snapshot().entry(&id("clerk")).unwrap().state, AgentState::Serving);
}

#[tokio::test]
async fn cycles_are_shown_and_served() {
    let world = World::new(&[
        "id = \"a\"\ninstructions = \"x\"\nagents = [\"b\"]\n",
        "id = \"b\"\ninstructions = \"x\"\nagents = [\"a\"]\n",
    ]);
    assert!(problems(&world, "a")[0].contains("warning[agent_cycle]"), "{:?}", problems(&world, "a"));
    assert_eq!(world.registry.snapshot().serving().count(), 2);
}

#[tokio::test]
async fn a_sub_agents_new_description_reaches_its_callers() {
    let boss = "id = \"boss\"\ninstructions = \"x\"\nagents = [\"plain\"]\n";
    let world = World::new(&[boss, PLAIN]);
    world.load(&[boss, &format!("{PLAIN}description = \"Counts beans.\"\n")]);
    let snapshot = world.registry.snapshot();
    let offered = snapshot.agent(&id("boss")).unwrap().tools.offered();
    assert!(offered[0].description.contains("Counts beans."), "{}", offered[0].description);
}
