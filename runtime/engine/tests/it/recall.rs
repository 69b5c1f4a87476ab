//! Semantic recall in turns.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use roster_engine::turn::{Limits, TurnEvent, TurnRequest, start};
use roster_model::feed::FeedStore;
use roster_model::id::{MessageId, ResourceId, ThreadKey};
use roster_model::message::{Message, MessageStatus, Part, Role, Seq};
use roster_model::recall::RecallStore;
use roster_model::storage::{ConversationStore, NewThread, StoreErrorKind};
use roster_model::time::Clock;
use roster_testkit::faulty::{Fault, FaultySession, When};
use serde_json::Value;

use crate::double::{World, all, key, text};

/// An agent with a window of two rows and this in its recall table.
fn clerk(recall: &str) -> String {
    format!(
        "id = \"clerk\"\ninstructions = \"x\"\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\n\
         last_messages = 2\n[memory.semantic_recall]\n{recall}\n"
    )
}

/// A turn whose answer is "ok <question>", and all that comes after it.
async fn say(world: &World, thread: &str, question: &str) -> String {
    world.model.say(text(&format!("ok {question}")));
    all(world.ask(thread, question)).await;
    world.settled().await;
    world.model.prompts().pop().unwrap()
}

async fn as_owner(world: &World, owner: &str, thread: &str, question: &str) -> String {
    let mut request = world.request("clerk", thread, &[(Role::User, question)]);
    request.key.resource = ResourceId::new(owner).unwrap();
    all(start(&world.services, request).unwrap()).await;
    world.settled().await;
    world.model.prompts().pop().unwrap()
}

const FACTS: [&str; 4] =
    ["the capital of France is Paris", "my cat is named Whiskers", "the sky is blue today", "I like chess games"];

#[tokio::test]
async fn a_hit_of_the_thread_comes_back_at_its_place_with_its_neighbours_and_once() {
    let world = World::new(&[&clerk(
        "top_k = 1\nscope = \"thread\"\nmessage_range = { before = 0, after = 1 }\nroles = [\"user\"]",
    )]);
    for fact in FACTS {
        say(&world, "t", fact).await;
    }
    let prompt = say(&world, "t", "what is my cat named?").await;
    let expected = "system: x | user: my cat is named Whiskers | assistant: ok my cat is named Whiskers \
                    | user: I like chess games | assistant: ok I like chess games | user: what is my cat named?";
    assert_eq!(prompt, expected);
    let prompt = say(&world, "t", "what chess games do I like?").await;
    assert_eq!(prompt.matches("I like chess games").count(), 2, "question and answer once each: {prompt}");
}

#[tokio::test]
async fn hits_of_other_threads_are_one_marked_block() {
    let world = World::new(&[&clerk("top_k = 2\nmessage_range = 1")]);
    say(&world, "a", "my cat is named Whiskers").await;
    world.clock.advance(Duration::from_secs(24 * 3600));
    say(&world, "b", "the locker word is ORCHID").await;
    let prompt = say(&world, "c", "what is the locker word?").await;
    let begin = prompt.find("=== BEGIN").unwrap();
    let block = &prompt[begin..prompt.find("=== END").unwrap()];
    assert!(block.contains("2030-01-02\n- 00:00 UTC, user: the locker word is ORCHID\n"), "{block}");
    assert!(block.contains("UTC, assistant: ok the locker word is ORCHID"), "{block}");
    assert_eq!(prompt.matches("=== BEGIN").count(), 1);
    assert!(prompt.ends_with("| user: what is the locker word?"), "{prompt}");
    assert!(prompt.starts_with("system: x | system: The lines"), "{prompt}");
}

