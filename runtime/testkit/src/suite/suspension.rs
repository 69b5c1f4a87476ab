//! What every store must do with turns that wait for a person; the macro
//! [`suspension_suite!`](crate::suspension_suite) makes a test of each rule.

use roster_model::id::ThreadKey;
use roster_model::message::{Message, MessageStatus, Part, Seq, ToolCall};
use roster_model::storage::StoreErrorKind;
use roster_model::suspension::{EXPIRES_AFTER, NO_RESULT, NOT_DECIDED};
use roster_model::time::Timestamp;
use serde_json::Map;

use super::conversation::{answer, begin, finish, key, refused, save, turn, whole_turn};
use super::session::{Session, Subject, owner, rules};

rules! { suspension_suite, suspension;
    a_suspended_turn_is_found_by_its_owner_alone
    a_resumed_turn_holds_its_thread_and_is_resumed_once
    a_turn_that_never_waited_is_not_found
    a_new_turn_overtakes_one_that_waits
    a_turn_can_wait_twice
    a_copy_waits_for_nobody
    what_waited_too_long_is_not_resumed
    a_deleted_thread_waits_for_nobody
    what_waits_for_its_client_is_not_listed
}

/// An answer that waits for its one call.
fn waiting(name: &str) -> Message {
    let call = ToolCall { id: format!("{name}-c"), name: "pay".into(), arguments: Map::new(), malformed: None };
    let mut message = answer(&format!("{name}-a"));
    message.parts.push(Part::ToolCall(call));
    message.status = MessageStatus::Suspended;
    message
}

async fn suspend(store: &dyn Session, key: &ThreadKey, name: &str) {
    begin(store, key, name).await.expect("begins");
    save(store, key, name, Some(waiting(name)), true).await.expect("suspended");
}

/// Another owner does not learn that it exists.
pub async fn a_suspended_turn_is_found_by_its_owner_alone(subject: &Subject) {
    let (store, shop, one) = (&*subject.store, owner("shop"), turn("one"));
    suspend(store, &key("shop", "t"), "one").await;
    suspend(store, &key("cafe", "t"), "two").await;
    let found = store.suspended_turn(&shop, &one).await.expect("asked").expect("there");
    assert_eq!((&found.key, &found.turn, found.row.seq), (&key("shop", "t"), &one, Seq(2)));
    assert_eq!(found.calls().iter().map(|call| call.id.as_str()).collect::<Vec<_>>(), ["one-c"]);
    assert_eq!(store.suspended_turn(&owner("cafe"), &one).await.expect("asked"), None);
    assert_eq!(store.any_suspended(&one).await.expect("asked").as_ref(), Some(&found), "operators find it");
    assert_eq!(store.any_suspended(&turn("three")).await.expect("asked"), None);
    let listed = store.suspended_turns(&shop, 10).await.expect("listed");
    assert_eq!(listed, [found]);
    assert_eq!(store.all_suspended(10).await.expect("listed").len(), 2);
    assert_eq!(store.all_suspended(1).await.expect("listed").len(), 1);
    refused(store.resume_turn(&owner("cafe"), &one).await, StoreErrorKind::NotFound);
}

/// While it runs again a new turn waits for it.
pub async fn a_resumed_turn_holds_its_thread_and_is_resumed_once(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    whole_turn(store, &key, "zero").await;
    suspend(store, &key, "one").await;
    let resumed = store.resume_turn(&shop, &turn("one")).await.expect("resumed");
    assert_eq!((resumed.question, resumed.turn.row.message.status), (Some(Seq(3)), MessageStatus::Running));
    assert_eq!(store.suspended_turns(&shop, 10).await.expect("listed"), []);
    refused(store.resume_turn(&shop, &turn("one")).await, StoreErrorKind::Conflict);
    let mut next = std::pin::pin!(begin(store, &key, "two"));
    tokio::select! {
        biased;
        begun = &mut next => panic!("did not wait: {begun:?}"),
        _ = store.thread(&key) => {}
    }
    finish(store, &key, "one").await.expect("ends");
    assert_eq!(next.await.expect("begins").first, Seq(5));
    refused(store.resume_turn(&shop, &turn("one")).await, StoreErrorKind::Conflict);
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[3].message.status, MessageStatus::Complete);
}

/// Neither one that ran through nor one that is unknown.
pub async fn a_turn_that_never_waited_is_not_found(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    whole_turn(store, &key, "one").await;
    for name in ["one", "nobody"] {
        assert_eq!(store.suspended_turn(&owner("shop"), &turn(name)).await.expect("asked"), None);
        refused(store.resume_turn(&owner("shop"), &turn(name)).await, StoreErrorKind::NotFound);
    }
}

