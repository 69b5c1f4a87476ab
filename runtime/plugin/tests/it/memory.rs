//! Memories of plugins against the suites of conversation stores, in both modes, and through what happens to plugins.

mod rows;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use roster_model::id::ThreadKey;
use roster_model::message::{Message, MessageStatus, Part, ToolCall, ToolResult};
use roster_model::storage::{ConversationStore, NewThread, OperatorStore, StoreErrorKind, ThreadChange};
use roster_model::suspension::SuspensionStore;
use roster_model::working::{MemoryScope, WorkingMemoryStore};
use roster_plugin::bridge::memory::{Beside, PluginMemory, open};
use roster_plugin::call::CallError;
use roster_plugin::settings::Isolation;
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{self, answer, begin, finish, ids, key, question, refused, save, turn};
use roster_testkit::suite::session::owner;
use roster_testkit::suite::{session, working};
use serde_json::{Map, Value, json};

use crate::shipped::built_with;
use crate::world::World;

const BOTH: [Isolation; 2] = [Isolation::InProcess, Isolation::Process];

/// The fixture, with room for the suites' largest rows.
fn world(isolation: Isolation) -> Arc<World> {
    Arc::new(built_with("notes", isolation, |settings| settings.limits.output = 15 << 20))
}

fn opened_beside(world: &Arc<World>, config: &Value, own: Arc<RamStore>) -> Result<Arc<PluginMemory>, CallError> {
    let config: Map<String, Value> = config.as_object().cloned().unwrap_or_default();
    let finding = Arc::clone(world);
    let beside = Beside { elsewhere: own, cut };
    open(Arc::new(move || finding.plugins.get("liar")), "liar", "create_memory", &config, beside)
}

/// The beginnings of results that are words.
fn cut(most: usize, parts: &mut [Part]) {
    for part in parts {
        if let Part::ToolResult(ToolResult { output: Value::String(text), .. }) = part {
            text.truncate(most);
        }
    }
}

fn opened(world: &Arc<World>, config: &Value) -> Arc<PluginMemory> {
    opened_beside(world, config, own()).unwrap_or_else(|error| panic!("{error}"))
}

fn own() -> Arc<RamStore> {
    Arc::new(RamStore::new(Arc::new(TestClock::default())))
}

fn in_file(folder: &Path) -> Value {
    json!({ "file": folder.join("notes.jsonl") })
}

/// Runs on a runtime of several threads: opening blocks one.
fn on_a_runtime(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads");
    runtime.block_on(work);
}

fn keeps_every_rule(isolation: Isolation) {
    on_a_runtime(async {
        let (world, still) = (world(isolation), json!({ "clock": 1_700_000_000_000_i64 }));
        conversation::run_of_owners(|| conversation::Subject {
            store: opened(&world, &still),
            keep: Box::new(Arc::clone(&world)),
        })
        .await;
        working::run_all(|| session::Subject { store: opened(&world, &still), keep: Box::new(Arc::clone(&world)) })
            .await;
    });
}

#[test]
fn a_memory_in_process_keeps_every_rule_of_conversations() {
    keeps_every_rule(Isolation::InProcess);
}

#[test]
fn a_memory_in_a_process_of_its_own_keeps_every_rule_of_conversations() {
    keeps_every_rule(Isolation::Process);
}

async fn calls(world: &World) -> Value {
    world.tool("opened", json!({})).await.expect("told")["calls"].clone()
}

/// What was acknowledged is there after the process died, once; the factory is called once more in the new instance.
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_outlives_its_process() {
    let (world, folder) = (world(Isolation::Process), tempfile::tempdir().expect("a folder"));
    let memory = opened(&world, &in_file(folder.path()));
    assert_eq!(calls(&world).await, 1);
    let t = key("shop", "t");
    conversation::whole_turn(&*memory, &t, "one").await;
    world.tool("crash", json!({})).await.expect_err("it died");
    assert_eq!(ids(&*memory, &t).await, ["one-q", "one-a"]);
    assert_eq!(calls(&world).await, 1, "in this instance");
    conversation::whole_turn(&*memory, &t, "two").await;
    assert_eq!(ids(&*memory, &t).await, ["one-q", "one-a", "two-q", "two-a"]);
}

