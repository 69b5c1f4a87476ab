//! Turns: the question stored and the thread taken, the answer written, what waits taken up again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use roster_abi::contract::{self, Append, Save, Seqs, Tail, UpdateThread};
use roster_model::housekeeping::SessionStore;
use roster_model::id::{ResourceId, ThreadKey, TurnId};
use roster_model::message::{Message, MessageStatus, Part, Role, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, NewThread, SaveAnswer, StoreError, StoreErrorKind, Thread, ThreadChange,
};
use roster_model::suspension::{ResumedTurn, SuspendedTurn};
use roster_model::time::{Clock, Timestamp};
use roster_model::working::MemoryScope;

use super::handle::Handle;
use super::lines::{Hold, Lines, Place};
use super::store::One;
use super::told::{self, bad, failed};
use crate::call::CallError;

/// Rows looked at for what the turns before left open.
const LOOK: usize = 64;
/// Bytes of one call's input at most.
const INPUT: usize = 16 << 20;
/// Results of tools are not cut to less, in bytes.
const LEAST: usize = 1_000;
/// How often an empty thread that keeps changing is tried to move.
const MOVES: u32 = 3;
/// Turns that wait, by id; more are found again when their threads are read.
const MOST_WAITING: usize = 4_096;

/// What all of a memory's work shares.
pub(super) struct Inner {
    pub(super) handle: Handle,
    pub(super) lines: Arc<Lines>,
    /// Where else threads of these owners are: one id is one conversation.
    pub(super) elsewhere: Arc<dyn SessionStore>,
    /// Cuts results of tools.
    pub(super) cut: fn(usize, &mut [Part]),
    pub(super) clock: Arc<dyn Clock>,
    /// The threads of turns that wait.
    pub(super) waiting: Mutex<HashMap<TurnId, ThreadKey>>,
    /// Changes of a thread that depend on what is there, one at a time.
    pub(super) changing: tokio::sync::Mutex<()>,
}

impl Inner {
    pub(super) fn failed(&self, error: &CallError) -> StoreError {
        failed(&self.handle.name, error)
    }

    /// The newest rows, oldest first. Fewer are asked for when the plugin's output would be too large.
    pub(super) async fn newest(
        &self,
        key: &ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let mut limit = limit as u64;
        loop {
            let input = Tail {
                handle: String::new(),
                resource: key.resource.to_string(),
                thread: key.thread.to_string(),
                limit,
                before: before.map(|before| before.0),
                bytes: Some(told::MOST as u64),
            };
            match self.handle.ask::<roster_abi::contract::Rows>("tail", input).await {
                Ok(rows) => {
                    let rows = told::rows(rows.rows, limit, before).map_err(|error| self.failed(&error))?;
                    let fitting = told::fitting(rows.iter().rev());
                    rows.iter().for_each(|row| self.seen(key, row));
                    let skip = rows.len() - fitting;
                    return Ok(rows.into_iter().skip(skip).collect());
                }
                Err(error) if error.too_large && limit > 1 => limit = limit.min(1 << 20).div_ceil(2),
                Err(error) => return Err(self.failed(&error)),
            }
        }
    }

    /// Remembers where a turn waits.
    fn seen(&self, key: &ThreadKey, row: &StoredMessage) {
        if let Some(turn) = row.turn.as_ref().filter(|_| row.message.status.is_waiting()) {
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.len() >= MOST_WAITING {
                waiting.clear();
            }
            waiting.insert(turn.clone(), key.clone());
        }
    }

    /// The work of a begin once the thread is ours: done to its end, whoever waits for it.
    pub(super) async fn begin(&self, begin: BeginTurn, place: Place) -> Result<(Begun, Hold), StoreError> {
        let BeginTurn { key, turn, seed, question, thread } = begin;
        let rows = self.newest(&key, LOOK, None).await?;
        let fresh = rows.is_empty();
        let empty = if fresh { self.empty_elsewhere(&key).await? } else { None };
        self.abandon(&key, &rows).await?;
        let seed = if fresh { seed } else { Vec::new() };
        let seeded = !seed.is_empty();
        let in_turns = rows.iter().filter(|row| row.turn.is_some()).map(|row| row.message.created_at);
        let mut latest = in_turns.max();
        let mut messages = seed;
        messages.push(question);
        for message in &mut messages {
            message.created_at = latest.map_or(message.created_at, |latest| latest.max(message.created_at));
            latest = Some(message.created_at);
        }
        let thread = match &empty {
            Some(there) => NewThread { title: there.title.clone(), metadata: there.metadata.clone(), ..thread },
            None => thread,
        };
        let seqs = self.append(&key, Some(&turn), &messages, Some(&thread)).await?;
        if let Some(there) = empty {
            self.moved(there).await;
        }
        if rows.last().is_some_and(|last| seqs[0] <= last.seq.0) {
            return Err(self.failed(&bad("it gave a number again that a message has")));
        }
        let hold = place.hold(&turn, latest.unwrap_or(Timestamp::from_millis(0)));
        Ok((Begun { first: Seq(seqs[0]), seeded }, hold))
    }

