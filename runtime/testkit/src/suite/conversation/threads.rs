//! Rules of threads: owners, lists, changes, deletion.

use std::collections::BTreeSet;

use roster_model::id::{ResourceId, ThreadId};
use roster_model::message::{Message, Origin};
use roster_model::storage::{Direction, NewThread, PageStart, StoreErrorKind, ThreadChange, ThreadOrder, ThreadQuery};
use serde_json::{Map, json};

use super::{Store, Subject, agent, answer, begin, finish, ids, key, question, refused, whole_turn};

fn shop() -> ResourceId {
    ResourceId::new("shop").expect("legal")
}

async fn list(store: &dyn Store, query: ThreadQuery) -> (Vec<String>, u64, Option<String>) {
    let page = store.threads(&shop(), query).await.expect("page");
    let rows = page.rows.iter().map(|thread| thread.key.thread.as_str().to_owned()).collect();
    (rows, page.total, page.next)
}

async fn all(store: &dyn Store, order: ThreadOrder) -> Vec<String> {
    list(store, ThreadQuery { order, limit: 1000, ..ThreadQuery::default() }).await.0
}

async fn make(store: &dyn Store, count: usize) -> Vec<String> {
    for n in 0..count {
        store.create_thread(&key("shop", &format!("t{n}")), NewThread::default()).await.expect("made");
    }
    (0..count).map(|n| format!("t{n}")).collect()
}

async fn rename(store: &dyn Store, thread: &str, title: &str) {
    let change = ThreadChange { title: Some(title.to_owned()), metadata: None };
    store.update_thread(&key("shop", thread), change).await.expect("renamed");
}

/// A thread that is there is given back as it is.
pub async fn making_a_thread_again_changes_nothing(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let new = NewThread {
        agent: Some(agent("clerk")),
        title: "Invoice".to_owned(),
        metadata: Some(Map::from_iter([("desk".to_owned(), json!("B"))])),
        parent: None,
    };
    let (made, fresh) = store.create_thread(&key, new.clone()).await.expect("made");
    assert!(fresh);
    assert_eq!((made.title.as_str(), made.metadata.as_ref()), ("Invoice", new.metadata.as_ref()));
    let (again, fresh) = store.create_thread(&key, NewThread::default()).await.expect("again");
    assert!(!fresh);
    assert_eq!(again, made);
    assert_eq!(store.thread(&key).await.expect("thread"), Some(made));
    assert_eq!(list(store, ThreadQuery { limit: 10, ..ThreadQuery::default() }).await.1, 1);
}

/// Owners never meet, whatever the id.
pub async fn one_id_under_two_owners_is_two_threads(subject: &Subject) {
    let store = &*subject.store;
    whole_turn(store, &key("shop", "t"), "one").await;
    whole_turn(store, &key("bank", "t"), "one").await;
    whole_turn(store, &key("bank", "t"), "two").await;
    rename(store, "t", "the shop's").await;
    assert_eq!(ids(store, &key("shop", "t")).await, ["one-q", "one-a"]);
    let other = store.thread(&key("bank", "t")).await.expect("thread").expect("there");
    assert_eq!((other.title.as_str(), other.message_count), ("", 4));
    assert!(store.delete_thread(&key("shop", "t")).await.expect("deleted"));
    assert_eq!(ids(store, &key("bank", "t")).await.len(), 4);
}

async fn by_cursor(store: &dyn Store, order: ThreadOrder, direction: Direction) -> Vec<String> {
    let mut seen = Vec::new();
    let mut start = PageStart::First;
    for (size, more) in [(100, true), (100, true), (5, false)] {
        let query = ThreadQuery { order, direction, start, limit: 100, agent: None };
        let (rows, total, next) = list(store, query).await;
        assert_eq!((rows.len(), next.is_some(), total), (size, more, 205), "{order:?} {direction:?}");
        seen.extend(rows);
        start = PageStart::After(next.unwrap_or_default());
    }
    seen
}