/// Handles of two memories never meet, in whatever order they are opened again.
#[tokio::test(flavor = "multi_thread")]
async fn two_memories_of_a_plugin_never_mix() {
    let (world, folder) = (world(Isolation::Process), tempfile::tempdir().expect("a folder"));
    let other = folder.path().join("other");
    std::fs::create_dir(&other).expect("made");
    let (a, b) = (opened(&world, &in_file(folder.path())), opened(&world, &in_file(&other)));
    let t = key("shop", "t");
    for (memory, name) in [(&a, "a"), (&b, "b")] {
        conversation::whole_turn(&**memory, &t, name).await;
    }
    world.tool("crash", json!({})).await.expect_err("it died");
    assert_eq!(ids(&*b, &t).await, ["b-q", "b-a"]);
    assert_eq!(ids(&*a, &t).await, ["a-q", "a-a"]);
}

/// Writes that the plugin's death cuts off are made again by their key: all acknowledged, none twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_between_writes_loses_and_doubles_nothing() {
    let (world, folder) = (world(Isolation::Process), tempfile::tempdir().expect("a folder"));
    let memory = opened(&world, &in_file(folder.path()));
    let t = key("shop", "t");
    memory.create_thread(&t, Default::default()).await.expect("made");
    let over = AtomicBool::new(false);
    let writer = async {
        let mut acknowledged = Vec::new();
        for n in 0.. {
            let id = format!("n{n}");
            if memory.append(&t, vec![question(&id)]).await.is_ok() {
                acknowledged.push(id);
            }
            if over.load(Ordering::Relaxed) {
                break;
            }
        }
        acknowledged
    };
    let crasher = async {
        for _ in 0..4 {
            world.tool("crash", json!({})).await.expect_err("it died");
            world.until_tool("opened", json!({ "calls": 1 })).await;
        }
        over.store(true, Ordering::Relaxed);
    };
    let (acknowledged, ()) = tokio::join!(writer, crasher);
    let kept = ids(&*memory, &t).await;
    assert!(acknowledged.len() > 4, "{acknowledged:?}");
    for id in &acknowledged {
        assert_eq!(kept.iter().filter(|kept| *kept == id).count(), 1, "{id}");
    }
    let rows = memory.tail(&t, 1000, None).await.expect("tail");
    assert!(rows.iter().zip(1..).all(|(row, seq)| row.seq.0 == seq), "numbered without a gap");
}

/// What was done when the plugin died, before it could say so, is no failure.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_gone_as_asked_is_a_success_after_a_crash() {
    let (world, folder) = (world(Isolation::Process), tempfile::tempdir().expect("a folder"));
    let memory = opened(&world, &in_file(folder.path()));
    let (t, scope) = (key("shop", "t"), MemoryScope::Resource(owner("shop")));
    conversation::whole_turn(&*memory, &t, "one").await;
    let version = memory.set_working_memory(&scope, Some("tea".into()), 0).await.expect("written");
    let crash = || std::fs::write(folder.path().join("notes.jsonl.crash"), "").expect("written");
    crash();
    memory.set_working_memory(&scope, None, version).await.expect("cleared");
    assert_eq!(memory.working_memory(&scope).await.expect("asked"), None);
    crash();
    assert!(memory.delete_thread(&t).await.expect("deleted"));
    assert!(!memory.delete_thread(&t).await.expect("asked"), "there is none any more");
}