/// TO-a6: a default owner is everybody's; owners who are named keep apart, and each finds their own.
#[tokio::test]
async fn recall_never_crosses_from_one_person_to_another() {
    let world = World::new(&[&clerk("top_k = 4")]);
    world.ask_unnamed("k1", "the locker word is ORCHID").await;
    world.settled().await;
    world.ask_unnamed("k2", "what is the locker word?").await;
    world.settled().await;
    assert!(!world.model.prompts()[1].contains("ORCHID"));
    as_owner(&world, "user:1", "u1", "the locker word is TULIP").await;
    assert!(!as_owner(&world, "user:2", "u2", "what is the locker word?").await.contains("TULIP"));
    let own = as_owner(&world, "user:1", "u3", "what is the locker word?").await;
    assert!(own.contains("TULIP") && !own.contains("ORCHID"), "{own}");
    // Unnamed again, in a thread that two owners have: the thread's own lines only.
    world.ask_unnamed("k1", "second").await;
    world.settled().await;
    world.ask_unnamed("k1", "third").await;
    world.settled().await;
    world.ask_unnamed("k1", "the locker word?").await;
    assert!(world.model.prompts().pop().unwrap().contains("ORCHID"), "found in its own thread");
}

#[tokio::test]
async fn a_failing_embedder_leaves_the_words_and_is_made_up_for() {
    let world = World::new(&[&clerk("top_k = 1\nmessage_range = 0")]);
    world.embedder.fails.store(true, Ordering::SeqCst);
    say(&world, "a", "the locker word is ORCHID").await;
    assert!(say(&world, "b", "which locker word?").await.contains("ORCHID"), "found by words");
    let shop = ResourceId::new("shop").unwrap();
    let vectors = |space: &'static str| {
        let (store, shop) = (Arc::clone(&world.store), shop.clone());
        async move { store.vectors(&shop, None, space, 0, 100).await.unwrap().0.len() }
    };
    assert_eq!(vectors("words-1/64").await, 0);
    world.embedder.fails.store(false, Ordering::SeqCst);
    say(&world, "c", "hello").await;
    assert_eq!(vectors("words-1/64").await, 6, "all messages of the owner have vectors now");
}

#[tokio::test]
async fn another_embedder_embeds_anew_and_spaces_never_mix() {
    let world = World::new(&[&clerk("top_k = 1")]);
    for fact in FACTS {
        say(&world, "a", fact).await;
    }
    world.load(&[&clerk("top_k = 1\nembedder = \"other\"")]);
    say(&world, "b", "hello").await;
    let shop = ResourceId::new("shop").unwrap();
    let store = &world.store;
    assert_eq!(store.vectors(&shop, None, "words-2/64", 0, 100).await.unwrap().0.len(), 10);
    assert_eq!(
        store.vectors(&shop, None, "words-1/64", 0, 100).await.unwrap().0.len(),
        8,
        "the old space is as it was"
    );
    assert!(store.unindexed(&shop, "words-2/64", 10).await.unwrap().is_empty());
    assert!(say(&world, "c", "is my cat named?").await.contains("Whiskers"));
}

