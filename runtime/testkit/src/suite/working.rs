//! What every store of working memory must do; the macro [`working_suite!`](crate::working_suite) makes a test of
//! each rule.

use std::sync::Arc;

use roster_model::storage::StoreErrorKind;
use roster_model::working::MemoryScope;

use super::conversation::{key, refused};
use super::session::{Session, Subject, owner, rules, thread_of};

rules! { working_suite, working;
    nothing_was_written_at_first
    a_memory_comes_back_with_its_version
    a_write_over_another_version_is_a_conflict
    a_cleared_memory_is_as_if_never_written
    an_old_version_never_fits_again
    scopes_and_owners_do_not_share_memories
    a_memory_of_a_thread_needs_its_thread
    a_memory_goes_with_its_thread
    writes_at_once_lose_nothing
}

fn of_owner(resource: &str) -> MemoryScope {
    MemoryScope::Resource(owner(resource))
}

fn of_thread(resource: &str, thread: &str) -> MemoryScope {
    MemoryScope::Thread(key(resource, thread))
}

async fn text(store: &dyn Session, scope: &MemoryScope) -> Option<String> {
    store.working_memory(scope).await.expect("read").map(|memory| memory.text)
}

async fn set(store: &dyn Session, scope: &MemoryScope, text: &str, seen: u64) -> u64 {
    store.set_working_memory(scope, Some(text.to_owned()), seen).await.expect("written")
}

/// Neither for an owner nor for a thread.
pub async fn nothing_was_written_at_first(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &[]).await;
    for scope in [of_owner("shop"), of_thread("shop", "t"), of_thread("shop", "nope")] {
        assert_eq!(text(store, &scope).await, None);
    }
}

/// Any text; the version grows by one with each write.
pub async fn a_memory_comes_back_with_its_version(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &[]).await;
    for scope in [of_owner("shop"), of_thread("shop", "t")] {
        let first = set(store, &scope, "# 北京 \"'; -- 😀\n- tea", 0).await;
        assert_eq!(first, 1);
        assert_eq!(set(store, &scope, "", first).await, 2);
        let memory = store.working_memory(&scope).await.expect("read").expect("there");
        assert_eq!((memory.text.as_str(), memory.version), ("", 2), "an empty text is a text");
        let thread = store.thread(&key("shop", "t")).await.expect("thread").expect("there");
        assert_eq!(memory.updated_at, thread.created_at, "dated by the store's clock");
    }
}

/// Whoever read something else has to read again.
pub async fn a_write_over_another_version_is_a_conflict(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &[]).await;
    for scope in [of_owner("shop"), of_thread("shop", "t")] {
        refused(store.set_working_memory(&scope, Some("x".to_owned()), 1).await, StoreErrorKind::Conflict);
        let seen = set(store, &scope, "one", 0).await;
        for wrong in [0, seen + 1] {
            refused(store.set_working_memory(&scope, Some("x".to_owned()), wrong).await, StoreErrorKind::Conflict);
            refused(store.set_working_memory(&scope, None, wrong).await, StoreErrorKind::Conflict);
        }
        assert_eq!(text(store, &scope).await.as_deref(), Some("one"));
    }
}

/// The next writer, who saw nothing, writes with 0; the one who cleared it with what it was given.
pub async fn a_cleared_memory_is_as_if_never_written(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &[]).await;
    for scope in [of_owner("shop"), of_thread("shop", "t")] {
        let seen = set(store, &scope, "one", 0).await;
        let cleared = store.set_working_memory(&scope, None, seen).await.expect("cleared");
        assert!(cleared > seen);
        assert_eq!(text(store, &scope).await, None);
        let seen = set(store, &scope, "two", 0).await;
        let cleared = store.set_working_memory(&scope, None, seen).await.expect("cleared");
        set(store, &scope, "three", cleared).await;
        assert_eq!(text(store, &scope).await.as_deref(), Some("three"));
    }
}

/// Cleared and written anew, it is not what an earlier reader saw.
pub async fn an_old_version_never_fits_again(subject: &Subject) {
    let (store, scope) = (&*subject.store, of_owner("shop"));
    let old = set(store, &scope, "one", 0).await;
    store.set_working_memory(&scope, None, old).await.expect("cleared");
    set(store, &scope, "two", 0).await;
    refused(store.set_working_memory(&scope, Some("x".to_owned()), old).await, StoreErrorKind::Conflict);
    assert_eq!(text(store, &scope).await.as_deref(), Some("two"));
}

/// One id under two owners, and an owner's own beside its threads'.
pub async fn scopes_and_owners_do_not_share_memories(subject: &Subject) {
    let store = &*subject.store;
    let scopes = [of_owner("a"), of_owner("b"), of_thread("a", "t"), of_thread("b", "t"), of_thread("a", "u")];
    for scope in &scopes {
        if let MemoryScope::Thread(key) = scope {
            thread_of(store, key, &[]).await;
        }
        set(store, scope, &format!("{scope:?}"), 0).await;
    }
    for scope in &scopes {
        assert_eq!(text(store, scope).await, Some(format!("{scope:?}")));
    }
}

/// A thread that does not exist is made by nothing but a turn or its making.
pub async fn a_memory_of_a_thread_needs_its_thread(subject: &Subject) {
    let (store, scope) = (&*subject.store, of_thread("shop", "nope"));
    refused(store.set_working_memory(&scope, Some("x".to_owned()), 0).await, StoreErrorKind::NotFound);
    refused(store.set_working_memory(&scope, None, 0).await, StoreErrorKind::NotFound);
    assert_eq!(store.thread(&key("shop", "nope")).await.expect("thread"), None);
}

/// A thread made anew under the id knows nothing; the owner's own memory stays.
pub async fn a_memory_goes_with_its_thread(subject: &Subject) {
    let store = &*subject.store;
    thread_of(store, &key("shop", "t"), &["q"]).await;
    set(store, &of_thread("shop", "t"), "of the thread", 0).await;
    set(store, &of_owner("shop"), "of the owner", 0).await;
    assert!(store.delete_thread(&key("shop", "t")).await.expect("deleted"));
    assert_eq!(text(store, &of_thread("shop", "t")).await, None);
    thread_of(store, &key("shop", "t"), &[]).await;
    assert_eq!(text(store, &of_thread("shop", "t")).await, None);
    assert_eq!(text(store, &of_owner("shop")).await.as_deref(), Some("of the owner"));
}

/// TO-a5: two who write at the same moment, each trying again after a conflict, are both there.
pub async fn writes_at_once_lose_nothing(subject: &Subject) {
    let add = async |store: Arc<dyn Session>, name: String| {
        let scope = of_owner("shop");
        for round in 0..25 {
            loop {
                let seen = store.working_memory(&scope).await.expect("read");
                let (text, version) = seen.map_or((String::new(), 0), |memory| (memory.text, memory.version));
                let more = format!("{text}{name}{round} ");
                match store.set_working_memory(&scope, Some(more), version).await {
                    Ok(_) => break,
                    Err(error) => assert_eq!(error.kind, StoreErrorKind::Conflict, "{error}"),
                }
            }
        }
    };
    let store = || Arc::clone(&subject.store);
    tokio::join!(add(store(), "a".to_owned()), add(store(), "b".to_owned()), add(store(), "c".to_owned()));
    let memory = subject.store.working_memory(&of_owner("shop")).await.expect("read").expect("there");
    assert_eq!((memory.text.split_whitespace().count(), memory.version), (75, 75));
}