/// The agent's memory is the same through every generation.
#[tokio::test(flavor = "multi_thread")]
async fn a_memory_outlives_its_generation() {
    for isolation in BOTH {
        let (world, folder) = (world(isolation), tempfile::tempdir().expect("a folder"));
        let memory = opened(&world, &in_file(folder.path()));
        let t = key("shop", "t");
        conversation::whole_turn(&*memory, &t, "one").await;
        let reloading = Arc::clone(&world);
        tokio::task::spawn_blocking(move || reloading.plugins.reload("liar").map(|_| ()))
            .await
            .expect("ran")
            .expect("reloaded");
        conversation::whole_turn(&*memory, &t, "two").await;
        assert_eq!(ids(&*memory, &t).await, ["one-q", "one-a", "two-q", "two-a"], "{isolation:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_factory_that_cannot_says_what_is_wrong() {
    for isolation in BOTH {
        let world = world(isolation);
        let refused = |config: Value| opened_beside(&world, &config, own()).err().expect("refused").to_string();
        let unknown = refused(json!({ "fiel": "x" }));
        assert!(unknown.contains("`[memory] config` is not what `liar:create_memory` takes"), "{unknown}");
        assert!(unknown.contains("'fiel'"), "{unknown}");
        let wrong = refused(json!({ "file": 5 }));
        assert!(wrong.contains("`file`"), "{wrong}");
        assert_eq!(refused(json!({ "fail": "the disk is on holiday" })), "the disk is on holiday");
        assert_eq!(calls(&world).await, 1, "a configuration that does not fit never reaches it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_plugin_a_memory_says_so_and_comes_back_with_it() {
    for isolation in BOTH {
        let (world, folder) = (world(isolation), tempfile::tempdir().expect("a folder"));
        let memory = opened(&world, &in_file(folder.path()));
        let t = key("shop", "t");
        conversation::whole_turn(&*memory, &t, "one").await;
        let settings = (*world.plugin().settings()).clone();
        world.plugins.configure(Vec::new());
        let error = begin(&*memory, &t, "two").await.expect_err("nobody is there");
        assert_eq!(error.kind, StoreErrorKind::Unavailable);
        assert!(error.message.contains("`liar:create_memory`") && error.message.contains("runtime.toml"), "{error}");
        assert!(memory.health().is_err());
        world.plugins.configure(vec![settings]);
        world.until(|world| world.plugin().generation().is_some()).await;
        conversation::whole_turn(&*memory, &t, "two").await;
        assert_eq!(ids(&*memory, &t).await, ["one-q", "one-a", "two-q", "two-a"]);
    }
}

/// Who waits for a factory that fails is told so with the first, not one after the other.
#[tokio::test(flavor = "multi_thread")]
async fn an_opening_that_fails_is_everybodys_who_waited() {
    let (world, folder) = (world(Isolation::Process), tempfile::tempdir().expect("a folder"));
    let memory = opened(&world, &in_file(folder.path()));
    folder.close().expect("removed");
    world.tool("crash", json!({})).await.expect_err("it died");
    world.until_tool("opened", json!({ "calls": 0 })).await;
    let t = key("shop", "t");
    let all = futures_util::future::join_all((0..20).map(|_| memory.thread(&t))).await;
    assert!(all.iter().all(Result::is_err));
    assert_eq!(calls(&world).await, 1);
    assert!(memory.thread(&t).await.is_err(), "who comes later tries again");
    assert_eq!(calls(&world).await, 2);
}

/// A runtime that was killed leaves a running row; the next one's first turn marks it.
#[tokio::test(flavor = "multi_thread")]
async fn the_row_of_a_turn_that_died_is_interrupted_by_the_next() {
    let (world, folder) = (world(Isolation::InProcess), tempfile::tempdir().expect("a folder"));
    let t = key("shop", "t");
    let before = opened(&world, &in_file(folder.path()));
    begin(&*before, &t, "one").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("one-a") };
    save(&*before, &t, "one", Some(running), false).await.expect("saved");
    let after = opened(&world, &in_file(folder.path()));
    conversation::whole_turn(&*after, &t, "two").await;
    let rows = after.tail(&t, 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Interrupted);
    assert_eq!(ids(&*after, &t).await, ["one-q", "one-a", "two-q", "two-a"]);
}

/// A turn that waits for its client goes on in another runtime, once.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_waits_for_its_client_goes_on_after_a_restart() {
    let (world, folder) = (world(Isolation::InProcess), tempfile::tempdir().expect("a folder"));
    let t = key("shop", "t");
    let before = opened(&world, &in_file(folder.path()));
    begin(&*before, &t, "one").await.expect("begins");
    let call = ToolCall { id: "c".into(), name: "pay".into(), arguments: Map::new(), malformed: None };
    let created_at = world_now();
    let row =
        Message { status: MessageStatus::Awaiting, parts: vec![Part::ToolCall(call)], created_at, ..answer("one-a") };
    save(&*before, &t, "one", Some(row), true).await.expect("saved");
    let after = opened(&world, &in_file(folder.path()));
    let (shop, one) = (owner("shop"), turn("one"));
    assert_eq!(after.tail(&t, 1, None).await.expect("tail")[0].message.status, MessageStatus::Awaiting);
    refused(after.resume_turn(&owner("bank"), &one).await, StoreErrorKind::NotFound);
    let resumed = after.resume_turn(&shop, &one).await.expect("goes on");
    assert_eq!((resumed.turn.row.message.status, resumed.question.map(|seq| seq.0)), (MessageStatus::Running, Some(1)));
    assert!(after.resume_turn(&shop, &one).await.is_err(), "once");
    finish(&*after, &t, "one").await.expect("ends");
    let rows = after.tail(&t, 10, None).await.expect("tail");
    assert_eq!((rows.len(), rows[1].message.status), (2, MessageStatus::Complete));
}

/// Later than every date of the suites' messages.
fn world_now() -> roster_model::time::Timestamp {
    question("q").created_at
}

/// One id is one conversation: it is not begun anew beside the runtime's own store.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_of_the_runtimes_own_store_is_not_begun_anew() {
    let (world, own) = (world(Isolation::InProcess), own());
    let (t, empty) = (key("shop", "t"), key("shop", "empty"));
    conversation::whole_turn(&*own, &t, "one").await;
    let new = NewThread { title: "Tea".into(), ..NewThread::default() };
    own.create_thread(&empty, new).await.expect("made");
    let memory = opened_beside(&world, &json!({}), Arc::clone(&own)).expect("opened");
    let error = begin(&*memory, &t, "one").await.expect_err("it is elsewhere");
    assert_eq!(error.kind, StoreErrorKind::Elsewhere);
    assert!(error.message.contains("begin another conversation"), "{error}");
    assert_eq!(memory.thread(&t).await.expect("asked"), None);
    conversation::whole_turn(&*memory, &key("bank", "t"), "one").await;
    conversation::whole_turn(&*memory, &empty, "one").await;
    assert_eq!(memory.thread(&empty).await.expect("asked").expect("there").title, "Tea", "an empty one moves");
    assert_eq!(own.thread(&empty).await.expect("asked"), None);
}

/// A title that is acknowledged while its empty thread moves is in one of the stores.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_acknowledged_is_lost_while_a_thread_moves() {
    let (world, own) = (world(Isolation::InProcess), own());
    let memory = opened_beside(&world, &json!({}), Arc::clone(&own)).expect("opened");
    for n in 0..20 {
        let t = key("shop", &format!("t{n}"));
        own.create_thread(&t, NewThread::default()).await.expect("made");
        let over = Arc::new(AtomicBool::new(false));
        let naming = tokio::spawn(name_until(Arc::clone(&own), t.clone(), Arc::clone(&over)));
        begin(&*memory, &t, "one").await.expect("begins");
        over.store(true, Ordering::Relaxed);
        let last = naming.await.expect("ran");
        let thread = match own.thread(&t).await.expect("asked") {
            Some(stayed) => stayed,
            None => memory.thread(&t).await.expect("asked").expect("moved"),
        };
        assert_eq!(thread.title, last);
    }
}

