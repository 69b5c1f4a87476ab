//! Threads and messages.

use std::sync::{Arc, Mutex};

use roster_abi::contract::{self, Created, Deleted, Messages};
use roster_model::housekeeping::SessionStore;
use roster_model::id::{ResourceId, ThreadKey};
use roster_model::message::{Message, Part, Seq, StoredMessage};
use roster_model::storage::{
    BeginTurn, Begun, ConversationStore, Direction, MessageQuery, NewThread, Page, SaveAnswer, StoreError,
    StoreErrorKind, StoreResult, Thread, ThreadChange, ThreadQuery,
};
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::handle::{Finder, Handle};
use super::told;
use super::turns::Inner;
use crate::call::CallError;
use crate::launch;
use crate::plugin::Plugin;

/// What a memory of a plugin needs of the runtime.
pub struct Beside {
    /// Where threads of the same owners may be besides: one id is one conversation.
    pub elsewhere: Arc<dyn SessionStore>,
    /// Cuts the results of tools among these parts to so many bytes each, and notes that in them.
    pub cut: fn(usize, &mut [Part]),
}

/// A memory that a plugin keeps. Lives as long as an agent has it, through every generation of the plugin.
pub struct PluginMemory {
    pub(super) inner: Arc<Inner>,
}

/// [`opened`], for whoever is no task: blocks, at most as long as a call may take; not for a worker of the runtime.
///
/// # Errors
/// As [`opened`].
pub fn open(
    find: Finder,
    key: &str,
    component: &str,
    config: &Map<String, Value>,
    beside: Beside,
) -> Result<Arc<PluginMemory>, CallError> {
    let plugin = Handle::new(Arc::clone(&find), key, component, Map::new()).plugin()?;
    let (tell, told) = std::sync::mpsc::channel();
    let (key, component, config) = (key.to_owned(), component.to_owned(), config.clone());
    let opening = async move {
        // Whoever waits is still there: it blocks.
        drop(tell.send(opened(find, &key, &component, &config, beside).await));
    };
    plugin.around.tasks.spawn_on(opening, &plugin.around.runtime);
    told.recv().map_err(|_| CallError::host("plugin_unavailable", "the runtime stops", true))?
}

/// Calls the factory: checks the configuration against its schema and opens the memory.
///
/// # Errors
/// [`CallError`]: the plugin or its factory is not there, the configuration does not fit, or the plugin's own.
pub async fn opened(
    find: Finder,
    key: &str,
    component: &str,
    config: &Map<String, Value>,
    beside: Beside,
) -> Result<Arc<PluginMemory>, CallError> {
    let handle = Handle::new(find, key, component, config.clone());
    let plugin = handle.plugin()?;
    fits(&plugin, component, config)?;
    handle.open().await?;
    let Beside { elsewhere, cut } = beside;
    let clock = Arc::clone(&plugin.around.clock);
    let (lines, waiting, changing) = (Arc::default(), Mutex::default(), tokio::sync::Mutex::default());
    let inner = Inner { handle, lines, elsewhere, cut, clock, waiting, changing };
    Ok(Arc::new(PluginMemory { inner: Arc::new(inner) }))
}

/// Whether the plugin has such a factory, and it takes this configuration.
fn fits(plugin: &Plugin, component: &str, config: &Map<String, Value>) -> Result<(), CallError> {
    let key = plugin.key();
    let one = plugin.contribution(contract::kind::MEMORY_FACTORY, component);
    let Some(one) = one.filter(|one| one.contract == "memory/1") else {
        let text = format!("plugin `{key}` has no memory factory `{component}` of the contract `memory/1`");
        return Err(CallError::host("plugin_unavailable", text, true));
    };
    let faults = one.config_schema.map_or(Ok(Vec::new()), |schema| launch::faults(&schema, config));
    let faults = faults.unwrap_or_else(|error| vec![format!("the schema is none: {error}")]);
    if faults.is_empty() {
        return Ok(());
    }
    let text = format!("`[memory] config` is not what `{key}:{component}` takes: {}", faults.join("; "));
    Err(CallError::host("invalid", text, false))
}

#[derive(Deserialize)]
pub(super) struct One {
    pub(super) thread: Option<contract::Thread>,
}