    pub(super) async fn update(&self, key: &ThreadKey, change: ThreadChange) -> Result<Thread, CallError> {
        let input = UpdateThread {
            handle: String::new(),
            resource: key.resource.to_string(),
            thread: key.thread.to_string(),
            title: change.title,
            metadata: change.metadata,
        };
        let One { thread } = self.handle.ask("update_thread", input).await?;
        told::this_thread(key, thread.ok_or_else(|| told::bad("it gave no thread"))?)
    }

    /// Appends, all or none; the same once, however often it has to be asked.
    pub(super) async fn append(
        &self,
        key: &ThreadKey,
        turn: Option<&TurnId>,
        messages: &[Message],
        create: Option<&NewThread>,
    ) -> Result<Vec<u64>, StoreError> {
        let written: Vec<_> = messages.iter().map(|message| self.sent(message)).collect::<Result<_, _>>()?;
        let input = Append {
            handle: String::new(),
            resource: key.resource.to_string(),
            thread: key.thread.to_string(),
            key: once().map_err(|error| self.failed(&error))?,
            turn: turn.map(ToString::to_string),
            messages: written,
            create: create.map(told::create),
        };
        let given = self.handle.ask::<Seqs>("append", input).await.map_err(|error| self.failed(&error))?.seqs;
        let ascend = given.windows(2).all(|pair| pair[0] < pair[1]);
        if given.len() != messages.len() || !ascend {
            return Err(self.failed(&bad("it gave other numbers than one for each message, in order")));
        }
        Ok(given)
    }

    /// One id is one conversation: two histories under one name would hide one of them. An empty thread of the runtime's
    /// own store, made before anybody said a word, moves here.
    async fn empty_elsewhere(&self, key: &ThreadKey) -> Result<Option<Thread>, StoreError> {
        let Some(thread) = self.elsewhere.thread(key).await? else { return Ok(None) };
        let scope = MemoryScope::Thread(key.clone());
        if thread.message_count == 0 && self.elsewhere.working_memory(&scope).await?.is_none() {
            return Ok(Some(thread));
        }
        let text = format!(
            "thread `{}` is kept by the runtime's own store, and the agent keeps its conversations in `{}`: \
             begin another conversation",
            key.thread, self.handle.name
        );
        Err(StoreError::new(StoreErrorKind::Elsewhere, text))
    }

    /// The empty thread is here now. What was acknowledged there meanwhile is never deleted: fields come along, and a
    /// thread that holds anything stays.
    async fn moved(&self, mut seen: Thread) {
        for _ in 0..MOVES {
            let key = seen.key.clone();
            match self.elsewhere.delete_if_empty(&seen).await {
                Ok(true) => return,
                Ok(false) => {}
                Err(error) => return stays(&key, &error.to_string()),
            }
            let there = match self.elsewhere.thread(&key).await {
                Ok(None) => return,
                Ok(Some(there)) if there.message_count > 0 => return stays(&key, "something was said in it meanwhile"),
                Ok(Some(there)) => there,
                Err(error) => return stays(&key, &error.to_string()),
            };
            let change = ThreadChange { title: Some(there.title.clone()), metadata: there.metadata.clone() };
            if let Err(error) = self.update(&key, change).await {
                return stays(&key, &error.to_string());
            }
            seen = there;
        }
        stays(&seen.key, "it is in use there");
    }

    /// What turns of processes that died, or that waited, left open.
    async fn abandon(&self, key: &ThreadKey, rows: &[StoredMessage]) -> Result<(), StoreError> {
        for row in rows.iter().filter(|row| !row.message.status.is_ended()) {
            let Some(turn) = &row.turn else { continue };
            let mut message = row.message.clone();
            message.abandon();
            self.write(key, turn, &message).await?;
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(turn);
        }
        Ok(())
    }

    /// The message as it is written. A row that the plugin could not give back, or not be given, would end its thread: what
    /// tools gave is cut until it fits, and what is too large besides is refused.
    fn sent(&self, message: &Message) -> Result<contract::Message, StoreError> {
        let plugin = self.handle.plugin().map_err(|error| self.failed(&error))?;
        // Not all of it: what is said around a row is output as well, and a plugin may write a row in its own way.
        let most = plugin.settings().limits.output.min(INPUT) / 8 * 7;
        let sent = told::message(message)?;
        let (whole, memory) = (told::size(&sent), &self.handle.name);
        if whole <= most {
            return Ok(sent);
        }
        let mut cut = message.clone();
        let results = cut.parts.iter().filter(|part| matches!(part, Part::ToolResult(_))).count();
        let mut each = most.checked_div(results).unwrap_or(0);
        while each > LEAST {
            (self.cut)(each, &mut cut.parts);
            let sent = told::message(&cut)?;
            if told::size(&sent) <= most {
                tracing::warn!(memory, message = %message.id, whole, "results of tools are stored cut");
                return Ok(sent);
            }
            each /= 2;
        }
        let text = format!(
            "a message of {whole} bytes is more than the memory `{memory}` can give back: {most}, by `limits.output` of \
             its plugin"
        );
        Err(StoreError::new(StoreErrorKind::Unsupported, text))
    }

