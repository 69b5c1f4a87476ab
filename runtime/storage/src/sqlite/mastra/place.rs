//! Putting what was read into the store, or only looking where it would go.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roster_model::id::ThreadKey;
use roster_model::storage::NewThread;
use roster_model::working::MemoryScope;
use rusqlite::Connection;
use tokio::runtime::Handle;
use tokio::time::Instant;

use super::super::error::{Health, Outcome};
use super::super::row::Encoded;
use super::super::store::SqliteStore;
use super::super::thread::{self, Found};
use super::super::turn::Desk;
use super::super::writer::{Group, Writer};
use super::super::{memory, message};
use super::report::ImportError;
use crate::line::lock;

/// How long to leave the database to others after a transaction: as long as it took, but no longer than this. Another
/// process that waits for its turn only looks from time to time whether the database is free.
const PAUSE: Duration = Duration::from_millis(20);
/// How often a thread is looked at that a turn holds.
const POLL: Duration = Duration::from_millis(50);

/// Something to put into the store.
pub(super) enum Item {
    Thread { key: ThreadKey, new: NewThread, created_at: i64, updated_at: i64 },
    Message { key: ThreadKey, message: Encoded },
    WorkingMemory { scope: MemoryScope, text: String, at: i64 },
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    New,
    There,
    /// Another one stands in its place.
    Other,
    /// Its thread was deleted meanwhile.
    Gone,
}

/// Where things go.
pub(super) trait Store {
    /// Puts items, in order; gives each with its fate.
    fn put(&mut self, items: Vec<Item>) -> Result<Vec<(Item, Fate)>, ImportError>;
}

/// The store that serves.
pub(super) struct Writing {
    writer: Writer,
    desk: Arc<Desk>,
    runtime: Handle,
}

impl Writing {
    pub(super) fn new(store: &SqliteStore, runtime: Handle) -> Self {
        Self { writer: store.writer.clone(), desk: Arc::clone(&store.desk), runtime }
    }
}

impl Store for Writing {
    fn put(&mut self, items: Vec<Item>) -> Result<Vec<(Item, Fate)>, ImportError> {
        let desk = Arc::clone(&self.desk);
        let placing = Arc::new(Mutex::new(Placing { desk, items, fates: Vec::new(), held: false }));
        loop {
            let begun = Instant::now();
            let work = Arc::clone(&placing);
            let step = Box::new(move |group: &mut Group<'_>, until| lock(&work).some(group, until));
            self.runtime.block_on(async {
                self.writer.slices(step).await?;
                let pause = if lock(&placing).held { POLL } else { begun.elapsed().min(PAUSE) };
                tokio::time::sleep(pause).await;
                Ok::<_, ImportError>(())
            })?;
            let mut placing = lock(&placing);
            if placing.fates.len() >= placing.items.len() {
                let items = std::mem::take(&mut placing.items);
                return Ok(items.into_iter().zip(std::mem::take(&mut placing.fates)).collect());
            }
        }
    }
}

/// Items on their way into the store.
struct Placing {
    desk: Arc<Desk>,
    items: Vec<Item>,
    /// Of the first items.
    fates: Vec<Fate>,
    /// Whether the next one waits for a turn.
    held: bool,
}

/// A thread that messages are being added to.
struct Grown<'i> {
    key: &'i ThreadKey,
    /// `None`: there is no such thread.
    thread: Option<Found>,
    new: usize,
    newest: i64,
}

impl Placing {
    /// Puts items until it is time, or one has to wait. True: this call has nothing more to do.
    fn some(&mut self, group: &mut Group<'_>, until: Instant) -> Outcome<bool> {
        let mut open: Option<Grown<'_>> = None;
        self.held = false;
        while let Some(item) = self.items.get(self.fates.len()) {
            let fate = match item {
                Item::Thread { key, new, created_at, updated_at } => {
                    Some(one_thread(group, key, new, *created_at, *updated_at)?)
                }
                Item::WorkingMemory { scope, text, at } => Some(working_memory(group, scope, text, *at)?),
                Item::Message { key, message } => {
                    if open.as_ref().is_none_or(|open| open.key != key) {
                        close(group, open.take())?;
                        let thread = thread::find(group.connection, key)?;
                        open = Some(Grown { key, thread, new: 0, newest: i64::MIN });
                    }
                    open.as_mut().map_or(Ok(None), |open| one_message(group, &self.desk, open, message))?
                }
            };
            let Some(fate) = fate else {
                self.held = true;
                break;
            };
            self.fates.push(fate);
            if Instant::now() >= until {
                break;
            }
        }
        close(group, open)?;
        Ok(self.held || self.fates.len() >= self.items.len())
    }
}

