//! Importing what Mastra stored.

pub(crate) mod file;
mod refused;

use std::path::Path;
use std::sync::Arc;

use roster_model::id::{AgentId, ResourceId, ThreadKey};
use roster_model::message::{MessageStatus, Part, Role};
use roster_model::storage::{ConversationStore, PageStart, ThreadOrder, ThreadQuery};
use roster_model::working::{MemoryScope, WorkingMemoryStore};
use roster_storage::sqlite::{
    Count, ImportError, ImportOptions, ImportReport, NewOwner, Noun, SqliteStore, try_import_mastra,
};
use roster_testkit::suite::conversation::{begin, finish, ids, key, whole_turn};
use serde_json::{Value, json};

use self::file::Mastra;
use crate::sqlite::{at, fresh};

const NOTHING: Count = Count { new: 0, there: 0, skipped: 0 };

fn new(new: u64) -> Count {
    Count { new, ..NOTHING }
}

fn there(there: u64) -> Count {
    Count { there, ..NOTHING }
}

async fn import(store: &SqliteStore, from: &Path) -> ImportReport {
    import_with(store, from, ImportOptions::default()).await.expect("imports")
}

async fn import_with(store: &SqliteStore, from: &Path, options: ImportOptions) -> Result<ImportReport, ImportError> {
    store.import_mastra(from, options, Arc::new(|_, _| {})).await
}

/// Everything in a folder with what it holds.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all: Vec<_> = std::fs::read_dir(folder)
        .expect("folder")
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("file")))
        .collect();
    all.sort();
    all
}

async fn rows(store: &SqliteStore, key: &ThreadKey) -> Vec<(String, Role, Vec<Part>)> {
    let rows = store.tail(key, 1000, None).await.expect("reads");
    rows.into_iter().map(|row| (row.message.id.to_string(), row.message.role, row.message.parts)).collect()
}

async fn listed(store: &SqliteStore, resource: &str, order: ThreadOrder) -> Vec<String> {
    let query = ThreadQuery { order, limit: 100, start: PageStart::First, ..ThreadQuery::default() };
    let page = store.threads(&ResourceId::new(resource).expect("legal"), query).await.expect("lists");
    page.rows.into_iter().map(|thread| thread.key.thread.to_string()).collect()
}

#[tokio::test]
async fn a_file_of_mastra_is_imported_whole_and_is_left_as_it_is() {
    let (_folder, store) = fresh();
    let source = tempfile::tempdir().expect("folder");
    let from = Mastra::filled(&source.path().join("mastra.db")).done();
    let before = contents(source.path());
    let report = import(&store, &from).await;
    assert_eq!(contents(source.path()), before, "nothing of the source is changed, nothing lies beside it");
    assert_eq!((report.threads, report.messages, report.working_memories), (new(3), new(6), new(2)), "{report:?}");
    assert_eq!(report.skipped, []);
    assert_eq!(report.unread_tables, ["mastra_ai_spans", "mastra_workflow_snapshot"]);

    let tea = store.thread(&key("user:ada", "tea")).await.expect("reads").expect("there");
    assert_eq!((tea.title.as_str(), tea.message_count), ("Tea", 2));
    assert_eq!(tea.metadata.map(Value::Object), Some(json!({"desk": "B", "nested": {"a": [1, null, "x"]}})));
    assert_eq!(tea.created_at.to_string(), "2026-01-02T03:00:01.000Z");
    assert_eq!(tea.updated_at.to_string(), "2026-01-02T03:00:05.000Z");
    let said = rows(&store, &key("user:ada", "tea")).await;
    assert_eq!(said[0], ("tea-1".to_owned(), Role::User, vec![Part::text("Which tea?")]));
    let [Part::ToolCall(call), Part::ToolResult(result), Part::Text { text }] = &said[1].2[..] else {
        panic!("{said:?}")
    };
    assert_eq!((call.id.as_str(), result.call_id.as_str(), text.as_str()), ("call_1", "call_1", "Darjeeling."));
    assert_eq!(result.output, json!({"found": "Darjeeling"}));
    let studio = rows(&store, &key("chat-agent", "studio-1")).await;
    assert_eq!(studio.iter().map(|(_, role, _)| *role).collect::<Vec<_>>(), [Role::User, Role::Assistant]);
    let task = store.tail(&key("user:ada", "task"), 10, None).await.expect("reads");
    assert_eq!(task[1].message.status, MessageStatus::Failed);
    let thread = store.thread(&key("user:ada", "task")).await.expect("reads").expect("there");
    assert_eq!(thread.metadata, None, "working memory is no metadata here");
    let of_thread = store.working_memory(&MemoryScope::Thread(key("user:ada", "task"))).await.expect("reads");
    assert_eq!(of_thread.expect("there").text, "# Task\n- Step: 2");
    let of_owner = MemoryScope::Resource(ResourceId::new("user:ada").expect("legal"));
    assert_eq!(store.working_memory(&of_owner).await.expect("reads").expect("there").text, "# Person\n- Name: Ada");
    assert_eq!(listed(&store, "user:ada", ThreadOrder::Created).await, ["task", "tea"]);
    assert_eq!(listed(&store, "user:ada", ThreadOrder::Activity).await, ["task", "tea"]);
}

