//! What every conversation store must do. Each rule is a function of a fresh, empty store; the macro
//! [`conversation_suite!`](crate::conversation_suite) makes a test of each, [`run_all`] runs them one after another.

mod messages;
mod threads;
mod turns;

use std::any::Any;
use std::sync::Arc;

use roster_model::id::{AgentId, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, MessageStatus, Origin, Part, Role, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, NewThread, OperatorStore, SaveAnswer, StoreError, StoreErrorKind,
};
use roster_model::time::Timestamp;
use serde_json::Map;

pub use messages::*;
pub use threads::*;
pub use turns::*;

/// Both faces of a store.
pub trait Store: ConversationStore + OperatorStore {}
impl<T: ConversationStore + OperatorStore> Store for T {}

/// A fresh store and whatever must outlive it (its temp folder).
pub struct Subject {
    /// The store under test, empty.
    pub store: Arc<dyn Store>,
    /// Dropped after the store.
    pub keep: Box<dyn Any + Send>,
}

/// Makes one test of every rule; `$make` is a function that gives a [`Subject`].
#[macro_export]
macro_rules! conversation_suite {
    ($make:expr) => {
        $crate::conversation_rules!(tests $make);
    };
}

/// The list of all rules, for [`conversation_suite!`] and [`run_all`].
#[doc(hidden)]
#[macro_export]
macro_rules! conversation_rules {
    (tests $make:expr) => {
        $crate::conversation_rules!(@list tests $make);
        $crate::conversation_rules!(@tests $make; owners_of_an_id_are_found);
    };
    (all $make:expr) => {
        $crate::conversation_rules!(@list all $make);
        $crate::conversation_rules!(@all $make; owners_of_an_id_are_found);
    };
    (of_owners $make:expr) => { $crate::conversation_rules!(@list all $make); };
    (@list $form:ident $make:expr) => {
        $crate::conversation_rules!(@$form $make;
            a_turn_is_two_rows_in_order
            a_second_turn_waits_for_the_first
            turns_of_a_thread_run_in_the_order_they_came
            a_dropped_wait_gives_up_its_place
            a_dropped_begin_does_not_keep_the_thread
            other_threads_are_not_held_up
            times_of_turns_never_go_backwards
            a_seed_goes_only_into_an_empty_thread
            a_running_answer_is_overwritten_in_place
            a_save_without_a_message_gives_the_thread_back
            a_save_into_a_deleted_thread_is_not_found
            a_taken_question_id_is_a_conflict_and_writes_nothing
            an_answer_never_replaces_another_turns_row
            a_repeated_last_save_changes_nothing
            a_late_answer_never_lands_behind_another_turn
            the_tail_is_the_newest_in_order
            the_tail_before_a_seq_leaves_the_turn_out
            unknown_threads_are_empty_or_not_found
            pages_of_205_messages_neither_repeat_nor_skip
            messages_before_one_are_paged
            messages_from_one_are_paged
            a_page_stops_at_eight_mebibytes
            a_row_larger_than_a_page_comes_alone
            the_tail_stops_at_eight_mebibytes
            appending_is_all_or_nothing
            everything_in_a_message_survives
            making_a_thread_again_changes_nothing
            one_id_under_two_owners_is_two_threads
            pages_of_205_threads_neither_repeat_nor_skip
            a_change_between_pages_moves_nothing_else
            orders_move_threads_for_their_own_reasons
            threads_of_sub_agents_are_not_listed
            threads_can_be_listed_by_agent
            pages_of_one_agent_follow_every_move
            a_foreign_cursor_is_invalid
            changes_are_field_wise
            deleting_leaves_nothing
        );
    };
    (@tests $make:expr; $($rule:ident)*) => {
        $(
            #[tokio::test]
            async fn $rule() {
                $crate::suite::conversation::$rule(&$make()).await;
            }
        )*
    };
    (@all $make:expr; $($rule:ident)*) => {
        $( $rule(&$make()).await; )*
    };
}

/// Runs every rule, each on a fresh store; panics at the first that does not hold.
pub async fn run_all(make: impl Fn() -> Subject) {
    crate::conversation_rules!(all make);
}