/// TO-a2 for threads: one timestamp for all, every order, both directions, by offset and by cursor.
pub async fn pages_of_205_threads_neither_repeat_nor_skip(subject: &Subject) {
    let store = &*subject.store;
    let made = make(store, 205).await;
    for order in [ThreadOrder::Created, ThreadOrder::Activity, ThreadOrder::Updated] {
        assert_eq!(by_cursor(store, order, Direction::Ascending).await, made, "{order:?}");
        let mut descending = by_cursor(store, order, Direction::Descending).await;
        descending.reverse();
        assert_eq!(descending, made, "{order:?}");
        let mut seen = BTreeSet::new();
        for offset in [0, 100, 200] {
            let start = PageStart::Offset(offset);
            let query = ThreadQuery { order, start, limit: 100, ..ThreadQuery::default() };
            seen.extend(list(store, query).await.0);
        }
        assert_eq!(seen.len(), 205, "{order:?} by offset");
    }
}

/// A thread of the first page that changes, or dies, neither repeats nor pushes another one out.
pub async fn a_change_between_pages_moves_nothing_else(subject: &Subject) {
    let store = &*subject.store;
    make(store, 30).await;
    for order in [ThreadOrder::Created, ThreadOrder::Activity, ThreadOrder::Updated] {
        let before = all(store, order).await;
        let query = ThreadQuery { order, limit: 10, ..ThreadQuery::default() };
        let (first, _, next) = list(store, query.clone()).await;
        rename(store, &first[3], "changed").await;
        let moved = key("shop", &first[4]);
        store.append(&moved, vec![question(&format!("{order:?}"))]).await.expect("appended");
        store.create_thread(&key("shop", &format!("new {order:?}")), NewThread::default()).await.expect("made");
        store.delete_thread(&key("shop", &first[9])).await.expect("the row the page ended with is gone");
        let start = PageStart::After(next.expect("more"));
        let (rest, _, _) = list(store, ThreadQuery { start, limit: 1000, ..query }).await;
        assert_eq!([first, rest].concat(), before, "{order:?}");
    }
}

/// Made: never moves. Activity: a message moves it, a rename does not. Updated: both do.
pub async fn orders_move_threads_for_their_own_reasons(subject: &Subject) {
    let store = &*subject.store;
    make(store, 3).await;
    store.append(&key("shop", "t0"), vec![question("q")]).await.expect("appended");
    rename(store, "t1", "renamed").await;
    assert_eq!(all(store, ThreadOrder::Created).await, ["t2", "t1", "t0"]);
    assert_eq!(all(store, ThreadOrder::Activity).await, ["t0", "t2", "t1"]);
    assert_eq!(all(store, ThreadOrder::Updated).await, ["t1", "t0", "t2"]);
}

/// A sub-agent's thread is readable by its key and stands in no list and no count.
pub async fn threads_of_sub_agents_are_not_listed(subject: &Subject) {
    let store = &*subject.store;
    make(store, 1).await;
    let parent = Some(ThreadId::new("t0").expect("legal"));
    let new = NewThread { agent: Some(agent("clerk")), parent, ..NewThread::default() };
    store.create_thread(&key("shop", "child"), new).await.expect("made");
    whole_turn(store, &key("shop", "child"), "one").await;
    let (rows, total, _) = list(store, ThreadQuery { limit: 10, ..ThreadQuery::default() }).await;
    assert_eq!((rows, total), (vec!["t0".to_owned()], 1));
    let clerk = ThreadQuery { limit: 10, agent: Some(agent("clerk")), ..ThreadQuery::default() };
    let (rows, total, _) = list(store, clerk).await;
    assert_eq!((rows.len(), total), (0, 0));
    assert_eq!(ids(store, &key("shop", "child")).await.len(), 2);
}

