//! Random histories with random cuts, broken providers, dead processes and turns at once: whatever happened before, no
//! provider of any dialect refuses what it is sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use roster_engine::memory::transcript::rules::{self, Dialect};
use roster_engine::turn::{TurnEvent, start};
use roster_model::id::MessageId;
use roster_model::message::{FileData, Message, MessageStatus, Part, Role, ToolCall, ToolResult};
use roster_model::provider::{Completion, Delta, ProviderError, ProviderErrorKind, StopReason};
use roster_model::storage::{ConversationStore, NewThread, StoreErrorKind};
use roster_model::time::Timestamp;
use serde_json::{Map, json};
use tokio::sync::Notify;

use crate::double::{Say, World, end, key};

/// A quarter of ten thousand histories, and how many of them share a store.
const QUARTER: u64 = 2_500;
const TOGETHER: u64 = 100;
/// Threads that go on at once.
const AT_ONCE: u64 = 10;

/// Agents with windows that cut between any two rows, by count and by tokens; the last one recalls and keeps notes.
const AGENTS: [&str; 3] = [
    "id = \"narrow\"\ninstructions = \"x\"\ntools = [\"pay\"]\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\nlast_messages = 3\n",
    "id = \"few\"\ninstructions = \"x\"\ntools = [\"pay\"]\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\nmax_tokens = 60\n",
    "id = \"rich\"\ninstructions = \"x\"\ntools = [\"pay\"]\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\nlast_messages = 2\n[memory.semantic_recall]\nscope = \"thread\"\nmessage_range = { before = 1, after = 0 }\n[memory.working_memory]\nscope = \"thread\"\n",
];

/// A small generator, so that a failure names a history that can be run again.
struct Dice(u64);

impl Dice {
    fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Below `sides`.
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let at = self.roll(of.len() as u64);
        of[usize::try_from(at).expect("small")]
    }
}

const WORDS: [&str; 6] = ["hello", "", " ", "漢字", "tea?", "\n"];
const IDS: [&str; 6] = ["1", "2", "call_1", "a.b/c", "", "漢"];

fn any_part(dice: &mut Dice) -> Part {
    let (id, words) = (dice.one(&IDS).to_owned(), dice.one(&WORDS));
    match dice.roll(8) {
        0 | 1 => Part::text(words),
        2 | 3 => Part::ToolCall(ToolCall { id, name: "pay".into(), arguments: Map::new(), malformed: None }),
        4 | 5 => Part::ToolResult(ToolResult {
            call_id: id,
            name: "pay".into(),
            output: json!({"paid": 1}),
            is_error: dice.roll(4) == 0,
            duration_ms: 1,
        }),
        6 => Part::Error { code: "c".into(), message: "m".into() },
        _ => Part::File { media_type: "image/png".into(), data: FileData::Base64("aGk=".into()), name: None },
    }
}

/// A row as an import, a client of the REST or a process that died leaves one behind.
fn any_row(dice: &mut Dice, number: u64) -> Message {
    let role =
        [Role::User, Role::Assistant, Role::Assistant, Role::System][usize::try_from(dice.roll(4)).expect("small")];
    let status = [MessageStatus::Complete, MessageStatus::Interrupted, MessageStatus::Failed, MessageStatus::Running];
    Message {
        id: MessageId::new(format!("row-{number}")).expect("legal"),
        role,
        parts: (0..dice.roll(6)).map(|_| any_part(dice)).collect(),
        created_at: Timestamp::from_millis(0),
        status: status[usize::try_from(dice.roll(4)).expect("small")],
        origin: None,
        metadata: Map::new(),
    }
}

/// What the model does: words, calls with ids of its own, nothing at all, or it breaks off anywhere.
fn any_answer(dice: &mut Dice) -> Vec<Say> {
    let mut said = Vec::new();
    if dice.roll(2) == 0 {
        said.push(Say::Delta(Delta::Text(dice.one(&WORDS).into())));
    }
    let calls = if dice.roll(3) == 0 { 1 + dice.roll(3) } else { 0 };
    for index in 0..usize::try_from(calls).expect("small") {
        let id = Some(dice.one(&IDS)).filter(|id| !id.is_empty()).map(str::to_owned);
        let name = dice.one(&["pay", "pay", "pay", "no_such_tool"]).into();
        said.push(Say::Delta(Delta::ToolCall { index, id, name }));
        let fragment = dice.one(&["{\"amount\":1}", "{\"amount\":2}", "{}", "{\"amount\"", "7"]).into();
        said.push(Say::Delta(Delta::ToolArguments { index, fragment }));
    }
    if dice.roll(6) == 0 {
        // It says nothing more until the client leaves.
        said.push(Say::Wait(Arc::new(Notify::new())));
    }
    said.push(end(if calls > 0 { StopReason::ToolCalls } else { StopReason::Stop }));
    if dice.roll(5) == 0 {
        said.truncate(usize::try_from(dice.roll(said.len() as u64)).expect("small"));
        said.push(Say::Fail(ProviderError::new(ProviderErrorKind::Truncated, "it broke off")));
    }
    said
}

