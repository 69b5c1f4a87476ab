//! Working memory in turns.

use std::sync::Arc;

use roster_engine::turn::{TurnRequest, start};
use roster_model::id::ResourceId;
use roster_model::message::Role;
use roster_model::working::{MemoryScope, WorkingMemoryStore};
use serde_json::{Value, json};

use crate::double::{Say, World, all, calls, key, names, text};

const SCHEMA: &str = "id = \"clerk\"\ninstructions = \"x\"\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\n\
    [memory.working_memory]\nschema = { properties = { name = { type = \"string\" }, city = { type = \"string\" }, pets = { type = \"array\", items = { type = \"string\" } } } }\n";
const TEMPLATE: &str = "id = \"clerk\"\ninstructions = \"x\"\nresource = \"shop\"\n[memory]\nfactory = \"create_memory\"\n\
    [memory.working_memory]\ntemplate = \"# User\\n- Name:\\n\"\n";

fn shop() -> MemoryScope {
    MemoryScope::Resource(ResourceId::new("shop").unwrap())
}

fn writes(id: &str, memory: &Value) -> Vec<Say> {
    calls(&[(id, "update_working_memory", &json!({"memory": memory}).to_string())])
}

async fn stored(world: &World) -> Option<String> {
    world.store.working_memory(&shop()).await.unwrap().map(|memory| memory.text)
}

/// One turn in which the model writes `memory`, then says "ok".
async fn update(world: &World, thread: &str, memory: Value) -> String {
    world.model.say(writes("call_0000000000000001", &memory));
    names(&all(world.ask(thread, "q")).await)
}