/// An agent took part where it began the thread or wrote an answer.
pub async fn threads_can_be_listed_by_agent(subject: &Subject) {
    let store = &*subject.store;
    make(store, 2).await;
    whole_turn(store, &key("shop", "begun"), "one").await;
    begin(store, &key("shop", "t0"), "two").await.expect("begins");
    finish(store, &key("shop", "t0"), "two").await.expect("ends");
    let origin = Some(Origin { agent: agent("cook"), generation: 1, fingerprint: String::new() });
    let by_cook = Message { origin, ..answer("cooked") };
    store.append(&key("shop", "begun"), vec![by_cook, question("q")]).await.expect("appended");
    for (name, expected) in [("clerk", vec!["begun", "t0"]), ("cook", vec!["begun"]), ("nobody", vec![])] {
        let query =
            ThreadQuery { agent: Some(agent(name)), order: ThreadOrder::Activity, limit: 10, ..ThreadQuery::default() };
        let (rows, total, next) = list(store, query.clone()).await;
        assert_eq!(
            (rows, total, next),
            (expected.iter().map(ToString::to_string).collect(), expected.len() as u64, None)
        );
    }
    store.delete_thread(&key("shop", "begun")).await.expect("deleted");
    let query = ThreadQuery { agent: Some(agent("clerk")), limit: 10, ..ThreadQuery::default() };
    assert_eq!(list(store, query).await.1, 1);
}

async fn of_cook(store: &dyn Store, order: ThreadOrder, direction: Direction, size: usize) -> Vec<String> {
    let mut seen = Vec::new();
    let mut start = PageStart::First;
    loop {
        let agent = Some(agent("cook"));
        let query = ThreadQuery { order, direction, start, limit: size, agent: agent.clone() };
        let (rows, total, next) = list(store, query).await;
        let start_there = PageStart::Offset(seen.len() as u64);
        let by_offset = ThreadQuery { order, direction, start: start_there, limit: size, agent };
        assert_eq!(list(store, by_offset).await, (rows.clone(), total, next.clone()), "{order:?} {direction:?}");
        seen.extend(rows);
        match next {
            Some(next) => start = PageStart::After(next),
            None => {
                assert_eq!(total, seen.len() as u64, "{order:?} {direction:?}");
                return seen;
            }
        }
    }
}

/// The list of one agent has the orders and the pages that the whole list has.
pub async fn pages_of_one_agent_follow_every_move(subject: &Subject) {
    let store = &*subject.store;
    let cook = || NewThread { agent: Some(agent("cook")), ..NewThread::default() };
    for n in 0..30 {
        let new = if n % 3 == 0 { cook() } else { NewThread::default() };
        store.create_thread(&key("shop", &format!("t{n}")), new).await.expect("made");
    }
    store.create_thread(&key("bank", "elsewhere"), cook()).await.expect("made");
    let parent = Some(ThreadId::new("t0").expect("legal"));
    store.create_thread(&key("shop", "child"), NewThread { parent, ..cook() }).await.expect("made");
    // Cook joins t1 late; t3 gets a message, t6 a name, t9 an answer that is overwritten; t12 goes.
    let origin = Some(Origin { agent: agent("cook"), generation: 1, fingerprint: String::new() });
    let by_cook = Message { origin, ..answer("cooked") };
    store.append(&key("shop", "t1"), vec![by_cook]).await.expect("appended");
    begin(store, &key("shop", "t9"), "nine").await.expect("begins");
    finish(store, &key("shop", "t9"), "nine").await.expect("ends");
    store.append(&key("shop", "t3"), vec![question("q")]).await.expect("appended");
    rename(store, "t6", "renamed").await;
    finish(store, &key("shop", "t9"), "nine").await.expect("written again");
    store.delete_thread(&key("shop", "t12")).await.expect("deleted");
    for (order, expected) in [
        (ThreadOrder::Created, ["t27", "t24", "t21", "t18", "t15", "t9", "t6", "t3", "t1", "t0"]),
        (ThreadOrder::Activity, ["t3", "t9", "t1", "t27", "t24", "t21", "t18", "t15", "t6", "t0"]),
        (ThreadOrder::Updated, ["t9", "t6", "t3", "t1", "t27", "t24", "t21", "t18", "t15", "t0"]),
    ] {
        for size in [1, 3, 10, 11] {
            assert_eq!(of_cook(store, order, Direction::Descending, size).await, expected, "{order:?}");
            let mut ascending = of_cook(store, order, Direction::Ascending, size).await;
            ascending.reverse();
            assert_eq!(ascending, expected, "{order:?}");
        }
    }
}