/// One turn; the client may leave after any event, and does when nothing comes any more.
async fn turn(world: &World, thread: &str, mut dice: Dice) {
    let agent = dice.one(&["narrow", "few", "rich"]);
    let question = dice.one(&["hello", "go on", "tea?"]);
    let request = world.request(agent, thread, &[(Role::User, question)]);
    let stay = if dice.roll(3) == 0 { dice.roll(6) } else { u64::MAX };
    let mut turn = start(&world.services, request).expect("accepted");
    let mut seen = 0;
    while seen < stay {
        let event = tokio::select! {
            biased;
            event = turn.next() => event,
            () = patience() => None,
        };
        match event {
            Some(TurnEvent::Failed(failure)) => assert_ne!(failure.code, "internal", "{thread}: {failure:?}"),
            Some(_) => seen += 1,
            None => break,
        }
    }
}

/// Everything that can go on goes on meanwhile.
async fn patience() {
    for _ in 0..80 {
        tokio::task::yield_now().await;
    }
}

async fn history(world: &World, number: u64) {
    let (thread, mut dice) = (format!("h{number}"), Dice::of(number + 1));
    if dice.roll(2) == 0 {
        world.store.create_thread(&key(&thread), NewThread::default()).await.expect("made");
        let rows: Vec<Message> = (0..dice.roll(6)).map(|row| any_row(&mut dice, row)).collect();
        world.store.append(&key(&thread), rows).await.expect("stored");
    }
    for round in 0..1 + dice.roll(3) {
        // Up to three at once, which come one after the other, whoever leaves.
        let at_once = if dice.roll(3) == 0 { 1 + dice.roll(3) } else { 1 };
        let seeds: Vec<u64> = (0..at_once).map(|turn| number * 1_000 + round * 10 + turn + 7).collect();
        join_all(seeds.into_iter().map(|seed| turn(world, &thread, Dice::of(seed)))).await;
        if dice.roll(4) == 0 {
            let row = any_row(&mut dice, 100 + round);
            match world.store.append(&key(&thread), vec![row]).await {
                Ok(_) => {}
                // Everybody left before their question was stored.
                Err(error) => assert_eq!(error.kind, StoreErrorKind::NotFound),
            }
        }
    }
    // Whatever it went through, the thread works.
    turn(world, &thread, dice).await;
}

/// Histories that share a store; each in a thread of its own.
async fn some(first: u64, many: u64) -> u64 {
    let world = World::new(&AGENTS);
    // This amount is never paid: the process dies, or the client leaves, while the tool is at work.
    world.gates.lock().unwrap().insert(2, Arc::new(Notify::new()));
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = Arc::new(AtomicU64::new(0));
    let (seen, count) = (Arc::clone(&faults), Arc::clone(&asked));
    world.model.always(move |completion: &Completion| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        for dialect in Dialect::ALL {
            if let Err(fault) = rules::check(dialect, &completion.messages) {
                seen.lock().unwrap().push(format!("{dialect:?}: {fault}: {:?}", completion.messages));
            }
        }
        any_answer(&mut Dice::of(first + number))
    });
    for at in (first..first + many).step_by(usize::try_from(AT_ONCE).expect("small")) {
        join_all((at..at + AT_ONCE).map(|number| history(&world, number))).await;
        let faults = faults.lock().unwrap();
        assert!(faults.is_empty(), "histories from {at} on: {}", faults[0]);
    }
    world.settled().await;
    assert!(world.model.cut.load(Ordering::SeqCst) > 0, "clients leave in the middle of answers");
    asked.load(Ordering::SeqCst)
}

/// A quarter of them: tests run beside one another.
async fn quarter(number: u64) {
    let mut asked = 0;
    for first in (number * QUARTER..(number + 1) * QUARTER).step_by(usize::try_from(TOGETHER).expect("small")) {
        asked += some(first, TOGETHER).await;
    }
    assert!(asked > 2 * QUARTER, "the model was asked {asked} times");
}

#[tokio::test]
async fn ten_thousand_random_histories_are_refused_by_no_dialect_first_quarter() {
    quarter(0).await;
}

#[tokio::test]
async fn ten_thousand_random_histories_are_refused_by_no_dialect_second_quarter() {
    quarter(1).await;
}

#[tokio::test]
async fn ten_thousand_random_histories_are_refused_by_no_dialect_third_quarter() {
    quarter(2).await;
}

#[tokio::test]
async fn ten_thousand_random_histories_are_refused_by_no_dialect_fourth_quarter() {
    quarter(3).await;
}