/// The same without what only an operator asks.
pub async fn run_of_owners(make: impl Fn() -> Subject) {
    crate::conversation_rules!(of_owners make);
}

/// The thread `thread` of the owner `resource`.
#[must_use]
pub fn key(resource: &str, thread: &str) -> ThreadKey {
    let resource = ResourceId::new(resource).expect("legal resource id");
    ThreadKey { resource, thread: ThreadId::new(thread).expect("legal thread id") }
}

/// A turn id.
#[must_use]
pub fn turn(text: &str) -> TurnId {
    TurnId::new(text).expect("legal turn id")
}

/// An agent id.
#[must_use]
pub fn agent(text: &str) -> AgentId {
    AgentId::new(text).expect("legal agent id")
}

/// A message that says `text`; all of them carry the same timestamp.
#[must_use]
pub fn message(id: &str, role: Role, text: &str) -> Message {
    Message {
        id: MessageId::new(id).expect("legal message id"),
        role,
        parts: vec![Part::text(text)],
        created_at: Timestamp::from_millis(1_893_456_000_000),
        status: MessageStatus::Complete,
        origin: None,
        metadata: Map::new(),
    }
}

/// A user's message.
#[must_use]
pub fn question(id: &str) -> Message {
    message(id, Role::User, &format!("question {id}"))
}

/// An assistant's message made by `clerk`.
#[must_use]
pub fn answer(id: &str) -> Message {
    let origin = Origin { agent: agent("clerk"), generation: 1, fingerprint: "f".to_owned() };
    Message { origin: Some(origin), ..message(id, Role::Assistant, &format!("answer {id}")) }
}

/// Begins turn `name` on the thread, with the question `name` + `-q`.
///
/// # Errors
/// The store's own.
pub async fn begin(store: &dyn Store, key: &ThreadKey, name: &str) -> Result<Begun, StoreError> {
    begin_with(store, key, name, Vec::new()).await
}

/// The same with a seed.
///
/// # Errors
/// The store's own.
pub async fn begin_with(
    store: &dyn Store,
    key: &ThreadKey,
    name: &str,
    seed: Vec<Message>,
) -> Result<Begun, StoreError> {
    let thread = NewThread { agent: Some(agent("clerk")), ..NewThread::default() };
    let question = question(&format!("{name}-q"));
    store.begin_turn(BeginTurn { key: key.clone(), turn: turn(name), seed, question, thread }).await
}

/// Saves a turn's row.
///
/// # Errors
/// The store's own.
pub async fn save(
    store: &dyn Store,
    key: &ThreadKey,
    name: &str,
    message: Option<Message>,
    last: bool,
) -> Result<(), StoreError> {
    store.save_answer(SaveAnswer { key: key.clone(), turn: turn(name), message, last }).await
}

/// Ends turn `name` with the answer `name` + `-a`.
///
/// # Errors
/// The store's own.
pub async fn finish(store: &dyn Store, key: &ThreadKey, name: &str) -> Result<(), StoreError> {
    save(store, key, name, Some(answer(&format!("{name}-a"))), true).await
}

/// A whole turn.
pub async fn whole_turn(store: &dyn Store, key: &ThreadKey, name: &str) {
    begin(store, key, name).await.expect("turn begins");
    finish(store, key, name).await.expect("turn ends");
}

/// The ids of all rows of a thread.
pub async fn ids(store: &dyn Store, key: &ThreadKey) -> Vec<String> {
    let rows = store.tail(key, 100_000, None).await.expect("tail");
    ids_of(&rows)
}

/// The ids of these rows.
#[must_use]
pub fn ids_of(rows: &[StoredMessage]) -> Vec<String> {
    rows.iter().map(|row| row.message.id.as_str().to_owned()).collect()
}

/// Fails unless `result` is an error of this kind.
pub fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>, kind: StoreErrorKind) {
    match result {
        Err(error) => assert_eq!(error.kind, kind, "{error}"),
        Ok(value) => panic!("{kind:?} expected, got {value:?}"),
    }
}