#[tokio::test]
async fn a_second_import_changes_nothing_and_a_later_one_adds_what_is_new() {
    let (folder, store) = fresh();
    let mut file = Mastra::filled(&folder.path().join("mastra.db"));
    let from = file.path.clone();
    import(&store, &from).await;
    let tea = key("user:ada", "tea");
    let before = (store.thread(&tea).await.expect("reads"), listed(&store, "user:ada", ThreadOrder::Updated).await);
    let again = import(&store, &from).await;
    assert!(!again.changes(), "{again:?}");
    assert_eq!((again.threads, again.messages, again.working_memories), (there(3), there(6), there(2)));
    let after = (store.thread(&tea).await.expect("reads"), listed(&store, "user:ada", ThreadOrder::Updated).await);
    assert_eq!(before, after);

    // What people do here meanwhile stays; what they do there comes along.
    whole_turn(&store, &tea, "here").await;
    let owner = MemoryScope::Resource(ResourceId::new("user:ada").expect("legal"));
    store.set_working_memory(&owner, None, 1).await.expect("cleared");
    file.says("tea-3", "tea", "user", "And coffee?");
    file.thread("new", "user:bob", "", None);
    file.says("new-1", "new", "user", "hi");
    let later = import(&store, &from).await;
    assert_eq!((later.threads.new, later.messages.new, later.working_memories.new), (1, 2, 0), "{later:?}");
    assert_eq!(ids(&store, &tea).await, ["tea-1", "tea-2", "here-q", "here-a", "tea-3"]);
    assert_eq!(store.working_memory(&owner).await.expect("reads"), None, "what was cleared stays cleared");
    assert_eq!(store.thread(&tea).await.expect("reads").expect("there").message_count, 5);
}

#[tokio::test]
async fn trying_tells_the_same_and_writes_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let mut file = Mastra::filled(&folder.path().join("mastra.db"));
    file.row("bad", "tea", "user", "v2", "{", "2026-01-02T03:04:05.000Z");
    let (from, into) = (file.path.clone(), folder.path().join("roster.db"));
    let tried = || try_import_mastra(&from, &into, ImportOptions::default(), &|_, _| {}).expect("tries");
    let missing = tried();
    assert!(!into.exists());
    let store = at(&folder);
    assert_eq!(tried(), missing);
    let imported = import(&store, &from).await;
    assert_eq!(imported, missing);
    file.says("tea-3", "tea", "user", "And coffee?");
    let later = tried();
    assert_eq!((later.messages.new, later.messages.there, later.messages.skipped), (1, 6, 1));
    assert_eq!(ids(&store, &key("user:ada", "tea")).await.len(), 2);
    assert_eq!(import(&store, &from).await, later);
}

