//! Rules of messages: order, pages, what survives.

use std::collections::BTreeSet;

use roster_model::id::{MessageId, ThreadKey};
use roster_model::message::{FileData, Message, MessageStatus, Origin, Part, Role, Seq, ToolCall, ToolResult};
use roster_model::storage::{ConversationStore, Direction, MessageQuery, StoreErrorKind, ThreadChange};
use serde_json::{Map, Value, json};

use super::{Store, Subject, agent, answer, begin, ids_of, key, message, question, refused, save};

async fn fill(store: &dyn Store, thread: &ThreadKey, count: usize) -> Vec<String> {
    store.create_thread(thread, Default::default()).await.expect("made");
    let rows: Vec<Message> = (0..count).map(|n| question(&format!("n{n}"))).collect();
    let stored = store.append(thread, rows).await.expect("appended");
    ids_of(&stored)
}

/// TO-a1: a limit counts from the newest end, and what comes is oldest first.
pub async fn the_tail_is_the_newest_in_order(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill(store, &key, 10).await;
    for limit in [0, 1, 3, 10, 11, usize::MAX] {
        let rows = store.tail(&key, limit, None).await.expect("tail");
        assert_eq!(ids_of(&rows), all[10 - limit.min(10)..], "limit {limit}");
        let query = MessageQuery { limit, ..MessageQuery::default() };
        let mut page = store.messages(&key, query).await.expect("page").rows;
        page.reverse();
        assert_eq!(page, rows, "the newest page agrees with the tail, limit {limit}");
    }
}

/// What a turn wrote itself is not its history.
pub async fn the_tail_before_a_seq_leaves_the_turn_out(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill(store, &key, 4).await;
    let begun = begin(store, &key, "one").await.expect("begins");
    assert_eq!(begun.first, Seq(5));
    let rows = store.tail(&key, 3, Some(begun.first)).await.expect("tail");
    assert_eq!(ids_of(&rows), all[1..]);
    assert!(store.tail(&key, 3, Some(Seq(1))).await.expect("tail").is_empty());
    save(store, &key, "one", None, true).await.expect("given back");
}

/// Reading nothing is no failure; changing it is.
pub async fn unknown_threads_are_empty_or_not_found(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "nope"));
    assert!(store.tail(&key, 10, None).await.expect("tail").is_empty());
    assert_eq!(store.thread(&key).await.expect("thread"), None);
    assert!(!store.delete_thread(&key).await.expect("delete"));
    refused(store.messages(&key, MessageQuery { limit: 1, ..Default::default() }).await, StoreErrorKind::NotFound);
    refused(store.append(&key, vec![question("q")]).await, StoreErrorKind::NotFound);
    let change = ThreadChange { title: Some("x".to_owned()), metadata: None };
    refused(store.update_thread(&key, change).await, StoreErrorKind::NotFound);
    refused(save(store, &key, "one", Some(answer("a")), true).await, StoreErrorKind::NotFound);
    assert_eq!(store.thread(&key).await.expect("thread"), None, "nothing was made");
}

async fn pages(store: &dyn Store, key: &ThreadKey, direction: Direction) -> Vec<String> {
    let mut seen = Vec::new();
    for (page, (size, more)) in [(100, true), (100, true), (5, false)].into_iter().enumerate() {
        let offset = page as u64 * 100;
        let query = MessageQuery { direction, offset, limit: 100, ..MessageQuery::default() };
        let page = store.messages(key, query).await.expect("page");
        assert_eq!((page.rows.len(), page.next.is_some(), page.total), (size, more, 205));
        seen.extend(ids_of(&page.rows));
        // A change of the thread between two pages changes nothing in this.
        let change = ThreadChange { title: None, metadata: Some(Map::new()) };
        store.update_thread(key, change).await.expect("changed");
    }
    seen
}

/// TO-a2 for messages: all with one timestamp, in insertion order; descending is the exact reverse.
pub async fn pages_of_205_messages_neither_repeat_nor_skip(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill(store, &key, 205).await;
    assert_eq!(pages(store, &key, Direction::Ascending).await, all);
    let mut descending = pages(store, &key, Direction::Descending).await;
    assert_eq!(descending.iter().collect::<BTreeSet<_>>().len(), 205);
    descending.reverse();
    assert_eq!(descending, all);
}

