//! `include=` of a message list: messages that are wanted whatever the page holds, each with its neighbours.

use roster_model::id::{IdError, MessageId, ThreadId, ThreadKey};
use roster_model::message::StoredMessage;
use roster_model::storage::{Direction, MessageQuery, Page, StoreError, StoreErrorKind};
use serde::Deserialize;

use super::owner::Owner;
use super::query::issue;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::query::Params;

/// Entries of one list, and neighbours on one side of a message: all of them are held in memory at once.
const MOST_ENTRIES: usize = 10;
const MOST_NEIGHBOURS: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    id: String,
    thread_id: Option<String>,
    #[serde(default)]
    with_previous_messages: usize,
    #[serde(default)]
    with_next_messages: usize,
}

/// A message that is wanted too.
pub(super) struct Included {
    id: MessageId,
    /// Its thread, where it is not the one that is listed.
    thread: Option<ThreadId>,
    previous: usize,
    next: usize,
}

/// What was found, oldest first within a thread.
#[derive(Default)]
pub(super) struct Found {
    /// Of the thread that is listed.
    pub(super) here: Vec<StoredMessage>,
    /// Of other threads of the owner.
    pub(super) elsewhere: Vec<(ThreadId, StoredMessage)>,
}

/// `include=<JSON list>`; an empty list when it is not there.
///
/// # Errors
/// 400 with `issues`.
pub(super) fn read(params: &Params) -> Result<Vec<Included>, ApiError> {
    let Some(text) = params.text("include") else { return Ok(Vec::new()) };
    let bad = |message: &str| issue("include", message);
    let raw: Vec<Raw> = serde_json::from_str(text).map_err(|_| {
        bad("Invalid input: expected a list of objects with `id`, `threadId`, `withPreviousMessages`, `withNextMessages`")
    })?;
    if raw.len() > MOST_ENTRIES {
        return Err(bad(&format!("Too big: expected at most {MOST_ENTRIES} entries")));
    }
    if raw.iter().any(|raw| raw.with_previous_messages.max(raw.with_next_messages) > MOST_NEIGHBOURS) {
        return Err(bad(&format!("Too big: expected at most {MOST_NEIGHBOURS} messages before and after")));
    }
    let one = |raw: Raw| {
        let illegal = |error: IdError| bad(&error.to_string());
        let id = MessageId::new(&raw.id).map_err(illegal)?;
        let thread = raw.thread_id.as_deref().map(ThreadId::new).transpose().map_err(illegal)?;
        Ok(Included { id, thread, previous: raw.with_previous_messages, next: raw.with_next_messages })
    };
    raw.into_iter().map(one).collect()
}

/// The messages that are wanted, each once. One that is not there, for this owner, adds nothing.
///
/// # Errors
/// The store's; `Invalid` when one entry alone holds more than a page may.
pub(super) async fn find(app: &App, owner: &Owner, here: &ThreadKey, wanted: &[Included]) -> Result<Found, StoreError> {
    let mut found = Found::default();
    for one in wanted {
        let thread = one.thread.clone().unwrap_or_else(|| here.thread.clone());
        let rows = around(app, &owner.key(thread.clone()), one).await?;
        if thread == here.thread {
            found.here.extend(rows);
        } else {
            found.elsewhere.extend(rows.into_iter().map(|row| (thread.clone(), row)));
        }
    }
    found.elsewhere.sort_by(|(a, one), (b, other)| (a, one.seq).cmp(&(b, other.seq)));
    found.elsewhere.dedup_by(|(a, one), (b, other)| a == b && one.seq == other.seq);
    Ok(found)
}

async fn around(app: &App, key: &ThreadKey, wanted: &Included) -> Result<Vec<StoredMessage>, StoreError> {
    let (direction, from) = (Direction::Ascending, Some(wanted.id.clone()));
    let onward = MessageQuery { direction, from, limit: wanted.next + 1, ..MessageQuery::default() };
    let onward = match app.store.messages(key, onward).await {
        Err(error) if error.kind == StoreErrorKind::NotFound => return Ok(Vec::new()),
        page => at_once(page?, wanted.next + 1)?,
    };
    let (direction, before) = (Direction::Descending, Some(wanted.id.clone()));
    let back = MessageQuery { direction, before, limit: wanted.previous, ..MessageQuery::default() };
    let mut rows = match app.store.messages(key, back).await {
        // Deleted between the two reads.
        Err(error) if error.kind == StoreErrorKind::NotFound => return Ok(Vec::new()),
        page => at_once(page?, wanted.previous)?,
    };
    rows.reverse();
    rows.extend(onward);
    Ok(rows)
}

/// The rows of a page that was not cut short because they are large.
fn at_once(page: Page<StoredMessage>, limit: usize) -> Result<Vec<StoredMessage>, StoreError> {
    if page.next.is_some() && page.rows.len() < limit {
        let text = "an entry of `include` is larger than 8 MiB; ask with fewer messages around it";
        return Err(StoreError::new(StoreErrorKind::Invalid, text));
    }
    Ok(page.rows)
}