fn one_thread(group: &mut Group<'_>, key: &ThreadKey, new: &NewThread, created: i64, updated: i64) -> Outcome<Fate> {
    if thread::find(group.connection, key)?.is_some() {
        return Ok(Fate::There);
    }
    let found = thread::insert(group, key, new, created)?;
    thread::changed(group, &found, updated)?;
    Ok(Fate::New)
}

/// `None`: a turn has the thread.
fn one_message(group: &Group<'_>, desk: &Desk, open: &mut Grown<'_>, encoded: &Encoded) -> Outcome<Option<Fate>> {
    let Some(thread) = &mut open.thread else { return Ok(Some(Fate::Gone)) };
    if message::seq_of(group.connection, thread, encoded.message.id.as_str())?.is_some() {
        return Ok(Some(Fate::There));
    }
    if thread.lease.as_ref().is_some_and(|lease| desk.is_alive(lease)) {
        return Ok(None);
    }
    message::add(group, open.key, thread, encoded, None)?;
    open.new += 1;
    open.newest = open.newest.max(encoded.message.created_at.millis());
    Ok(Some(Fate::New))
}

/// Notes in a thread's row what came.
fn close(group: &mut Group<'_>, open: Option<Grown<'_>>) -> Outcome<()> {
    match open {
        Some(Grown { thread: Some(thread), new: new @ 1.., newest, .. }) => thread::grown(group, &thread, new, newest),
        _ => Ok(()),
    }
}

/// Never writes over one, nor over one that was cleared.
fn working_memory(group: &Group<'_>, scope: &MemoryScope, text: &str, at: i64) -> Outcome<Fate> {
    let fate = fate_of_memory(group.connection, scope, text)?;
    if let (Fate::New, MemoryScope::Thread(key)) = (fate, scope)
        && thread::find(group.connection, key)?.is_none()
    {
        return Ok(Fate::Gone);
    }
    if fate == Fate::New {
        memory::set(group, scope, Some(text), 0, at)?;
    }
    Ok(fate)
}

fn fate_of_memory(connection: &Connection, scope: &MemoryScope, text: &str) -> Outcome<Fate> {
    Ok(match memory::ever(connection, scope)? {
        None => Fate::New,
        Some(there) if there.as_deref() == Some(text) => Fate::There,
        Some(_) => Fate::Other,
    })
}

/// A database that is only looked at; `None` where there is none yet.
pub(super) struct Looking(pub(super) Option<Connection>);

impl Store for Looking {
    fn put(&mut self, items: Vec<Item>) -> Result<Vec<(Item, Fate)>, ImportError> {
        let Some(connection) = &self.0 else {
            return Ok(items.into_iter().map(|item| (item, Fate::New)).collect());
        };
        let fates: Outcome<Vec<_>> = items
            .into_iter()
            .map(|item| {
                let fate = look(connection, &item)?;
                Ok((item, fate))
            })
            .collect();
        fates.map_err(|failure| Health::default().sort(failure).into())
    }
}

fn look(connection: &Connection, item: &Item) -> Outcome<Fate> {
    let there = match item {
        Item::Thread { key, .. } => thread::find(connection, key)?.is_some(),
        Item::Message { key, message } => match thread::find(connection, key)? {
            None => false,
            Some(thread) => message::seq_of(connection, &thread, message.message.id.as_str())?.is_some(),
        },
        Item::WorkingMemory { scope, text, .. } => return fate_of_memory(connection, scope, text),
    };
    Ok(if there { Fate::There } else { Fate::New })
}