#[tokio::test]
async fn messages_come_by_time_and_then_as_they_were_written() {
    let (folder, store) = fresh();
    let mut file = Mastra::new(&folder.path().join("mastra.db"));
    file.thread("t", "o", "", None);
    let content = json!({"format": 2, "parts": [{"type": "text", "text": "x"}]}).to_string();
    for (id, at) in [
        ("late", "2026-01-02T00:00:09.000Z"),
        ("z-first-at-five", "2026-01-02T00:00:05.000Z"),
        ("a-second-at-five", "2026-01-02T00:00:05.000Z"),
        // Six o'clock in Oslo is five in UTC.
        ("other-zone", "2026-01-02T01:00:06+01:00"),
        ("early", "2026-01-02T00:00:01.000Z"),
    ] {
        file.row(id, "t", "user", "v2", &content, at);
    }
    import(&store, &file.done()).await;
    let order = ["early", "z-first-at-five", "a-second-at-five", "other-zone", "late"];
    assert_eq!(ids(&store, &key("o", "t")).await, order);
}

#[tokio::test]
async fn rows_that_cannot_be_taken_over_are_named_and_the_rest_is_imported() {
    let (folder, store) = fresh();
    let mut file = Mastra::new(&folder.path().join("mastra.db"));
    file.thread("t", "o", "", None);
    file.thread(&"x".repeat(600), "o", "", None);
    file.says("lost", &"x".repeat(600), "user", "its thread is left out");
    file.says("first", "t", "user", "hello");
    let at = "2026-01-02T03:04:05.000Z";
    file.row("cut", "t", "assistant", "v2", "{\"format\":2,\"parts\":[{\"ty", at);
    file.row("number", "t", "assistant", "v2", "7", at);
    file.row("future", "t", "assistant", "v2", "{\"format\":9,\"parts\":[]}", at);
    file.row("who", "t", "moderator", "v2", "{\"format\":2,\"parts\":[]}", at);
    file.row("when", "t", "user", "v2", "{\"format\":2,\"parts\":[]}", "yesterday");
    file.row("alone", "t", "tool", "tool-result", "[]", "2026-01-02T03:00:00.000Z");
    file.row("nobody's", "gone", "user", "v2", "{\"format\":2,\"parts\":[]}", at);
    file.run(
        "INSERT INTO mastra_messages VALUES ('binary', 't', x'ff00', 'user', 'v2', '2026-01-02T03:04:05.000Z', NULL)",
    );
    file.run("UPDATE mastra_threads SET metadata = x'00112233' WHERE id = 't'");
    file.says("last", "t", "user", "bye");
    let report = import(&store, &file.done()).await;
    assert_eq!(ids(&store, &key("o", "t")).await, ["first", "last"]);
    assert_eq!((report.threads.new, report.threads.skipped), (1, 1));
    assert_eq!((report.messages.new, report.messages.skipped), (2, 9), "{report:#?}");
    assert_eq!(report.fields.skipped, 1);
    for (place, why) in [
        ("cut of thread t", "no JSON"),
        ("number of thread t", "no object"),
        ("future of thread t", "format 9"),
        ("who of thread t", "role `moderator`"),
        ("when of thread t", "no moment"),
        ("alone of thread t", "no call stands before it"),
        ("binary of thread t", "`content` is no text"),
        ("thread gone", "no thread `gone`"),
        (&format!("thread {}", "x".repeat(600)), "its thread was left out"),
    ] {
        let found = report.skipped.iter().find(|skipped| skipped.what == Noun::Message && skipped.place == place);
        assert!(found.is_some_and(|skipped| skipped.reason.contains(why)), "{place}: {:#?}", report.skipped);
    }
}

#[tokio::test]
async fn the_oldest_form_becomes_whole_turns() {
    let (folder, store) = fresh();
    let mut file = Mastra::new(&folder.path().join("mastra.db"));
    file.thread("t", "o", "", None);
    let at = |second: u32| format!("2026-01-02T03:00:{second:02}.000Z");
    file.row("q", "t", "user", "text", "weather?", &at(1));
    let call = json!([{"type": "tool-call", "toolCallId": "c", "toolName": "weather", "args": {"city": "Oslo"}}]);
    file.row("call", "t", "assistant", "tool-call", &call.to_string(), &at(2));
    let result = json!([{"type": "tool-result", "toolCallId": "c", "toolName": "weather", "result": "3 degrees"}]);
    file.row("result", "t", "tool", "tool-result", &result.to_string(), &at(3));
    file.row("a", "t", "assistant", "text", "3 degrees.", &at(4));
    let report = import(&store, &file.done()).await;
    assert_eq!((report.messages, &report.skipped[..]), (new(3), &[][..]));
    let said = rows(&store, &key("o", "t")).await;
    assert!(matches!(&said[1].2[..], [Part::ToolCall(_), Part::ToolResult(result)] if result.output == "3 degrees"));
    assert_eq!(said[2].2, [Part::text("3 degrees.")]);
}