/// Gives the thread title after title; the last one that was acknowledged.
async fn name_until(store: Arc<RamStore>, thread: ThreadKey, over: Arc<AtomicBool>) -> String {
    let mut last = String::new();
    for n in 0.. {
        let title = Some(n.to_string());
        if store.update_thread(&thread, ThreadChange { title, metadata: None }).await.is_err() {
            break;
        }
        last = n.to_string();
        if over.load(Ordering::Relaxed) {
            break;
        }
        tokio::task::yield_now().await;
    }
    last
}

/// Fields that depend on what is there, owners, and what is gone when an owner is erased.
#[tokio::test(flavor = "multi_thread")]
async fn fields_are_merged_and_owners_erased() {
    use roster_model::housekeeping::Housekeeping;
    for isolation in BOTH {
        let world = world(isolation);
        let memory = opened(&world, &json!({}));
        let (t, other) = (key("shop", "t"), key("bank", "t"));
        conversation::whole_turn(&*memory, &t, "one").await;
        conversation::whole_turn(&*memory, &other, "one").await;
        let change = ThreadChange { title: None, metadata: Some(object(&json!({ "a": 1, "b": 2 }))) };
        memory.update_thread(&t, change).await.expect("changed");
        let merged = memory.merge_metadata(&t, object(&json!({ "b": null, "c": 3 }))).await.expect("merged");
        assert_eq!(merged.metadata, Some(object(&json!({ "a": 1, "c": 3 }))));
        assert!(memory.set_title_if_empty(&t, "Mine".into()).await.expect("set"));
        assert!(!memory.set_title_if_empty(&t, "Yours".into()).await.expect("left"));
        let scope = MemoryScope::Resource(owner("shop"));
        memory.set_working_memory(&scope, Some("tea".into()), 0).await.expect("written");
        let erased = memory.erase(&owner("shop")).await.expect("erased");
        assert_eq!((erased.threads, erased.messages), (1, 2));
        assert_eq!(memory.thread(&t).await.expect("asked"), None);
        assert_eq!(memory.working_memory(&scope).await.expect("asked"), None);
        assert_eq!(ids(&*memory, &other).await, ["one-q", "one-a"], "the other owner's");
        let copy = memory.copy_thread(&other, &t.thread, Default::default(), Default::default()).await;
        refused(copy, StoreErrorKind::Unsupported);
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().expect("an object")
}