impl PluginMemory {
    /// `plugin:component`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.handle.name
    }

    /// The wait for the thread may be given up; what follows is done to its end, or a later turn would find a question
    /// that arrives behind its own.
    async fn begin(&self, begin: BeginTurn) -> Result<Begun, StoreError> {
        let place = self.inner.lines.enter(&begin.key).await;
        let plugin = self.inner.handle.plugin().map_err(|error| self.inner.failed(&error))?;
        let (inner, (tell, told)) = (Arc::clone(&self.inner), oneshot::channel());
        let work = async move {
            // Nobody listens any more: the hold inside ends with the value.
            drop(tell.send(inner.begin(begin, place).await));
        };
        plugin.around.tasks.spawn_on(work, &plugin.around.runtime);
        let stopped = |_| StoreError::new(StoreErrorKind::Unavailable, "the runtime stops");
        let (begun, hold) = told.await.map_err(stopped)??;
        hold.keep();
        Ok(begun)
    }

    /// The contract knows no beginning of a page but its number: where the range begins at a message, those before it
    /// are counted first.
    async fn page(&self, key: &ThreadKey, query: MessageQuery) -> Result<Page<StoredMessage>, StoreError> {
        let Some(from) = &query.from else { return self.page_of_all(key, query).await };
        let ahead = MessageQuery { before: Some(from.clone()), limit: 1, ..MessageQuery::default() };
        let ahead = self.page_of_all(key, ahead).await?.total;
        let skipped = if query.direction == Direction::Ascending { ahead } else { 0 };
        let offset = query.offset.saturating_add(skipped);
        let mut page = self.page_of_all(key, MessageQuery { from: None, offset, ..query.clone() }).await?;
        page.total = page.total.saturating_sub(ahead);
        page.rows.truncate(usize::try_from(page.total.saturating_sub(query.offset)).unwrap_or(usize::MAX));
        let more = query.offset.saturating_add(page.rows.len() as u64) < page.total;
        page.next = page.rows.last().filter(|_| more).map(|row| row.message.id.to_string());
        Ok(page)
    }

    async fn page_of_all(&self, key: &ThreadKey, query: MessageQuery) -> Result<Page<StoredMessage>, StoreError> {
        let mut limit = query.limit as u64;
        let page = loop {
            let input = Messages {
                handle: String::new(),
                resource: key.resource.to_string(),
                thread: key.thread.to_string(),
                direction: told::direction(query.direction),
                offset: query.offset,
                limit,
                before: query.before.as_ref().map(ToString::to_string),
                bytes: Some(told::MOST as u64),
            };
            match self.inner.handle.ask::<contract::Page<contract::Row>>("messages", input).await {
                Err(error) if error.too_large && limit > 1 => limit = limit.min(1 << 20).div_ceil(2),
                outcome => break outcome,
            }
        };
        let page = page.and_then(|page| told::messages(page, &query)).map_err(|error| self.inner.failed(&error))?;
        let Page { mut rows, total, next } = page;
        let fitting = told::fitting(rows.iter());
        let more = next.is_some() || fitting < rows.len();
        rows.truncate(fitting);
        let next = rows.last().filter(|_| more).map(|row| row.message.id.to_string());
        Ok(Page { rows, total, next })
    }

    pub(super) async fn one(&self, key: &ThreadKey) -> Result<Option<Thread>, CallError> {
        let One { thread } = self.inner.handle.ask("thread", told::of(key)).await?;
        thread.map(|thread| told::this_thread(key, thread)).transpose()
    }

    async fn create(&self, key: &ThreadKey, new: NewThread) -> Result<(Thread, bool), CallError> {
        let input = contract::NewThread {
            handle: String::new(),
            resource: key.resource.to_string(),
            thread: key.thread.to_string(),
            create: told::create(&new),
        };
        let Created { thread, created } = self.inner.handle.ask("create_thread", input).await?;
        Ok((told::this_thread(key, thread)?, created))
    }

    async fn list(&self, resource: &ResourceId, query: ThreadQuery) -> Result<Page<Thread>, CallError> {
        let input = told::threads(resource, query);
        let (limit, after) = (input.limit, input.after.clone());
        let page: contract::Page<contract::Thread> = self.inner.handle.ask("threads", input).await?;
        if page.rows.len() as u64 > limit || page.next.as_ref().is_some_and(|next| after.as_ref() == Some(next)) {
            return Err(told::bad("it gave a page of threads that is larger than asked for, or leads to itself"));
        }
        told::page(page, |thread| told::thread(resource, thread))
    }
}

/// The runtime's failure for the plugin's.
macro_rules! asked {
    ($self:ident, $work:expr) => {
        Box::pin(async move { $work.await.map_err(|error| $self.inner.failed(&error)) })
    };
}
pub(super) use asked;

impl ConversationStore for PluginMemory {
    fn begin_turn(&self, begin: BeginTurn) -> StoreResult<'_, Begun> {
        Box::pin(self.begin(begin))
    }

    fn save_answer(&self, save: SaveAnswer) -> StoreResult<'_, ()> {
        Box::pin(self.inner.save(save))
    }

    fn tail<'a>(
        &'a self,
        key: &'a ThreadKey,
        limit: usize,
        before: Option<Seq>,
    ) -> StoreResult<'a, Vec<StoredMessage>> {
        Box::pin(self.inner.newest(key, limit, before))
    }

    fn append<'a>(&'a self, key: &'a ThreadKey, messages: Vec<Message>) -> StoreResult<'a, Vec<StoredMessage>> {
        Box::pin(async move {
            let seqs = self.inner.append(key, None, &messages, None).await?;
            let stored = |(seq, message)| StoredMessage { seq: Seq(seq), turn: None, message };
            Ok(seqs.into_iter().zip(messages).map(stored).collect())
        })
    }

    fn messages<'a>(&'a self, key: &'a ThreadKey, query: MessageQuery) -> StoreResult<'a, Page<StoredMessage>> {
        Box::pin(self.page(key, query))
    }

    fn create_thread<'a>(&'a self, key: &'a ThreadKey, new: NewThread) -> StoreResult<'a, (Thread, bool)> {
        asked!(self, self.create(key, new))
    }

    fn thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, Option<Thread>> {
        asked!(self, self.one(key))
    }

    fn threads<'a>(&'a self, resource: &'a ResourceId, query: ThreadQuery) -> StoreResult<'a, Page<Thread>> {
        asked!(self, self.list(resource, query))
    }

    fn update_thread<'a>(&'a self, key: &'a ThreadKey, change: ThreadChange) -> StoreResult<'a, Thread> {
        asked!(self, self.inner.update(key, change))
    }

    fn delete_thread<'a>(&'a self, key: &'a ThreadKey) -> StoreResult<'a, bool> {
        Box::pin(async move {
            let (deleted, again) = self.inner.handle.ask_told::<Deleted>("delete_thread", told::of(key)).await;
            let Deleted { deleted } = deleted.map_err(|error| self.inner.failed(&error))?;
            self.inner.lines.free(key);
            // The first try may have been the one that deleted, before the plugin's process died.
            Ok(deleted || again)
        })
    }
}
