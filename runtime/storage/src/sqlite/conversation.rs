//! The store's two faces: every method encodes on the caller's side and hands a job to the writer or a reader.

use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, MessageQuery, NewThread, OperatorStore, Page, SaveAnswer, StoreError,
    StoreErrorKind, StoreResult, Thread, ThreadChange, ThreadQuery,
};

use roster_model::suspension::SuspendedTurn;

use super::error::fail;
use super::row::Encoded;
use super::store::SqliteStore;
use super::{erase, message, suspension, thread, turn};

impl SqliteStore {
    pub(super) fn now(&self) -> i64 {
        self.desk.clock.now().millis()
    }

    async fn delete(&self, key: ThreadKey) -> Result<bool, StoreError> {
        let doomed = self.writer.write(move |group| erase::doom(group, &key)).await?;
        for key in &doomed.keys {
            self.desk.lines.freed(key);
        }
        if !doomed.threads.is_empty() {
            self.writer.slices(erase::purge(doomed.threads)).await?;
        }
        Ok(doomed.found)
    }
}

impl ConversationStore for SqliteStore {
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun> {
        Box::pin(turn::begin(&self.desk, &self.writer, begin))
    }

    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()> {
        Box::pin(turn::save(&self.desk, &self.writer, save))
    }

    fn tail<'a>(
        &'a self,
        key: &'a ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        let key = key.clone();
        Box::pin(self.readers.read_for_turn(move |connection| message::tail(connection, &key, limit, before)))
    }

    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        let key = key.clone();
        Box::pin(async move {
            let (messages, now) = (Encoded::all(messages)?, self.now());
            self.writer.write(move |group| message::append(group, &key, messages, now)).await
        })
    }

    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        let key = key.clone();
        Box::pin(self.readers.read(move |connection| message::page(connection, &key, &query)))
    }

    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)> {
        let key = key.clone();
        Box::pin(async move {
            let now = self.now();
            let made = move |group: &mut super::writer::Group<'_>| {
                let there = thread::find(group.connection, &key)?;
                let fresh = there.is_none();
                if fresh {
                    thread::insert(group, &key, &new, now)?;
                }
                match thread::get(group.connection, &key)? {
                    Some(thread) => Ok((thread, fresh)),
                    None => fail(StoreErrorKind::Internal, "a thread vanished inside a transaction"),
                }
            };
            self.writer.write(made).await
        })
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        let key = key.clone();
        Box::pin(self.readers.read(move |connection| thread::get(connection, &key)))
    }

    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        let resource = resource.clone();
        Box::pin(self.readers.read(move |connection| thread::list(connection, &resource, &query)))
    }

    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread> {
        let key = key.clone();
        Box::pin(async move {
            let now = self.now();
            self.writer.write(move |group| thread::update(group, &key, &change, now)).await
        })
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool> {
        Box::pin(self.delete(key.clone()))
    }
}

impl OperatorStore for SqliteStore {
    fn owners<'a>(&'a self, thread: &'a ThreadId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        let thread = thread.clone();
        Box::pin(self.readers.read(move |connection| thread::owners(connection, &thread, limit)))
    }

    fn owners_of_message<'a>(&'a self, message: &'a MessageId, limit: usize) -> StoreResult<'a, Vec<ResourceId>> {
        let message = message.clone();
        Box::pin(self.readers.read(move |connection| message::owners(connection, &message, limit)))
    }

    fn all_suspended(&self, limit: usize) -> StoreResult<'_, Vec<SuspendedTurn>> {
        suspension::all(self, limit)
    }

    fn any_suspended<'a>(&'a self, turn: &'a TurnId) -> StoreResult<'a, Option<SuspendedTurn>> {
        let turn = turn.clone();
        Box::pin(self.readers.read(move |connection| suspension::find(connection, None, &turn)))
    }

    fn health(&self) -> Result<(), StoreError> {
        if *self.ended.borrow() {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "the store was closed"));
        }
        self.health.check()
    }
}
