//! What goes where: threads first, in the order made; then their messages, thread by thread in the order changed, so
//! that lists stand as they stood; then what owners' working memories say.

use std::collections::HashSet;

use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Message, MessageStatus, Part, Role};
use roster_model::storage::NewThread;
use roster_model::time::Timestamp;
use roster_model::working::MemoryScope;
use rusqlite::ErrorCode;
use serde_json::{Map, Value};

use super::super::row::Encoded;
use super::place::{Fate, Item, Store};
use super::report::{ImportError, ImportReport, Noun};
use super::source::{MessageRow, ResourceRow, Source, ThreadRow};
use super::{ImportOptions, Progress, content};

/// Items put into the store at once, and the bytes of text that are enough before.
const BATCH: (usize, usize) = (128, 1 << 20);
/// Where Mastra keeps a thread's working memory.
const WORKING_MEMORY: &str = "workingMemory";
/// Bytes counted for what an item is beside its text.
const ITEM: usize = 256;

/// Reads everything and puts it into `store`.
pub(super) fn all(
    source: &Source,
    store: impl Store,
    options: ImportOptions,
    progress: &Progress,
) -> Result<ImportReport, ImportError> {
    let total = source.messages().map_err(|error| source.sort(error))?;
    let merged: HashSet<ResourceId> = HashSet::new();
    let (items, report) = (Vec::new(), ImportReport::default());
    let mut walk = Walk { store, options, items, bytes: 0, report, merged, seen: 0, total, progress };
    source.threads(false, |row| walk.thread(&row))?;
    source.threads(true, |row| walk.messages(source, &row))?;
    source.orphans(|thread, count| {
        let reason = format!("the file has no thread `{thread}`");
        walk.report.skip_many(Noun::Message, format!("thread {thread}"), reason, count);
    })?;
    source.resources(|row| walk.resource(row))?;
    walk.flush()?;
    progress(total, total);
    walk.report.unread_tables = source.unread_tables()?;
    Ok(walk.report)
}

struct Walk<'p, S> {
    store: S,
    options: ImportOptions,
    items: Vec<Item>,
    bytes: usize,
    report: ImportReport,
    /// Owners with a new name whose working memory was met.
    merged: HashSet<ResourceId>,
    /// Messages looked at, and all there are.
    seen: u64,
    total: u64,
    progress: &'p Progress,
}

/// A message that may still get the results of its calls.
type Pending = Option<Message>;

