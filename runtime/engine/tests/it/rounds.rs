//! TO-a7 over and over: turns of one thread that come at once, some of whose clients leave.

use roster_engine::turn::TurnEvent;
use roster_model::message::{MessageStatus, Part, Role};
use roster_model::storage::ConversationStore;

use crate::double::{CLERK, World, all, calls, key, text};

/// A round: a turn that calls a tool, two more behind it before it ends, and one whose client leaves in mid-answer.
async fn round(world: &World, thread: &str, number: usize) {
    let ask = |words: &str| world.ask(thread, &format!("{words} {number}"));
    let (first, second) = (ask("call"), ask("second"));
    let mut leaving = ask("leave");
    while !matches!(leaving.next().await, Some(TurnEvent::Text(_)) | None) {}
    drop(leaving);
    let fourth = ask("fourth");
    for turn in [first, second, fourth] {
        let events = all(turn).await;
        assert!(matches!(events.last(), Some(TurnEvent::Finished { .. })), "{events:?}");
    }
}

#[tokio::test]
async fn a_hundred_rounds_in_ten_threads_are_stored_turn_by_turn() {
    let world = World::new(&[CLERK]);
    world.model.always(|completion| {
        let prompt = format!("{:?}", completion.messages.last());
        if prompt.contains("call ") { calls(&[("c", "pay", "{\"amount\":1}")]) } else { text("ok") }
    });
    let threads: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let rounds = threads.iter().map(async |thread| {
        for number in 0..10 {
            round(&world, thread, number).await;
        }
    });
    futures_util::future::join_all(rounds).await;
    world.settled().await;
    for thread in &threads {
        let rows = world.store.tail(&key(thread), 1_000, None).await.unwrap();
        assert!(rows.len() >= 70, "{}", rows.len());
        for pair in rows.chunk_by(|a, b| a.turn == b.turn) {
            let roles: Vec<Role> = pair.iter().map(|row| row.message.role).collect();
            assert!(matches!(roles[..], [Role::User] | [Role::User, Role::Assistant]), "{roles:?}");
            let Some(answer) = pair.get(1).map(|row| &row.message) else { continue };
            let count = |is: fn(&Part) -> bool| answer.parts.iter().filter(|part| is(part)).count();
            let (called, told) =
                (count(|part| matches!(part, Part::ToolCall(_))), count(|part| matches!(part, Part::ToolResult(_))));
            assert!(called == told || answer.status == MessageStatus::Interrupted, "{answer:?}");
        }
        let turns = rows.chunk_by(|a, b| a.turn == b.turn).count();
        let distinct: std::collections::BTreeSet<_> = rows.iter().map(|row| &row.turn).collect();
        assert_eq!(turns, distinct.len(), "no turn stands in two places");
    }
}