#[tokio::test]
async fn the_question_is_embedded_once_and_the_turn_does_not_wait_for_the_index() {
    let world = World::new(&[&clerk("top_k = 1")]);
    say(&world, "a", "one question").await;
    let texts = world.embedder.texts.lock().unwrap().clone();
    assert_eq!(texts, ["one question", "ok one question"]);
    let gate = Arc::new(tokio::sync::Notify::new());
    world.embedder.gates.lock().unwrap().push(("late answer".to_owned(), gate.clone()));
    world.model.say(text("late answer"));
    let events = all(world.ask("a", "two")).await;
    assert!(matches!(events.last(), Some(TurnEvent::Finished { .. })), "the turn is over while its index waits");
    all(world.ask("b", "three")).await;
    gate.notify_one();
    world.settled().await;
    let shop = ResourceId::new("shop").unwrap();
    assert!(world.store.unindexed(&shop, "words-1/64", 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn recall_works_without_history_and_within_the_budget() {
    let world = World::new(&[&clerk("top_k = 1\nmessage_range = 0\nroles = [\"user\"]")
        .replace("last_messages = 2", "last_messages = false")]);
    say(&world, "t", "my cat is named Whiskers").await;
    let prompt = say(&world, "t", "is my cat named?").await;
    assert_eq!(prompt, "system: x | user: my cat is named Whiskers | user: is my cat named?");
    let world = World::new(&[&clerk("top_k = 1").replace("last_messages = 2", "last_messages = 0\nmax_tokens = 5")]);
    say(&world, "t", "my cat is named Whiskers").await;
    let prompt = say(&world, "t", "is my cat named?").await;
    assert_eq!(prompt, "system: x | user: is my cat named?");
}

#[tokio::test]
async fn role_age_and_threshold_filter() {
    let check = |recall: &'static str, found: bool| async move {
        let world = World::new(&[&clerk(&format!("top_k = 4\nmessage_range = 0\n{recall}"))]);
        world.model.say(text("noted"));
        all(world.ask("a", "the locker word is ORCHID")).await;
        world.settled().await;
        world.clock.advance(Duration::from_secs(3 * 24 * 3600));
        let prompt = say(&world, "b", "locker word").await;
        assert_eq!(prompt.contains("ORCHID"), found, "{recall}: {prompt}");
    };
    check("", true).await;
    check("roles = [\"assistant\"]", false).await;
    check("max_age = \"2d\"", false).await;
    check("max_age = \"4d\"", true).await;
    check("threshold = 0.99", false).await;
    check("threshold = 0.3", true).await;
}

#[tokio::test]
async fn an_unknown_embedder_is_a_problem_at_its_place_with_a_guess() {
    let world = World::new(&[&clerk("embedder = \"locla\"")]);
    let snapshot = world.registry.snapshot();
    let problem = &snapshot.entries[0].problems[0];
    assert_eq!((problem.code, problem.line), ("unknown_embedder", Some(8)));
    assert_eq!(problem.help.as_deref(), Some("did you mean `local`?"));
}

async fn record(world: &World, thread: &ThreadKey) -> Value {
    let records = world.store.feed(thread, None).await.unwrap();
    serde_json::from_str(&records.last().expect("a record").record).expect("JSON")
}

#[tokio::test]
async fn the_feed_record_says_what_was_fed_and_why() {
    let world = World::new(&[&clerk("top_k = 1\nmessage_range = 1")]);
    for fact in FACTS {
        say(&world, "t", fact).await;
    }
    say(&world, "t", "is my cat named?").await;
    let record = record(&world, &key("t")).await;
    let tiers: Vec<&str> = record["messages"].as_array().unwrap().iter().map(|m| m["tier"].as_str().unwrap()).collect();
    assert_eq!(tiers, ["recall", "recall", "recall", "window", "window", "input"], "{record:#}");
    let messages = &record["messages"];
    let hit = messages.as_array().unwrap().iter().find(|m| m["rank"] == 1).unwrap();
    assert_eq!(hit["found_by"], serde_json::json!(["meaning", "words"]));
    assert!(hit["cosine"].as_f64().unwrap() > 0.5 && hit["score"].as_f64().unwrap() > 0.03, "{hit}");
    assert_eq!((messages[0]["beside"].as_u64(), messages[3]["position"].as_u64()), (Some(1), Some(2)));
    assert_eq!(record["tokens"]["input"], 7);
    assert_eq!(
        (record["older"].as_u64(), record["agent"].as_str(), record["model"].as_str()),
        (Some(6), Some("clerk"), Some("stub/echo"))
    );
    assert_eq!(record["limits"]["recall"]["space"], "words-1/64");
    let fed: u64 = record["system"]
        .as_array()
        .unwrap()
        .iter()
        .chain(messages.as_array().unwrap())
        .map(|m| m["tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(record["tokens"]["estimated"].as_u64(), Some(fed));
}

#[tokio::test]
async fn a_turn_that_stores_nothing_indexes_nothing_and_leaves_no_record() {
    let world = World::new(&[&clerk("top_k = 1")]);
    let request = TurnRequest { stored: false, ..world.request("clerk", "t", &[(Role::User, "q")]) };
    all(start(&world.services, request).unwrap()).await;
    world.settled().await;
    assert_eq!(world.embedder.calls.load(Ordering::SeqCst), 0);
    assert!(world.store.feed(&key("t"), None).await.unwrap().is_empty());
}

/// What this process wrote is put on the shelf: an owner's vectors are read from the store once.
#[tokio::test]
async fn own_writes_are_found_and_a_deletion_is_noticed() {
    let world = World::new(&[&clerk("top_k = 1\nmessage_range = 0")]);
    say(&world, "a", "my cat is named Whiskers").await;
    assert!(say(&world, "b", "is my cat named?").await.contains("Whiskers"));
    say(&world, "c", "the locker word is ORCHID").await;
    assert!(say(&world, "d", "locker word ORCHID").await.contains("the locker word is ORCHID"));
    assert!(world.services.recall.cache.bytes() > 0);
    world.store.delete_thread(&key("c")).await.unwrap();
    world.store.delete_thread(&key("d")).await.unwrap();
    assert!(!say(&world, "e", "locker word ORCHID").await.contains("the locker word is"));
    assert!(world.store.around(&key("c"), Seq(1), 0, 1).await.unwrap().is_empty());
}

/// How many messages of the owner have a vector in the first embedder's space.
async fn vectors(world: &World) -> usize {
    let shop = ResourceId::new("shop").unwrap();
    world.store.vectors(&shop, None, "words-1/64", 0, 1_000).await.unwrap().0.len()
}

#[tokio::test(start_paused = true)]
async fn what_fails_for_a_moment_is_tried_again_in_order() {
    let world = World::new(&[&clerk("top_k = 1")]);
    say(&world, "a", "one").await;
    let gate = Arc::new(tokio::sync::Notify::new());
    world.embedder.gates.lock().unwrap().push(("ok two".to_owned(), gate.clone()));
    world.model.say(text("ok two"));
    all(world.ask("a", "two")).await;
    world.embedder.lost.store(1, Ordering::SeqCst);
    world.model.say(text("ok three"));
    all(world.ask("a", "three")).await;
    assert_eq!(vectors(&world).await, 2, "three waits behind two, and two for its gate");
    gate.notify_one();
    gate.notify_one();
    world.settled().await;
    assert_eq!(vectors(&world).await, 6);
}

#[tokio::test]
async fn a_text_too_long_for_the_embedder_is_cut_and_holds_up_nothing() {
    let world = World::new(&[&clerk("top_k = 1\nmessage_range = 0")]);
    world.embedder.longest.store(500, Ordering::SeqCst);
    world.model.say(text(&"locker ORCHID ".repeat(200)));
    all(world.ask("a", "tell me")).await;
    world.model.say(text(&"x".repeat(500 * 400)));
    all(world.ask("a", "more")).await;
    world.settled().await;
    assert_eq!(vectors(&world).await, 4);
    assert!(say(&world, "b", "locker ORCHID").await.contains("locker ORCHID locker"));
}

/// Rows that cannot be recalled get an entry as well: catching up comes to its end.
#[tokio::test]
async fn catching_up_ends_whatever_is_stored() {
    let world = World::new(&[&clerk("top_k = 1")]);
    world.store.create_thread(&key("old"), NewThread::default()).await.unwrap();
    let row = |n: u32, role, words: &str| Message {
        id: MessageId::new(format!("m{n}")).unwrap(),
        role,
        parts: vec![Part::text(words)],
        created_at: world.clock.now(),
        status: MessageStatus::Complete,
        origin: None,
        metadata: serde_json::Map::new(),
    };
    let mut rows: Vec<Message> = (0..40).map(|n| row(n, Role::User, &format!("line {n} about tulips"))).collect();
    rows.push(row(40, Role::System, "operator ORCHID"));
    rows.push(row(41, Role::User, ""));
    world.store.append(&key("old"), rows).await.unwrap();
    say(&world, "a", "hello").await;
    let shop = ResourceId::new("shop").unwrap();
    assert!(world.store.unindexed(&shop, "words-1/64", 10).await.unwrap().is_empty());
    assert_eq!(vectors(&world).await, 42);
    assert!(say(&world, "b", "tulips").await.contains("about tulips"));
    assert!(!say(&world, "c", "operator ORCHID").await.contains("operator ORCHID\n"));
}

/// An owner whose messages were all indexed gets more of them past any turn with recall: from an import, over REST, of
/// another process, or by an agent without recall. The next turn makes up for it.
#[tokio::test]
async fn what_came_past_recall_is_indexed_with_the_next_turn() {
    let plain = "id = \"plain\"\ninstructions = \"x\"\nmemory = \"create_memory\"\nresource = \"shop\"\n";
    let world = World::new(&[&clerk("top_k = 1\nmessage_range = { before = 0, after = 0 }"), plain]);
    say(&world, "a", "hello").await;
    world.store.create_thread(&key("saved"), NewThread::default()).await.unwrap();
    let row = |n: usize| Message {
        id: MessageId::new(format!("m{n}")).unwrap(),
        role: Role::User,
        parts: vec![Part::text(if n == 0 { "the locker word is ORCHID".to_owned() } else { format!("line {n}") })],
        created_at: world.clock.now(),
        status: MessageStatus::Complete,
        origin: None,
        metadata: serde_json::Map::new(),
    };
    world.store.append(&key("saved"), (0..40).map(row).collect()).await.unwrap();
    all(start(&world.services, world.request("plain", "b", &[(Role::User, "my dog is called TULIP")])).unwrap()).await;
    let shop = ResourceId::new("shop").unwrap();
    assert_eq!(world.store.unindexed(&shop, "words-1/64", 100).await.unwrap().len(), 42);
    say(&world, "c", "hello again").await;
    assert!(world.store.unindexed(&shop, "words-1/64", 100).await.unwrap().is_empty());
    assert!(say(&world, "d", "what is the locker word?").await.contains("the locker word is ORCHID"));
    assert!(say(&world, "e", "what is my dog called?").await.contains("my dog is called TULIP"));
}

#[tokio::test]
async fn the_feed_record_says_what_the_budget_left_out_and_which_memory_was_shown() {
    let file = "id = \"clerk\"\ninstructions = \"x\"\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\n\
                max_tokens = 12\n[memory.working_memory]\n";
    let world = World::new(&[file]);
    for question in ["a", "b", "c"] {
        all(world.ask("t", question)).await;
    }
    world.settled().await;
    let record = record(&world, &key("t")).await;
    let of = |list: &str| record[list].as_array().unwrap().iter().map(|m| m["seq"].as_u64()).collect::<Vec<_>>();
    assert_eq!(of("left_out"), [Some(1), Some(2)], "{record:#}");
    assert_eq!(of("messages"), [Some(3), Some(4), None]);
    assert_eq!((record["left_out"][0]["limit"].as_str(), record["older"].as_u64()), (Some("max_tokens"), Some(0)));
    assert_eq!(
        (record["system"][1]["part"].as_str(), record["system"][1]["version"].as_u64()),
        (Some("working_memory"), Some(0))
    );
}

/// Each call of the store fails once: what is derived (recall, index, feed, title) fails no turn, and nothing that was
/// acknowledged is lost.
#[tokio::test]
async fn a_store_that_fails_once_loses_no_acknowledged_turn() {
    let file = clerk("top_k = 2")
        .replace("[memory.semantic", "generate_title = true\n[memory.working_memory]\n[memory.semantic");
    let mut unharmed = 0;
    for nth in 0..40 {
        let fault = Fault { nth, when: When::Before, kind: StoreErrorKind::Internal };
        let world = World::on(&[&file], Limits::default(), |store| Arc::new(FaultySession::new(store, fault)));
        let mut finished = Vec::new();
        for question in ["one word", "two words", "three words", "four words"] {
            let events = all(world.ask("t", question)).await;
            world.settled().await;
            match events.last() {
                Some(TurnEvent::Finished { .. }) => finished.push(question),
                other => assert!(matches!(other, Some(TurnEvent::Failed(_))), "{other:?}"),
            }
        }
        assert!(finished.len() >= 3, "one call fails, so at most one turn: {finished:?}");
        unharmed += usize::from(finished.len() == 4);
        let rows = world.rows("t").await;
        let asked = |question: &&str| rows.contains(&format!("user: {question}"));
        assert!(finished.iter().all(asked), "{nth}: {rows:?}");
        assert_eq!(rows.iter().filter(|row| *row == "assistant: ok").count(), finished.len(), "{nth}: {rows:?}");
    }
    assert!(unharmed > 15, "most calls are for what is derived: {unharmed}");
}
