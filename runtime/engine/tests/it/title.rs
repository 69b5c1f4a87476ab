//! Naming threads.

use std::sync::Arc;

use roster_engine::turn::TurnEvent;
use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason};
use roster_model::storage::{ConversationStore, ThreadChange};
use tokio::sync::Notify;

use crate::double::{Say, World, all, end, key, names, text};

const NAMED: &str = "id = \"clerk\"\ninstructions = \"Be brief.\"\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\ngenerate_title = true\n";

async fn title(world: &World) -> String {
    world.store.thread(&key("t")).await.unwrap().unwrap().title
}

#[tokio::test]
async fn the_first_turn_names_the_thread_with_one_call_of_its_own() {
    let world = World::new(&[NAMED]);
    world.model.say(text("Otters!"));
    world.model.say(text("\"About otters\""));
    all(world.ask("t", "tell me about otters")).await;
    world.settled().await;
    assert_eq!(title(&world).await, "About otters");
    all(world.ask("t", "more")).await;
    world.settled().await;
    let prompts = world.model.prompts();
    assert_eq!(prompts.len(), 3, "the second turn names nothing: {prompts:?}");
    assert!(prompts[1].ends_with("| user: User: tell me about otters\nAssistant: Otters!"), "{}", prompts[1]);
    assert!(!prompts[1].contains("Be brief"), "{}", prompts[1]);
}

/// TO-a4: what a person sets while the answer or the title is under way stays.
#[tokio::test]
async fn a_title_set_meanwhile_is_never_overwritten() {
    let world = World::new(&[NAMED]);
    let gate = Arc::new(Notify::new());
    world.model.say(text("Otters!"));
    world.model.say(vec![Say::Wait(gate.clone()), Say::Delta(Delta::Text("Auto title".into())), end(StopReason::Stop)]);
    let events = all(world.ask("t", "q")).await;
    assert!(matches!(events.last(), Some(TurnEvent::Finished { .. })), "the turn does not wait for its title");
    let metadata = serde_json::json!({"desk": "B"}).as_object().cloned();
    let change = ThreadChange { title: Some("Invoice 4".into()), metadata: metadata.clone() };
    world.store.update_thread(&key("t"), change).await.unwrap();
    gate.notify_one();
    world.settled().await;
    let thread = world.store.thread(&key("t")).await.unwrap().unwrap();
    assert_eq!((thread.title.as_str(), thread.metadata), ("Invoice 4", metadata));
}

#[tokio::test]
async fn a_thread_that_has_a_title_costs_no_call() {
    let world = World::new(&[NAMED]);
    let new = roster_model::storage::NewThread { title: "Mine".into(), ..Default::default() };
    world.store.create_thread(&key("t"), new).await.unwrap();
    all(world.ask("t", "q")).await;
    world.settled().await;
    assert_eq!((title(&world).await.as_str(), world.model.prompts().len()), ("Mine", 1));
}

#[tokio::test]
async fn a_failure_of_the_title_fails_nothing() {
    let world = World::new(&[NAMED]);
    world.model.say(text("a"));
    world.model.say(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Server, "down"))]);
    assert_eq!(names(&all(world.ask("t", "q")).await), "started text:a step done:stop");
    world.settled().await;
    assert_eq!(title(&world).await, "");
    all(world.ask("t", "q")).await;
}

#[tokio::test]
async fn a_failed_turn_and_an_agent_without_the_wish_name_nothing() {
    let world = World::new(&[NAMED, &NAMED.replace("clerk", "plain").replace("generate_title = true", "")]);
    world.model.say(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Server, "down"))]);
    all(world.ask("t", "q")).await;
    world.settled().await;
    assert_eq!(title(&world).await, "");
    assert_eq!(world.model.prompts().len(), 1);
}