#[tokio::test]
async fn an_update_is_kept_shown_at_the_next_turn_and_not_stored_in_the_message() {
    let world = World::new(&[SCHEMA]);
    let events = update(&world, "t", json!({"name": "Bob"})).await;
    assert!(events.contains("finished:{\"success\":true} "), "{events}");
    assert_eq!(stored(&world).await.as_deref(), Some(r#"{"name":"Bob"}"#));
    assert_eq!(world.rows("t").await, ["user: q", "assistant: ok"]);
    all(world.ask("other", "who am I?")).await;
    let prompts = world.model.prompts();
    assert!(prompts[0].contains("Nothing stands in it yet"), "{}", prompts[0]);
    assert!(
        prompts[1].contains("update_working_memory:call_0000000000000001"),
        "the model sees its own call: {}",
        prompts[1]
    );
    assert!(prompts[2].contains("<working_memory>\n{\"name\":\"Bob\"}\n</working_memory>"), "{}", prompts[2]);
    assert!(!prompts[2].contains("call_"), "{}", prompts[2]);
}

/// TO-a5: each update of the list, and what is there after it.
#[tokio::test]
async fn small_updates_do_not_wipe_the_rest() {
    let world = World::new(&[SCHEMA]);
    let steps = [
        (json!({"name": "N1", "city": "Oslo", "pets": ["Mio"]}), r#"{"name":"N1","city":"Oslo","pets":["Mio"]}"#),
        (json!({"city": "Bergen"}), r#"{"name":"N1","city":"Bergen","pets":["Mio"]}"#),
        (json!({}), r#"{"name":"N1","city":"Bergen","pets":["Mio"]}"#),
        (json!({"pets": []}), r#"{"name":"N1","city":"Bergen","pets":[]}"#),
        (json!({"pets": null}), r#"{"name":"N1","city":"Bergen"}"#),
    ];
    for (memory, expected) in steps {
        update(&world, "t", memory.clone()).await;
        assert_eq!(stored(&world).await.as_deref(), Some(expected), "after {memory}");
    }
    let events = update(&world, "t", json!("")).await;
    assert!(events.contains('!'), "an empty text is told as a fault: {events}");
    assert_eq!(stored(&world).await.as_deref(), Some(r#"{"name":"N1","city":"Bergen"}"#));
}

#[tokio::test]
async fn the_template_alone_wipes_nothing_and_the_model_is_told() {
    let world = World::new(&[TEMPLATE]);
    update(&world, "t", json!("# User\n- Name: Bob")).await;
    for nothing in ["", "# User\n- Name:\n", "\n\n"] {
        let events = update(&world, "t", json!(nothing)).await;
        assert!(events.contains("nothing was changed\"!"), "{events}");
        assert_eq!(stored(&world).await.as_deref(), Some("# User\n- Name: Bob"));
    }
}

/// TO-a5: two turns in two threads of one owner, both calls at the same moment, 50 rounds.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_updates_of_two_threads_are_both_kept() {
    for _ in 0..50 {
        let world = World::new(&[SCHEMA]);
        let gates = [(); 2].map(|()| Arc::new(tokio::sync::Notify::new()));
        for (gate, memory) in gates.iter().zip([json!({"city": "Bergen"}), json!({"pets": ["Mio"]})]) {
            let mut said = writes("", &memory);
            said.insert(0, Say::Wait(Arc::clone(gate)));
            world.model.say(said);
        }
        let turns = [world.ask("a", "q"), world.ask("b", "q")];
        gates.iter().for_each(|gate| gate.notify_one());
        for turn in turns {
            all(turn).await;
        }
        let memory: Value = serde_json::from_str(&stored(&world).await.unwrap()).unwrap();
        assert_eq!(memory, json!({"city": "Bergen", "pets": ["Mio"]}));
    }
}

/// A whole text must be written by someone who knew the text it replaces.
#[tokio::test]
async fn a_text_written_meanwhile_is_told_and_not_replaced() {
    let world = World::new(&[TEMPLATE]);
    let gate = Arc::new(tokio::sync::Notify::new());
    let mut said = writes("", &json!("# User\n- Name: Ann"));
    said.insert(0, Say::Wait(Arc::clone(&gate)));
    world.model.say(said);
    let mut turn = world.ask("a", "q");
    turn.next().await;
    world.store.set_working_memory(&shop(), Some("# User\n- Name: Bob".into()), 0).await.unwrap();
    world.model.say(writes("", &json!("# User\n- Name: Bob and Ann")));
    gate.notify_one();
    let events = names(&all(turn).await);
    assert!(events.contains("changed from another conversation") && events.contains("Name: Bob"), "{events}");
    assert_eq!(stored(&world).await.as_deref(), Some("# User\n- Name: Bob and Ann"), "now it knew");
}

#[tokio::test]
async fn too_much_is_refused_and_the_model_is_told_the_limit() {
    let world = World::new(&[SCHEMA]);
    update(&world, "t", json!({"name": "Bob"})).await;
    let events = update(&world, "t", json!({"city": "x".repeat(17 * 1024)})).await;
    assert!(events.contains("at most 16384 are kept"), "{events}");
    assert_eq!(stored(&world).await.as_deref(), Some(r#"{"name":"Bob"}"#));
}

#[tokio::test]
async fn a_reader_is_offered_no_tool_and_a_turn_that_stores_nothing_neither() {
    let world = World::new(&[&format!("{SCHEMA}read_only = true\n")]);
    all(world.ask("t", "q")).await;
    assert!(world.model.asked.lock().unwrap()[0].tools.is_empty());
    let world = World::new(&[SCHEMA]);
    let request = TurnRequest { stored: false, ..world.request("clerk", "t", &[(Role::User, "q")]) };
    all(start(&world.services, request).unwrap()).await;
    all(world.ask("t", "q")).await;
    let asked = world.model.asked.lock().unwrap();
    assert!(asked[0].tools.is_empty() && asked[0].messages.len() == 2, "{:?}", asked[0].messages);
    assert_eq!(asked[1].tools[0].name, "update_working_memory");
}

#[tokio::test]
async fn nobody_named_keeps_its_memory_in_the_thread() {
    let world = World::new(&[SCHEMA]);
    world.model.say(writes("", &json!({"name": "Bob"})));
    world.ask_unnamed("a", "q").await;
    world.ask_unnamed("b", "q").await;
    world.ask_unnamed("a", "q").await;
    assert_eq!(stored(&world).await, None);
    assert!(world.store.working_memory(&MemoryScope::Thread(key("a"))).await.unwrap().is_some());
    let prompts = world.model.prompts();
    let of = |at: usize| prompts[at].contains("Bob");
    assert!(!of(2) && of(3), "{prompts:?}");
}

#[tokio::test]
async fn words_round_a_call_stay_apart() {
    let world = World::new(&[SCHEMA]);
    let mut said = vec![Say::Delta(roster_model::provider::Delta::Text("I note that.".into()))];
    said.extend(writes("", &json!({"name": "Bob"})));
    world.model.say(said);
    world.model.say(text("Done."));
    all(world.ask("t", "q")).await;
    assert_eq!(world.rows("t").await, ["user: q", "assistant: I note that.\n\nDone."]);
}

#[tokio::test]
async fn a_schema_that_is_none_is_a_problem_at_its_place() {
    let bad = SCHEMA.replace("type = \"string\"", "type = \"strong\"");
    let world = World::new(&[&bad]);
    let snapshot = world.registry.snapshot();
    let problem = &snapshot.entries[0].problems[0];
    assert_eq!((problem.code, problem.line), ("bad_schema", Some(7)), "{problem}");
}
