//! What every store must do with whole threads and owners; the macro
//! [`housekeeping_suite!`](crate::housekeeping_suite) makes a test of each rule.

mod copies;
mod fields;
mod owners;
mod removal;

use roster_model::feed::FeedRecord;
use roster_model::id::{ResourceId, ThreadKey};
use roster_model::storage::{MessageQuery, ThreadQuery};
use roster_model::time::Timestamp;
use roster_model::working::MemoryScope;

use super::conversation::{agent, ids, turn, whole_turn};
use super::session::{Session, all_vectors, entry, hits, rules};

pub use copies::*;
pub use fields::*;
pub use owners::*;
pub use removal::*;

rules! { housekeeping_suite, housekeeping;
    a_copy_is_a_thread_of_its_own
    a_copy_can_take_a_range
    a_copy_keeps_what_its_filters_take
    a_large_copy_tells_its_beginning
    a_copy_takes_its_index_entries_along
    a_copy_takes_the_working_memory_along
    a_copied_answer_that_was_running_is_interrupted
    a_copy_over_a_thread_is_a_conflict
    a_long_thread_is_copied_whole
    a_transferred_thread_takes_everything_along
    a_transfer_never_meets_another_thread
    a_transfer_waits_for_no_turn
    a_transfer_to_its_own_owner_changes_nothing
    deleted_messages_are_gone_and_counted
    pages_over_deleted_messages_neither_repeat_nor_skip
    pages_over_deleted_messages_stop_at_eight_mebibytes
    a_thread_emptied_by_deletions_goes_on
    threads_of_messages_are_found
    a_thread_is_deleted_as_empty_only_while_it_is
    threads_below_one_kept_elsewhere_go_with_it
    erasing_leaves_nothing_of_an_owner
    erasing_nobody_removes_nothing
    an_erased_owner_begins_anew
    metadata_is_merged_by_key
    a_title_is_set_only_if_there_is_none
}

/// A thread with two turns, an entry for each message, a working memory and a feed record.
async fn rich(store: &dyn Session, key: &ThreadKey) {
    let rows = ["one", "two"];
    for name in rows {
        whole_turn(store, key, name).await;
    }
    let entries = ["one-q", "one-a", "two-q", "two-a"].map(|id| entry(id, &[1.0, 2.0], &format!("shared {id}")));
    store.index(key, "s", entries.to_vec()).await.expect("indexed");
    store
        .set_working_memory(&MemoryScope::Thread(key.clone()), Some("likes tea".to_owned()), 0)
        .await
        .expect("written");
    let record = FeedRecord { turn: turn("two"), step: 1, at: Timestamp::from_millis(5), record: "{}".to_owned() };
    store.put_feed(vec![(key.clone(), vec![record])], Timestamp::from_millis(0)).await.expect("written");
}

/// What every reader finds of a thread: messages, listed threads of its owner, of the agent, vectors, hits, working
/// memories, feed records.
async fn found(store: &dyn Session, key: &ThreadKey) -> [usize; 7] {
    let all = store.threads(&key.resource, ThreadQuery { limit: 100, ..Default::default() }).await.expect("listed");
    let by_agent = ThreadQuery { limit: 100, agent: Some(agent("clerk")), ..Default::default() };
    let by_agent = store.threads(&key.resource, by_agent).await.expect("listed");
    assert_eq!((all.rows.len() as u64, by_agent.rows.len() as u64), (all.total, by_agent.total), "counts are right");
    let memory = store.working_memory(&MemoryScope::Thread(key.clone())).await.expect("read");
    [
        ids(store, key).await.len(),
        all.rows.len(),
        by_agent.rows.len(),
        all_vectors(store, &key.resource, "s", 100).await.len(),
        hits(store, &key.resource, &["shared"]).await.len(),
        usize::from(memory.is_some()),
        store.feed(key, None).await.expect("feed").len(),
    ]
}

/// The newest messages, whole, oldest first, with the total.
async fn listed(store: &dyn Session, key: &ThreadKey) -> (Vec<String>, u64) {
    let query = MessageQuery { limit: 10_000, ..MessageQuery::default() };
    let page = store.messages(key, query).await.expect("page");
    let mut ids = super::conversation::ids_of(&page.rows);
    ids.reverse();
    (ids, page.total)
}

fn moved(key: &ThreadKey, to: &ResourceId) -> ThreadKey {
    ThreadKey { resource: to.clone(), thread: key.thread.clone() }
}