/// Going back from a message that is known; `total` counts what the query covers.
pub async fn messages_before_one_are_paged(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill(store, &key, 25).await;
    let mut before = None;
    let mut seen = Vec::new();
    loop {
        let query = MessageQuery { limit: 10, before, ..MessageQuery::default() };
        let page = store.messages(&key, query).await.expect("page");
        assert_eq!(page.total as usize, 25 - seen.len());
        seen.extend(ids_of(&page.rows));
        let Some(next) = page.next else { break };
        before = Some(MessageId::new(next).expect("the next page begins before a message"));
    }
    seen.reverse();
    assert_eq!(seen, all);
    let before = Some(MessageId::new("nope").expect("legal"));
    let query = MessageQuery { limit: 10, before, ..MessageQuery::default() };
    refused(store.messages(&key, query).await, StoreErrorKind::NotFound);
}

/// From a message that is known onwards, also together with an end; `total` counts what the query covers.
pub async fn messages_from_one_are_paged(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill(store, &key, 25).await;
    pages_from(store, &key, &all).await;
    let from = Some(MessageId::new("nope").expect("legal"));
    let query = MessageQuery { limit: 10, from, ..MessageQuery::default() };
    refused(store.messages(&key, query).await, StoreErrorKind::NotFound);
}

/// Checks pages that begin at a message, of a thread that holds `all`: 21 messages at least.
pub(crate) async fn pages_from(store: &dyn ConversationStore, key: &ThreadKey, all: &[String]) {
    let id = |n: usize| Some(MessageId::new(&all[n]).expect("legal"));
    let rest = all.len() as u64 - 17;
    let page = async |query| store.messages(key, query).await.expect("page");
    let ascending = MessageQuery { direction: Direction::Ascending, limit: 3, ..MessageQuery::default() };
    let first = page(MessageQuery { from: id(17), ..ascending.clone() }).await;
    assert_eq!((ids_of(&first.rows), first.total), (all[17..20].to_vec(), rest));
    assert_eq!(first.next.as_deref(), Some(all[19].as_str()));
    let next = page(MessageQuery { from: id(17), offset: 3, ..ascending.clone() }).await;
    assert_eq!((ids_of(&next.rows)[0].as_str(), next.total), (all[20].as_str(), rest));
    let both = page(MessageQuery { from: id(4), before: id(6), ..ascending.clone() }).await;
    assert_eq!((ids_of(&both.rows), both.total, both.next), (all[4..6].to_vec(), 2, None));
    let newest = page(MessageQuery { from: id(4), before: id(20), limit: 2, ..MessageQuery::default() }).await;
    assert_eq!((ids_of(&newest.rows), newest.total), (vec![all[19].clone(), all[18].clone()], 16));
    let backwards = page(MessageQuery { from: id(6), before: id(4), ..ascending }).await;
    assert_eq!((backwards.rows.len(), backwards.total, backwards.next), (0, 0, None));
}

/// Appends a message of so many mebibytes for each, one at a time: not every store takes all of it in one piece.
async fn fill_large(store: &dyn Store, thread: &ThreadKey, sizes: &[usize]) -> Vec<String> {
    store.create_thread(thread, Default::default()).await.expect("made");
    let mut stored = Vec::new();
    for (n, size) in sizes.iter().enumerate() {
        let large = message(&format!("n{n}"), Role::User, &"x".repeat(size << 20));
        stored.extend(store.append(thread, vec![large]).await.expect("appended"));
    }
    ids_of(&stored)
}

/// Rows are bounded by their bytes too; the walk goes on where the page ended, and the total counts all.
pub async fn a_page_stops_at_eight_mebibytes(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill_large(store, &key, &[3, 3, 3, 3, 1]).await;
    let query = MessageQuery { direction: Direction::Ascending, limit: 1000, ..MessageQuery::default() };
    let first = store.messages(&key, query.clone()).await.expect("page");
    assert_eq!((ids_of(&first.rows).as_slice(), first.total, first.next.as_deref()), (&all[..2], 5, Some("n1")));
    let rest = store.messages(&key, MessageQuery { offset: 2, ..query }).await.expect("page");
    assert_eq!((ids_of(&rest.rows).as_slice(), rest.total, rest.next), (&all[2..], 5, None));
    let newest = store.messages(&key, MessageQuery { limit: 1000, ..Default::default() }).await.expect("page");
    assert_eq!((ids_of(&newest.rows), newest.total), (vec!["n4".into(), "n3".into(), "n2".into()], 5));
    let before = Some(MessageId::new(newest.next.expect("there is more")).expect("an id"));
    let older = MessageQuery { limit: 1000, before, ..Default::default() };
    let older = store.messages(&key, older).await.expect("page");
    assert_eq!((ids_of(&older.rows), older.total, older.next), (vec!["n1".into(), "n0".into()], 2, None));
}

