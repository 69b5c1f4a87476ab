//! What the suites of session memory share: a store with all of its faces, and small makers of what goes in.

use std::any::Any;
use std::sync::Arc;

use roster_model::housekeeping::SessionStore;
use roster_model::id::{MessageId, ResourceId, ThreadKey};
use roster_model::message::{Role, StoredMessage};
use roster_model::recall::{IndexEntry, IndexedVector, TextHit};

use super::conversation::{Store, answer, message, question};

/// Every face of a store that session memory needs.
pub trait Session: SessionStore + Store {}
impl<T: SessionStore + Store> Session for T {}

/// A fresh store and whatever must outlive it (its temp folder).
pub struct Subject {
    /// The store under test, empty.
    pub store: Arc<dyn Session>,
    /// Dropped after the store.
    pub keep: Box<dyn Any + Send>,
}

/// Makes one test of every rule of every suite of session memory; `$make` is a function that gives a [`Subject`].
#[macro_export]
macro_rules! session_suites {
    ($make:expr) => {
        $crate::housekeeping_suite!($make);
        $crate::working_suite!($make);
        $crate::recall_suite!($make);
        $crate::feed_suite!($make);
        $crate::suspension_suite!($make);
    };
}

/// The list of a suite's rules: as a macro `$name!` that makes a test of each, and as a function `run_all`.
macro_rules! rules {
    ($name:ident, $suite:ident; $($rule:ident)*) => {
        /// Makes one test of every rule; `$make` is a function that gives a
        /// [`Subject`](crate::suite::session::Subject).
        #[macro_export]
        macro_rules! $name {
            ($make:expr) => {
                $(
                    #[tokio::test]
                    async fn $rule() {
                        $crate::suite::$suite::$rule(&$make()).await;
                    }
                )*
            };
        }

        /// Runs every rule, each on a fresh store; panics at the first that does not hold.
        pub async fn run_all(make: impl Fn() -> $crate::suite::session::Subject) {
            $( $rule(&make()).await; )*
        }
    };
}
pub(crate) use rules;

/// An owner.
#[must_use]
pub fn owner(text: &str) -> ResourceId {
    ResourceId::new(text).expect("legal resource id")
}

/// A message id.
#[must_use]
pub fn id(text: &str) -> MessageId {
    MessageId::new(text).expect("legal message id")
}

/// An entry with a vector.
#[must_use]
pub fn entry(message: &str, vector: &[f32], terms: &str) -> IndexEntry {
    IndexEntry { message: id(message), vector: Some(vector.to_vec()), terms: terms.to_owned() }
}

/// An entry without one.
#[must_use]
pub fn words_only(message: &str, terms: &str) -> IndexEntry {
    IndexEntry { message: id(message), vector: None, terms: terms.to_owned() }
}

/// Makes the thread with these messages: ids that end in `a` are answers of `clerk`, the others questions.
pub async fn thread_of(store: &dyn Session, key: &ThreadKey, ids: &[&str]) -> Vec<StoredMessage> {
    store.create_thread(key, Default::default()).await.expect("made");
    let rows = ids.iter().map(|id| if id.ends_with('a') { answer(id) } else { question(id) }).collect();
    store.append(key, rows).await.expect("appended")
}

/// Makes the thread with messages `<thread>.0`, `<thread>.1` …, all of them questions.
pub async fn long_thread(store: &dyn Session, key: &ThreadKey, count: usize) -> Vec<StoredMessage> {
    store.create_thread(key, Default::default()).await.expect("made");
    let name = |n: usize| format!("{}.{n}", key.thread);
    let rows = (0..count).map(|n| message(&name(n), Role::User, "text")).collect();
    store.append(key, rows).await.expect("appended")
}

/// Where vectors were found: thread and seq, in the order given.
#[must_use]
pub fn places(rows: &[IndexedVector]) -> Vec<(String, u64)> {
    rows.iter().map(|row| (row.thread.to_string(), row.seq.0)).collect()
}

/// All vectors of an owner in a space, page by page.
pub async fn all_vectors(store: &dyn Session, resource: &ResourceId, space: &str, page: usize) -> Vec<IndexedVector> {
    let (mut rows, mut after) = (Vec::new(), 0);
    loop {
        let (some, next) = store.vectors(resource, None, space, after, page).await.expect("vectors");
        assert!(some.len() <= page);
        rows.extend(some);
        let Some(next) = next else { return rows };
        after = next;
    }
}

/// The hits for these words, best first.
pub async fn hits(store: &dyn Session, resource: &ResourceId, words: &[&str]) -> Vec<TextHit> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    store.find_words(resource, None, &words, 100).await.expect("found")
}

/// Where hits stand: thread and seq, best first.
#[must_use]
pub fn hit_places(hits: &[TextHit]) -> Vec<(String, u64)> {
    hits.iter().map(|hit| (hit.thread.to_string(), hit.seq.0)).collect()
}
