//! The runtime's values in the contract's form, and back.

use std::collections::HashSet;
use std::io::Write;

use roster_abi::contract;
use roster_model::id::{AgentId, MessageId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::message::{Message, MessageStatus, Part, Role, Seq, StoredMessage, encode_parts};
use roster_model::storage::{
    Direction, MessageQuery, NewThread, Page, PageStart, StoreError, StoreErrorKind, Thread, ThreadOrder, ThreadQuery,
};
use roster_model::time::Timestamp;
use serde_json::{Value, json};

use crate::call::CallError;

#[cfg(test)]
mod tests;

/// A failed call as a store's failure.
pub(super) fn failed(memory: &str, error: &CallError) -> StoreError {
    use StoreErrorKind as Kind;
    let kind = match error.code.as_str() {
        "not_found" => Kind::NotFound,
        "conflict" => Kind::Conflict,
        "full" => Kind::Full,
        "busy" | "plugin_busy" => Kind::Busy,
        "invalid" => Kind::Invalid,
        "unsupported" => Kind::Unsupported,
        "unavailable" | "no_such_handle" | "cancelled" | "plugin_unavailable" | "plugin_crashed"
        | "plugin_restarted" | "plugin_timeout" | "plugin_wedged" => Kind::Unavailable,
        _ => Kind::Internal,
    };
    StoreError::new(kind, format!("the memory `{memory}`: {} ({})", error.message, error.code))
}

/// What a plugin gave back that is none of the contract's.
pub(super) fn bad(what: &str) -> CallError {
    CallError::host("plugin_bad_output", what, false)
}

pub(super) fn message(message: &Message) -> Result<contract::Message, StoreError> {
    let unwritable = |error: serde_json::Error| {
        StoreError::new(StoreErrorKind::Invalid, format!("a message cannot be written as JSON: {error}"))
    };
    Ok(contract::Message {
        id: message.id.to_string(),
        role: message.role.as_str().to_owned(),
        parts: message.parts.iter().map(serde_json::to_value).collect::<Result<_, _>>().map_err(unwritable)?,
        created_at: message.created_at.millis(),
        status: (message.status != MessageStatus::Complete).then(|| message.status.as_str().to_owned()),
        origin: message.origin.as_ref().map(serde_json::to_value).transpose().map_err(unwritable)?,
        metadata: message.metadata.clone(),
    })
}

pub(super) fn row(row: contract::Row) -> Result<StoredMessage, CallError> {
    let contract::Row { seq, turn, message } = row;
    let turn = turn.map(TurnId::new).transpose().map_err(|_| bad("it gave a turn with no legal id"))?;
    let status = message.status.as_deref().map_or(Some(MessageStatus::Complete), MessageStatus::parse);
    let parts = message.parts.into_iter().map(serde_json::from_value::<Part>).collect::<Result<_, _>>();
    let origin = message.origin.filter(|origin| !origin.is_null()).map(serde_json::from_value).transpose();
    let message = Message {
        id: MessageId::new(message.id).map_err(|_| bad("it gave a message with no legal id"))?,
        role: Role::parse(&message.role).ok_or_else(|| bad("it gave a message of no known role"))?,
        parts: parts.map_err(|_| bad("it gave a part of no known form"))?,
        created_at: Timestamp::from_millis(message.created_at),
        status: status.ok_or_else(|| bad("it gave a message of no known status"))?,
        origin: origin.map_err(|_| bad("it gave an origin of no known form"))?,
        metadata: message.metadata,
    };
    Ok(StoredMessage { seq: Seq(seq), turn, message })
}

/// The newest rows as they were asked for: no more, below `before`, each once, in order.
pub(super) fn rows(rows: Vec<contract::Row>, limit: u64, before: Option<Seq>) -> Result<Vec<StoredMessage>, CallError> {
    let rows: Vec<StoredMessage> = rows.into_iter().map(row).collect::<Result<_, _>>()?;
    let below = rows.last().is_none_or(|row| before.is_none_or(|before| row.seq < before));
    if rows.len() as u64 > limit || !below || !is_legal(&rows, Direction::Ascending) {
        return Err(bad("it gave other rows than the newest that were asked for, each once and in order"));
    }
    Ok(rows)
}

/// A page of messages as it was asked for. One that holds the message it was to begin behind leads nowhere.
pub(super) fn messages(
    given: contract::Page<contract::Row>,
    query: &MessageQuery,
) -> Result<Page<StoredMessage>, CallError> {
    let page = page(given, row)?;
    let returns = page.rows.iter().any(|row| query.before.as_ref() == Some(&row.message.id));
    let leads_nowhere = page.next.is_some() && page.rows.is_empty() && query.limit > 0;
    if page.rows.len() > query.limit || returns || leads_nowhere || !is_legal(&page.rows, query.direction) {
        return Err(bad("it gave another page of messages than was asked for, each once and in order"));
    }
    Ok(page)
}

/// Whether each is there once, in order.
fn is_legal(rows: &[StoredMessage], direction: Direction) -> bool {
    let in_order = |pair: &[StoredMessage]| match direction {
        Direction::Ascending => pair[0].seq < pair[1].seq,
        Direction::Descending => pair[0].seq > pair[1].seq,
    };
    let mut ids = HashSet::new();
    rows.windows(2).all(in_order) && rows.iter().all(|row| ids.insert(&row.message.id))
}

/// A thread of this owner; one of another owner's is the plugin's fault and reaches nobody.
pub(super) fn thread(of: &ResourceId, thread: contract::Thread) -> Result<Thread, CallError> {
    if thread.resource != of.as_str() {
        return Err(bad("it gave a thread of another owner"));
    }
    let id = |text: String| ThreadId::new(text).map_err(|_| bad("it gave a thread with no legal id"));
    let agent = thread.agent.map(AgentId::new).transpose();
    Ok(Thread {
        key: ThreadKey { resource: of.clone(), thread: id(thread.thread)? },
        agent: agent.map_err(|_| bad("it gave an agent with no legal id"))?,
        parent: thread.parent.map(id).transpose()?,
        title: thread.title,
        metadata: thread.metadata,
        created_at: Timestamp::from_millis(thread.created_at),
        updated_at: Timestamp::from_millis(thread.updated_at),
        message_count: thread.message_count,
    })
}

/// The thread that was asked for, and no other.
pub(super) fn this_thread(key: &ThreadKey, told: contract::Thread) -> Result<Thread, CallError> {
    let thread = thread(&key.resource, told)?;
    if thread.key == *key { Ok(thread) } else { Err(bad("it gave another thread than was asked for")) }
}

pub(super) fn page<T, R>(
    page: contract::Page<T>,
    row: impl Fn(T) -> Result<R, CallError>,
) -> Result<Page<R>, CallError> {
    let contract::Page { rows, total, next } = page;
    Ok(Page { rows: rows.into_iter().map(row).collect::<Result<_, _>>()?, total, next })
}

/// What a thread begins with.
pub(super) fn create(new: &NewThread) -> Value {
    let mut create = json!({ "title": new.title });
    let facts = [
        ("agent", new.agent.as_ref().map(|agent| Value::from(agent.as_str()))),
        ("parent", new.parent.as_ref().map(|parent| Value::from(parent.as_str()))),
        ("metadata", new.metadata.clone().map(Value::Object)),
    ];
    for (name, value) in facts {
        if let Some(value) = value {
            create[name] = value;
        }
    }
    create
}

pub(super) fn of(key: &ThreadKey) -> contract::Of {
    contract::Of { handle: String::new(), resource: key.resource.to_string(), thread: key.thread.to_string() }
}

pub(super) fn direction(direction: Direction) -> contract::Direction {
    match direction {
        Direction::Ascending => contract::Direction::Ascending,
        Direction::Descending => contract::Direction::Descending,
    }
}

pub(super) fn threads(resource: &ResourceId, query: ThreadQuery) -> contract::Threads {
    let (offset, after) = match query.start {
        PageStart::First => (0, None),
        PageStart::Offset(offset) => (offset, None),
        PageStart::After(after) => (0, Some(after)),
    };
    contract::Threads {
        handle: String::new(),
        resource: resource.to_string(),
        order: match query.order {
            ThreadOrder::Created => contract::Order::Created,
            ThreadOrder::Activity => contract::Order::Activity,
            ThreadOrder::Updated => contract::Order::Updated,
        },
        direction: direction(query.direction),
        offset,
        after,
        limit: query.limit as u64,
        agent: query.agent.map(|agent| agent.to_string()),
    }
}

/// Bytes of parts and metadata in one answer, as of the runtime's own store.
pub(super) const MOST: usize = 8 << 20;

/// Bytes of a message as JSON.
pub(super) fn size(message: &contract::Message) -> usize {
    struct Count(usize);
    impl Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail, and the value is JSON already.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

/// How many of these rows fit into one answer, in their order. The first always does.
pub(super) fn fitting<'a>(rows: impl Iterator<Item = &'a StoredMessage>) -> usize {
    let mut taken = 0;
    let fits = |(at, row): &(usize, &StoredMessage)| {
        taken += bytes(&row.message);
        *at == 0 || taken <= MOST
    };
    rows.enumerate().take_while(fits).count()
}

fn bytes(message: &Message) -> usize {
    let metadata = if message.metadata.is_empty() { None } else { serde_json::to_string(&message.metadata).ok() };
    encode_parts(&message.parts).map_or(0, |text| text.len()) + metadata.map_or(0, |text| text.len())
}