/// A walk gets over a row that is larger than any page; metadata counts as well.
pub async fn a_row_larger_than_a_page_comes_alone(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    fill_large(store, &key, &[1, 9]).await;
    let metadata = Map::from_iter([("k".to_owned(), json!("x".repeat(9 << 20)))]);
    let heavy = Message { metadata, ..question("heavy") };
    store.append(&key, vec![heavy, question("light")]).await.expect("appended");
    let mut query = MessageQuery { direction: Direction::Ascending, limit: 1000, ..MessageQuery::default() };
    for (expected, last) in [("n0", false), ("n1", false), ("heavy", false), ("light", true)] {
        let page = store.messages(&key, query.clone()).await.expect("page");
        assert_eq!((ids_of(&page.rows), page.total, page.next.is_none()), (vec![expected.to_owned()], 4, last));
        query.offset += 1;
    }
}

/// What is fed is bounded by its bytes too, the newest first.
pub async fn the_tail_stops_at_eight_mebibytes(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let all = fill_large(store, &key, &[9, 1, 3, 3, 1]).await;
    let tail = async |before| ids_of(&store.tail(&key, 1000, before).await.expect("tail"));
    // Three, three and one are seven; the frames around the texts bring one more over the edge.
    assert_eq!(tail(None).await, all[2..]);
    assert_eq!(tail(Some(Seq(3))).await, all[1..2]);
    assert_eq!(tail(Some(Seq(2))).await, all[..1], "the newest comes whatever its size");
}

/// A batch with one bad row leaves nothing behind.
pub async fn appending_is_all_or_nothing(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    fill(store, &key, 2).await;
    for batch in [vec![question("new"), question("n1")], vec![question("new"), question("new")]] {
        refused(store.append(&key, batch).await, StoreErrorKind::Conflict);
    }
    assert_eq!(store.thread(&key).await.expect("thread").expect("there").message_count, 2);
    let stored = store.append(&key, vec![question("new"), answer("newer")]).await.expect("appended");
    assert_eq!(stored.iter().map(|row| row.seq).collect::<Vec<_>>(), [Seq(3), Seq(4)]);
    assert!(stored.iter().all(|row| row.turn.is_none()));
    assert_eq!(store.tail(&key, 2, None).await.expect("tail"), stored);
    assert_eq!(store.append(&key, Vec::new()).await.expect("nothing"), []);
}

fn rich_parts() -> Vec<Part> {
    let arguments = Map::from_iter([("b".to_owned(), json!(1)), ("a".to_owned(), json!([null, "x"]))]);
    vec![
        Part::Reasoning { text: "hm".to_owned(), opaque: Some(json!({"sig": "s"})) },
        Part::ToolCall(ToolCall { id: "c".to_owned(), name: "pay".to_owned(), arguments, malformed: None }),
        Part::ToolResult(ToolResult {
            call_id: "c".to_owned(),
            name: "pay".to_owned(),
            output: Value::String("no".to_owned()),
            is_error: true,
            duration_ms: 7,
        }),
        Part::text("北京 😀 \"'; DROP TABLE messages; -- \u{0} end"),
        Part::File {
            media_type: "image/png".to_owned(),
            data: FileData::Base64("A".repeat(1_000_000)),
            name: Some("x".to_owned()),
        },
        Part::Error { code: "c".to_owned(), message: "m".to_owned() },
    ]
}

/// Every field of a message comes back as it went in, odd ids and a megabyte included.
pub async fn everything_in_a_message_survives(subject: &Subject) {
    let store = &*subject.store;
    let key = key("user:1/漢", "t/1#x?y%41 漢");
    let odd = Message {
        parts: rich_parts(),
        created_at: roster_model::time::Timestamp::from_millis(-5),
        status: MessageStatus::Failed,
        origin: Some(Origin { agent: agent("clerk"), generation: u64::from(u32::MAX), fingerprint: "é".to_owned() }),
        metadata: Map::from_iter([("k".to_owned(), json!({"n": 1.5}))]),
        ..message("m' %", Role::Assistant, "")
    };
    let system = message("s", Role::System, "be kind");
    store.create_thread(&key, Default::default()).await.expect("made");
    store.append(&key, vec![system.clone(), odd.clone()]).await.expect("appended");
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[0].message, system);
    assert_eq!(rows[1].message, odd);
}