#[tokio::test]
async fn owners_get_the_names_that_were_asked_for() {
    let (folder, store) = fresh();
    let mut file = Mastra::filled(&folder.path().join("mastra.db"));
    file.resource("chat-agent", Some("of the chat agent"));
    file.resource("docs-agent", Some("of the docs agent"));
    let from = file.done();
    let id = |text: &str| AgentId::new(text).expect("legal");
    let ai_chat = ResourceId::new("ai-chat").expect("legal");
    let owner = |agent: &str| NewOwner { resource: ai_chat.clone(), agent: Some(id(agent)) };
    let owners = ["chat-agent", "docs-agent"].map(|agent| (agent.to_owned(), owner(agent)));
    let options = ImportOptions { owners: owners.into(), agent: Some(id("keeper")) };
    let report = import_with(&store, &from, options).await.expect("imports");
    let studio = store.thread(&key("ai-chat", "studio-1")).await.expect("reads").expect("there");
    assert_eq!((studio.agent, studio.message_count), (Some(id("chat-agent")), 2));
    let tea = store.thread(&key("user:ada", "tea")).await.expect("reads").expect("there");
    assert_eq!(tea.agent, Some(id("keeper")));
    let memory = store.working_memory(&MemoryScope::Resource(ai_chat.clone())).await.expect("reads").expect("there");
    assert_eq!(memory.text, "of the chat agent");
    assert_eq!(report.working_memories, Count { new: 3, there: 0, skipped: 1 });
    assert_eq!(report.skipped[0].place, "docs-agent");
    let query = ThreadQuery { limit: 10, agent: Some(id("chat-agent")), ..ThreadQuery::default() };
    assert_eq!(store.threads(&ai_chat, query).await.expect("lists").rows.len(), 1);
}

#[tokio::test]
async fn a_thread_that_a_turn_holds_is_waited_for() {
    let (folder, store) = fresh();
    let store = Arc::new(store);
    let file = Mastra::filled(&folder.path().join("mastra.db"));
    let tea = key("user:ada", "tea");
    begin(&*store, &tea, "here").await.expect("begins");
    let importing = {
        let (store, from) = (Arc::clone(&store), file.done());
        tokio::spawn(async move { import(&store, &from).await })
    };
    // Everything but that thread is there in the end.
    while store.thread(&key("chat-agent", "studio-1")).await.expect("reads").is_none() {
        tokio::task::yield_now().await;
    }
    assert_eq!(ids(&*store, &tea).await, ["here-q"]);
    finish(&*store, &tea, "here").await.expect("answers");
    let report = importing.await.expect("ends");
    assert_eq!(report.messages, new(6));
    assert_eq!(ids(&*store, &tea).await, ["here-q", "here-a", "tea-1", "tea-2"]);
}

#[tokio::test]
async fn large_files_come_in_many_transactions_and_large_messages_whole() {
    let (folder, store) = fresh();
    let mut file = Mastra::new(&folder.path().join("mastra.db"));
    file.run("BEGIN");
    for thread in 0..40 {
        file.thread(&format!("t{thread}"), "o", "", None);
        for number in 0..30 {
            file.says(&format!("{thread}-{number}"), &format!("t{thread}"), "user", "hello");
        }
    }
    let huge = "x".repeat(9 << 20);
    file.says("huge", "t0", "user", &huge);
    file.run("COMMIT");
    let report = import(&store, &file.done()).await;
    assert_eq!((report.threads, report.messages), (new(40), new(1201)));
    let last = store.tail(&key("o", "t0"), 1, None).await.expect("reads");
    assert_eq!(last[0].message.text().len(), huge.len());
}