/// A cursor of another order, or no cursor at all, is the caller's mistake.
pub async fn a_foreign_cursor_is_invalid(subject: &Subject) {
    let store = &*subject.store;
    make(store, 3).await;
    let (_, _, next) = list(store, ThreadQuery { limit: 1, ..ThreadQuery::default() }).await;
    let next = next.expect("more");
    for (order, text) in [
        (ThreadOrder::Activity, next.as_str()),
        (ThreadOrder::Created, ""),
        (ThreadOrder::Created, "c"),
        (ThreadOrder::Created, "cxyz"),
        (ThreadOrder::Created, "c-1"),
        (ThreadOrder::Created, "cffffffffffffffff"),
    ] {
        let query = ThreadQuery { order, start: PageStart::After(text.to_owned()), limit: 1, ..ThreadQuery::default() };
        refused(store.threads(&shop(), query).await, StoreErrorKind::Invalid);
    }
    let start = PageStart::Offset(u64::MAX);
    let (rows, total, _) = list(store, ThreadQuery { start, limit: 5, ..ThreadQuery::default() }).await;
    assert_eq!((rows.len(), total), (0, 3));
}

/// TO-a4 at the store: a change touches only the fields it names.
pub async fn changes_are_field_wise(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t0"));
    make(store, 1).await;
    let desk = Map::from_iter([("desk".to_owned(), json!("B"))]);
    let only_metadata = ThreadChange { title: None, metadata: Some(desk.clone()) };
    store.update_thread(&key, only_metadata).await.expect("changed");
    rename(store, "t0", "Invoice 4").await;
    store.update_thread(&key, ThreadChange::default()).await.expect("nothing to change");
    whole_turn(store, &key, "one").await;
    let thread = store.thread(&key).await.expect("thread").expect("there");
    assert_eq!((thread.title.as_str(), thread.metadata, thread.message_count), ("Invoice 4", Some(desk), 2));
}

/// TO-c1: after a deletion the id is free, empty and counted nowhere; what hung below it is gone as well.
pub async fn deleting_leaves_nothing(subject: &Subject) {
    let (store, root) = (&*subject.store, key("shop", "root"));
    whole_turn(store, &root, "one").await;
    for (child, parent) in [("child", "root"), ("grandchild", "child")] {
        let parent = Some(ThreadId::new(parent).expect("legal"));
        store.create_thread(&key("shop", child), NewThread { parent, ..NewThread::default() }).await.expect("made");
        whole_turn(store, &key("shop", child), "one").await;
    }
    whole_turn(store, &key("shop", "other"), "one").await;
    assert!(store.delete_thread(&root).await.expect("deleted"));
    assert!(!store.delete_thread(&root).await.expect("nothing left"));
    for gone in ["root", "child", "grandchild"] {
        assert_eq!(store.thread(&key("shop", gone)).await.expect("thread"), None);
        assert!(ids(store, &key("shop", gone)).await.is_empty());
    }
    assert_eq!(list(store, ThreadQuery { limit: 10, ..ThreadQuery::default() }).await.1, 1);
    store.create_thread(&root, NewThread::default()).await.expect("made anew");
    assert!(ids(store, &root).await.is_empty());
    whole_turn(store, &root, "one").await;
    assert_eq!(ids(store, &root).await, ["one-q", "one-a"]);
    assert_eq!(ids(store, &key("shop", "other")).await.len(), 2);
}

/// The operator can ask who has a thread of an id.
pub async fn owners_of_an_id_are_found(subject: &Subject) {
    let store = &*subject.store;
    for owner in ["a", "b", "c"] {
        store.create_thread(&key(owner, "t"), NewThread::default()).await.expect("made");
    }
    store.delete_thread(&key("b", "t")).await.expect("deleted");
    let thread = ThreadId::new("t").expect("legal");
    let owners = store.owners(&thread, 10).await.expect("owners");
    assert_eq!(owners.iter().map(ResourceId::as_str).collect::<BTreeSet<_>>(), BTreeSet::from(["a", "c"]));
    assert_eq!(store.owners(&thread, 1).await.expect("owners").len(), 1);
    store.health().expect("healthy");
}
