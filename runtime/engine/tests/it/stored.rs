//! What of a turn is fed within a budget, and what a failure says is stored.

use std::sync::Arc;

use roster_engine::turn::{TurnEvent, start};
use roster_model::message::Role;
use roster_model::provider::{Delta, ProviderError, ProviderErrorKind};
use tokio::sync::Notify;

use crate::double::{CLERK, Say, World, all};

fn piece(words: &str) -> Say {
    Say::Delta(Delta::Text(words.into()))
}

#[tokio::test]
async fn a_seed_keeps_to_the_budget_of_tokens() {
    let world = World::new(&[
        "id = \"clerk\"\ninstructions = \"x\"\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\nmax_tokens = 12\n",
    ]);
    let list =
        [(Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c"), (Role::Assistant, "d"), (Role::User, "e")];
    all(start(&world.services, world.request("clerk", "t", &list)).unwrap()).await;
    assert_eq!(world.model.prompts(), ["system: x | user: c | assistant: d | user: e"], "5 tokens each");
    assert_eq!(world.rows("t").await.len(), 6);
}

#[tokio::test]
async fn a_failure_says_what_is_stored() {
    let world = World::new(&[CLERK]);
    let failure = |events: Vec<TurnEvent>| match events.into_iter().next_back() {
        Some(TurnEvent::Failed(failure)) => (failure.row.is_some(), failure.question_stored),
        _ => panic!("the turn failed"),
    };
    let broken = || Say::Fail(ProviderError::new(ProviderErrorKind::Truncated, "the answer broke off"));
    world.model.say(vec![piece("Hel"), broken()]);
    assert_eq!(failure(all(world.ask("t", "hi")).await), (true, true));
    let mut request = world.request("clerk", "t", &[(Role::User, "a")]);
    request.stored = false;
    world.model.say(vec![piece("Hel"), broken()]);
    assert_eq!(failure(all(start(&world.services, request).unwrap()).await), (false, false));
    world.model.say(vec![Say::Wait(Arc::new(Notify::new()))]);
    let turn = world.ask("t", "hi");
    let ended = all(turn);
    tokio::pin!(ended);
    assert!(futures_util::poll!(&mut ended).is_pending());
    world.services.stop.cancel();
    assert_eq!(failure(ended.await), (false, true), "interrupted before its first word: no row");
}