impl<S: Store> Walk<'_, S> {
    fn thread(&mut self, row: &ThreadRow) -> Result<(), ImportError> {
        let (key, agent) = match self.key(row) {
            Ok(key) => key,
            Err(damage) => {
                self.report.skip(Noun::Thread, place_of(&row.id, "mastra_threads", row.place), damage);
                return Ok(());
            }
        };
        let at = format!("thread {}", key.thread);
        let title = row.title.clone().unwrap_or_else(|damage| {
            self.report.skip(Noun::Field, at.clone(), damage);
            String::new()
        });
        let mut metadata = metadata(row).unwrap_or_else(|damage| {
            self.report.skip(Noun::Field, at, damage);
            None
        });
        let created_at = row.created_at.or(row.updated_at).unwrap_or(0);
        let updated_at = row.updated_at.unwrap_or(created_at).max(created_at);
        let working = metadata.as_mut().and_then(|metadata| metadata.shift_remove(WORKING_MEMORY));
        let metadata = metadata.filter(|metadata| working.is_none() || !metadata.is_empty());
        let new = NewThread { agent: agent.or_else(|| self.options.agent.clone()), parent: None, title, metadata };
        self.push(Item::Thread { key: key.clone(), new, created_at, updated_at }, ITEM)?;
        let text = working.filter(|value| !value.is_null()).map(|value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        });
        match text.filter(|text| !text.is_empty()) {
            None => Ok(()),
            Some(text) => self.working_memory(MemoryScope::Thread(key), text, updated_at),
        }
    }

    /// Whose thread it is, and the agent that follows from that.
    fn key(&self, row: &ThreadRow) -> Result<(ThreadKey, Option<roster_model::id::AgentId>), String> {
        let thread = ThreadId::new(row.id.as_ref()?).map_err(|error| error.to_string())?;
        let owner = row.owner.as_ref()?;
        let (resource, agent) = match self.options.owners.get(owner) {
            Some(new) => (new.resource.clone(), new.agent.clone()),
            None => (ResourceId::new(owner).map_err(|error| error.to_string())?, None),
        };
        Ok((ThreadKey { resource, thread }, agent))
    }

    fn messages(&mut self, source: &Source, row: &ThreadRow) -> Result<(), ImportError> {
        let Ok(id) = &row.id else { return Ok(()) };
        let Ok((key, _)) = self.key(row) else {
            let count = source.count_of(id)?;
            if count > 0 {
                self.report.skip_many(Noun::Message, format!("thread {id}"), "its thread was left out", count);
            }
            return Ok(());
        };
        let (mut pending, before): (Pending, _) = (None, self.seen);
        let read = source.messages_of(id, |row| {
            self.seen += 1;
            (self.progress)(self.seen, self.total);
            self.message(&key, row, &mut pending)
        });
        self.settle(&key, pending)?;
        match read {
            Err(ImportError::Unreadable { source: cause, .. })
                if cause.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) =>
            {
                let rest = source.count_of(id)?.saturating_sub(self.seen - before);
                let reason = format!("the file is damaged here: {cause}");
                self.report.skip_many(Noun::Message, format!("thread {id}"), reason, rest);
                Ok(())
            }
            read => read,
        }
    }

    fn message(&mut self, key: &ThreadKey, row: MessageRow, pending: &mut Pending) -> Result<(), ImportError> {
        let at = format!("{} of thread {}", place_of(&row.id, "mastra_messages", row.place), key.thread);
        match self.read(row, pending) {
            Ok(None) => Ok(()),
            Ok(Some(message)) => {
                let before = pending.replace(message);
                self.settle(key, before)
            }
            Err(damage) => {
                self.report.skip(Noun::Message, at, damage);
                Ok(())
            }
        }
    }

    /// A message; `None` for the results of a tool, which went to the message that called it.
    fn read(&mut self, row: MessageRow, pending: &mut Pending) -> Result<Option<Message>, String> {
        let id = MessageId::new(row.id?).map_err(|error| error.to_string())?;
        let (role, kind, text) = (row.role?, row.kind?.unwrap_or_default(), row.content?);
        let created_at = Timestamp::from_millis(row.created_at.ok_or("its `createdAt` is no moment")?);
        if role == "tool" {
            let results = content::read(&text, Role::Assistant, false)?.parts;
            let caller = pending.as_mut().filter(|message| message.role == Role::Assistant);
            let caller = caller.ok_or("it is a tool's result, and no call stands before it")?;
            caller.parts.extend(results.into_iter().filter(|part| matches!(part, Part::ToolResult(_))));
            return Ok(None);
        }
        let read_as = match role.as_str() {
            // What a person sent through Studio; other signals are for programs and are never fed to a model.
            "signal" if kind == "user" => Role::User,
            "signal" => Role::System,
            other => Role::parse(other).ok_or_else(|| format!("role `{other}` is not known"))?,
        };
        let content = content::read(&text, read_as, kind == "v2" || role == "signal")?;
        self.report.with_unknown_parts += u64::from(content.unread);
        let failed = content.parts.iter().any(|part| matches!(part, Part::Error { .. }));
        Ok(Some(Message {
            id,
            role: read_as,
            parts: content.parts,
            created_at,
            status: if failed { MessageStatus::Failed } else { MessageStatus::Complete },
            origin: None,
            metadata: content.metadata,
        }))
    }

    /// Hands on a message that nothing more belongs to.
    fn settle(&mut self, key: &ThreadKey, message: Pending) -> Result<(), ImportError> {
        let Some(message) = message else { return Ok(()) };
        let message = Encoded::new(message)?;
        let bytes = ITEM + message.stored_bytes();
        self.push(Item::Message { key: key.clone(), message }, bytes)
    }

    fn resource(&mut self, row: ResourceRow) -> Result<(), ImportError> {
        let at = place_of(&row.owner, "mastra_resources", row.place);
        let read = row.owner.and_then(|owner| Ok((owner, row.working_memory?.unwrap_or_default())));
        let (resource, text) = match read.and_then(|(owner, text)| Ok((self.owner(&owner)?, text))) {
            Ok((Some(resource), text)) => (resource, text),
            Ok((None, _)) => {
                let reason = "it belongs to an owner that becomes one with another, which has one already";
                self.report.skip(Noun::WorkingMemory, at, reason);
                return Ok(());
            }
            Err(damage) => {
                self.report.skip(Noun::WorkingMemory, at, damage);
                return Ok(());
            }
        };
        self.working_memory(MemoryScope::Resource(resource), text, row.updated_at.unwrap_or(0))
    }

    /// Who an owner becomes; `None` when that one's working memory was met already.
    fn owner(&mut self, owner: &str) -> Result<Option<ResourceId>, String> {
        let resource = match self.options.owners.get(owner) {
            Some(new) => new.resource.clone(),
            None => ResourceId::new(owner).map_err(|error| error.to_string())?,
        };
        let is_new_name = self.options.owners.values().any(|new| new.resource == resource);
        Ok((!is_new_name || self.merged.insert(resource.clone())).then_some(resource))
    }

    fn working_memory(&mut self, scope: MemoryScope, text: String, at: i64) -> Result<(), ImportError> {
        let bytes = ITEM + text.len();
        self.push(Item::WorkingMemory { scope, text, at }, bytes)
    }

    fn push(&mut self, item: Item, bytes: usize) -> Result<(), ImportError> {
        self.items.push(item);
        self.bytes += bytes;
        if self.items.len() < BATCH.0 && self.bytes < BATCH.1 { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<(), ImportError> {
        self.bytes = 0;
        for (item, fate) in self.store.put(std::mem::take(&mut self.items))? {
            let noun = match &item {
                Item::Thread { .. } => Noun::Thread,
                Item::Message { .. } => Noun::Message,
                Item::WorkingMemory { .. } => Noun::WorkingMemory,
            };
            match fate {
                Fate::New => self.report.count(noun).new += 1,
                Fate::There | Fate::Other => self.report.count(noun).there += 1,
                Fate::Gone => self.report.skip(noun, label(&item), "its thread was deleted meanwhile"),
            }
        }
        Ok(())
    }
}

fn metadata(row: &ThreadRow) -> Result<Option<Map<String, Value>>, String> {
    let Some(text) = row.metadata.clone()? else { return Ok(None) };
    match serde_json::from_str(&text) {
        Ok(Value::Object(metadata)) => Ok(Some(metadata)),
        Ok(Value::Null) => Ok(None),
        _ => Err("its `metadata` is no JSON object".to_owned()),
    }
}

fn place_of(id: &Result<String, String>, table: &str, place: i64) -> String {
    match id {
        Ok(id) => id.clone(),
        Err(_) => format!("row {place} of {table}"),
    }
}

fn label(item: &Item) -> String {
    match item {
        Item::Thread { key, .. } => key.thread.to_string(),
        Item::Message { key, message } => format!("{} of thread {}", message.message.id, key.thread),
        Item::WorkingMemory { scope: MemoryScope::Thread(key), .. } => format!("thread {}", key.thread),
        Item::WorkingMemory { scope: MemoryScope::Resource(resource), .. } => resource.to_string(),
    }
}