/// Its calls are answered: not run. It cannot be resumed any more.
pub async fn a_new_turn_overtakes_one_that_waits(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    suspend(store, &key, "one").await;
    suspend(store, &self::key("shop", "other"), "aside").await;
    whole_turn(store, &key, "two").await;
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Interrupted);
    let Some(Part::ToolResult(result)) = rows[1].message.parts.last() else { panic!("{rows:?}") };
    assert!(result.is_error && result.call_id == "one-c" && result.output == NOT_DECIDED, "{result:?}");
    refused(store.resume_turn(&shop, &turn("one")).await, StoreErrorKind::Conflict);
    let found = store.suspended_turn(&shop, &turn("one")).await.expect("asked").expect("known");
    assert!(!found.waits(found.row.message.created_at));
    assert_eq!(store.suspended_turns(&shop, 10).await.expect("listed").len(), 1, "the other thread's waits on");
}

/// Resumed, and suspended again by another call.
pub async fn a_turn_can_wait_twice(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    suspend(store, &key, "one").await;
    for _ in 0..2 {
        store.resume_turn(&shop, &turn("one")).await.expect("resumed");
        save(store, &key, "one", Some(waiting("one")), true).await.expect("suspended");
        assert_eq!(store.suspended_turns(&shop, 10).await.expect("listed").len(), 1);
    }
    whole_turn(store, &key, "two").await;
    assert_eq!(store.suspended_turns(&shop, 10).await.expect("listed"), []);
}

/// The original waits on.
pub async fn a_copy_waits_for_nobody(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    suspend(store, &key, "one").await;
    let target = self::key("shop", "copy").thread;
    let copied = store.copy_thread(&key, &target, Default::default(), Default::default()).await.expect("copied");
    assert_eq!(copied.messages[1].message.status, MessageStatus::Interrupted);
    let listed = store.suspended_turns(&shop, 10).await.expect("listed");
    assert_eq!(listed.iter().map(|turn| &turn.key).collect::<Vec<_>>(), [&key]);
    store.resume_turn(&shop, &turn("one")).await.expect("resumed");
}

/// It is not listed either.
pub async fn what_waited_too_long_is_not_resumed(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    let long_ago = Timestamp::from_millis(-i64::try_from(EXPIRES_AFTER.as_millis()).expect("fits"));
    let old = Message { created_at: long_ago, ..waiting("one") };
    save(store, &key, "one", Some(old), true).await.expect("suspended");
    let found = store.suspended_turn(&shop, &turn("one")).await.expect("asked").expect("there");
    let then = found.row.message.created_at.millis() + i64::try_from(EXPIRES_AFTER.as_millis()).expect("fits");
    assert!(found.waits(Timestamp::from_millis(then - 1)) && !found.waits(Timestamp::from_millis(then)));
}

/// Nothing of it is listed or found.
pub async fn a_deleted_thread_waits_for_nobody(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    suspend(store, &key, "one").await;
    assert!(store.delete_thread(&key).await.expect("deleted"));
    assert_eq!(store.suspended_turn(&shop, &turn("one")).await.expect("asked"), None);
    assert_eq!(store.all_suspended(10).await.expect("listed"), []);
    refused(store.resume_turn(&shop, &turn("one")).await, StoreErrorKind::NotFound);
    suspend(store, &key, "two").await;
    let rows = store.suspended_turns(&shop, 10).await.expect("listed");
    store.delete_messages(&key, vec![rows[0].row.message.id.clone()]).await.expect("deleted");
    assert_eq!(store.suspended_turn(&shop, &turn("two")).await.expect("asked"), None);
}

/// It is resumed and overtaken all the same.
pub async fn what_waits_for_its_client_is_not_listed(subject: &Subject) {
    let (store, shop, key) = (&*subject.store, owner("shop"), key("shop", "t"));
    for name in ["one", "two"] {
        begin(store, &key, name).await.expect("begins");
        let row = Message { status: MessageStatus::Awaiting, ..waiting(name) };
        save(store, &key, name, Some(row), true).await.expect("waits");
        assert_eq!(store.suspended_turns(&shop, 10).await.expect("listed"), []);
        if name == "one" {
            let resumed = store.resume_turn(&shop, &turn(name)).await.expect("resumed");
            assert_eq!(resumed.turn.row.message.status, MessageStatus::Running);
            finish(store, &key, name).await.expect("ends");
        }
    }
    whole_turn(store, &key, "three").await;
    let rows = store.tail(&key, 10, None).await.expect("tail");
    let Some(Part::ToolResult(result)) = rows[3].message.parts.last() else { panic!("{rows:?}") };
    assert!(result.is_error && result.output == NO_RESULT, "{result:?}");
    refused(store.resume_turn(&shop, &turn("two")).await, StoreErrorKind::Conflict);
}