    async fn write(&self, key: &ThreadKey, turn: &TurnId, message: &Message) -> Result<(), StoreError> {
        let input = Save {
            handle: String::new(),
            resource: key.resource.to_string(),
            thread: key.thread.to_string(),
            turn: Some(turn.to_string()),
            message: self.sent(message)?,
        };
        self.handle.ask::<Seqs>("save", input).await.map_err(|error| self.failed(&error)).map(|_| ())
    }

    pub(super) async fn save(&self, save: SaveAnswer) -> Result<(), StoreError> {
        let _release = save.last.then(|| self.lines.releasing(&save.key, &save.turn));
        let latest = match self.lines.latest(&save.key, &save.turn) {
            Some(latest) => latest,
            // Nothing is held, and nothing is written.
            None if save.message.is_none() => return Ok(()),
            None => self.late(&save).await?,
        };
        let SaveAnswer { key, turn, message: Some(mut message), .. } = save else { return Ok(()) };
        message.created_at = message.created_at.max(latest);
        self.write(&key, &turn, &message).await?;
        self.lines.wrote(&key, &turn, message.created_at);
        self.seen(&key, &StoredMessage { seq: Seq(0), turn: Some(turn), message });
        Ok(())
    }

    /// A turn that holds its thread no more may only write its row again, or write it behind its own question.
    async fn late(&self, save: &SaveAnswer) -> Result<Timestamp, StoreError> {
        let rows = self.newest(&save.key, LOOK, None).await?;
        let is_ours = |row: &&StoredMessage| row.turn.as_ref() == Some(&save.turn);
        if !rows.iter().any(|row| is_ours(&row)) {
            return Err(StoreError::new(StoreErrorKind::NotFound, "no such thread or message"));
        }
        let is_it = |row: &&StoredMessage| save.message.as_ref().is_some_and(|message| message.id == row.message.id);
        let row = rows.iter().find(is_it).or(rows.last().filter(is_ours));
        row.map(|row| row.message.created_at).ok_or_else(|| {
            let text = format!("turn `{}` no longer holds its thread", save.turn);
            StoreError::new(StoreErrorKind::Conflict, text)
        })
    }

    /// The turn that waits under this id, where its thread was seen since the start.
    pub(super) async fn suspended(
        &self,
        resource: &ResourceId,
        turn: &TurnId,
    ) -> Result<Option<(SuspendedTurn, Option<Seq>)>, StoreError> {
        let key = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).get(turn).cloned();
        let Some(key) = key.filter(|key| key.resource == *resource) else { return Ok(None) };
        let rows = self.newest(&key, LOOK, None).await?;
        let ours = || rows.iter().filter(|row| row.turn.as_ref() == Some(turn));
        let question = ours().find(|row| row.message.role == Role::User).map(|row| row.seq);
        let row = ours().find(|row| row.message.role == Role::Assistant).cloned();
        Ok(row.map(|row| (SuspendedTurn { key, turn: turn.clone(), row }, question)))
    }

    pub(super) async fn resume(&self, resource: &ResourceId, turn: &TurnId) -> Result<ResumedTurn, StoreError> {
        let Some((mut waiting, question)) = self.suspended(resource, turn).await? else {
            return Err(StoreError::new(StoreErrorKind::NotFound, "no turn of this id waits"));
        };
        let place = self.lines.try_enter(&waiting.key).filter(|_| waiting.waits(self.clock.now()));
        let Some(place) = place else {
            let text = format!("turn `{turn}` does not wait any more");
            return Err(StoreError::new(StoreErrorKind::Conflict, text));
        };
        waiting.row.message.status = MessageStatus::Running;
        let hold = place.hold(turn, waiting.row.message.created_at);
        self.write(&waiting.key, turn, &waiting.row.message).await?;
        hold.keep();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(turn);
        Ok(ResumedTurn { turn: waiting, question })
    }
}

fn stays(key: &ThreadKey, why: &str) {
    tracing::warn!(thread = %key.thread, why, "a thread begun in a plugin's memory stays in the runtime's own store too");
}

/// A key no other write has.
fn once() -> Result<String, CallError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| CallError::host("internal", format!("the system gives no random numbers: {error}"), true))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
