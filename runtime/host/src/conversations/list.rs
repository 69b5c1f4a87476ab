//! One list of threads over several stores, in one order, page by page.

use std::collections::HashSet;
use std::sync::Arc;

use roster_model::housekeeping::SessionStore;
use roster_model::id::ResourceId;
use roster_model::storage::{Direction, Page, PageStart, StoreError, StoreErrorKind, Thread, ThreadOrder, ThreadQuery};
use roster_model::time::Timestamp;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// Where a store's part of the next page begins.
#[derive(Debug, Clone, PartialEq)]
enum Place {
    First,
    After(String),
    Done,
}

/// A store's rows that are not given out yet.
struct Part {
    rows: std::iter::Peekable<std::vec::IntoIter<Thread>>,
    taken: usize,
    fetched: usize,
    total: u64,
    /// Behind everything fetched.
    behind: Place,
}

/// A page of all threads of an owner. The orders by activity and by change go by the same date here: stores tell no other.
pub(super) async fn threads(
    stores: &[Arc<dyn SessionStore>],
    resource: &ResourceId,
    query: ThreadQuery,
) -> Result<Page<Thread>, StoreError> {
    let (skip, places) = match &query.start {
        PageStart::First => (0, vec![Place::First; stores.len()]),
        PageStart::Offset(offset) => (usize::try_from(*offset).unwrap_or(usize::MAX), vec![Place::First; stores.len()]),
        PageStart::After(text) => (0, decode(text, stores.len())?),
    };
    let wanted = query.limit.saturating_add(skip);
    let mut parts = Vec::with_capacity(stores.len());
    for (store, place) in stores.iter().zip(&places) {
        parts.push(fetch(store, resource, &query, place, wanted).await?);
    }
    let total = parts.iter().map(|part| part.total).sum();
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    let mut taken = 0;
    while taken < wanted
        && let Some(at) = first(&mut parts, &query)
    {
        let part = &mut parts[at];
        part.taken += 1;
        // Two factories may keep the same threads.
        if let Some(thread) = part.rows.next().filter(|thread| seen.insert(thread.key.clone())) {
            taken += 1;
            rows.extend((taken > skip).then_some(thread));
        }
    }
    let mut next = Vec::with_capacity(parts.len());
    for ((part, place), store) in parts.into_iter().zip(places).zip(stores) {
        next.push(after(store, resource, &query, part, place).await?);
    }
    let more = next.iter().any(|place| *place != Place::Done) && !rows.is_empty();
    Ok(Page { rows, total, next: more.then(|| encode(&next)) })
}

async fn fetch(
    store: &Arc<dyn SessionStore>,
    resource: &ResourceId,
    query: &ThreadQuery,
    place: &Place,
    limit: usize,
) -> Result<Part, StoreError> {
    let (start, limit) = match place {
        Place::First => (PageStart::First, limit),
        Place::After(after) => (PageStart::After(after.clone()), limit),
        // For its count.
        Place::Done => (PageStart::First, 0),
    };
    let page = store.threads(resource, ThreadQuery { start, limit, ..query.clone() }).await?;
    let behind = match (place, page.next) {
        (Place::Done, _) | (_, None) => Place::Done,
        (_, Some(next)) => Place::After(next),
    };
    let fetched = page.rows.len();
    Ok(Part { rows: page.rows.into_iter().peekable(), taken: 0, fetched, total: page.total, behind })
}

/// The part whose next row comes first.
fn first(parts: &mut [Part], query: &ThreadQuery) -> Option<usize> {
    let mut best: Option<(usize, Timestamp)> = None;
    for (at, part) in parts.iter_mut().enumerate() {
        let Some(thread) = part.rows.peek() else { continue };
        let date = if query.order == ThreadOrder::Created { thread.created_at } else { thread.updated_at };
        let earlier = |than: Timestamp| match query.direction {
            Direction::Ascending => date < than,
            Direction::Descending => date > than,
        };
        if best.is_none_or(|(_, than)| earlier(than)) {
            best = Some((at, date));
        }
    }
    best.map(|(at, _)| at)
}

/// Where a store goes on: behind the rows that were given out.
async fn after(
    store: &Arc<dyn SessionStore>,
    resource: &ResourceId,
    query: &ThreadQuery,
    part: Part,
    place: Place,
) -> Result<Place, StoreError> {
    if part.taken == part.fetched {
        return Ok(part.behind);
    }
    if part.taken == 0 {
        return Ok(place);
    }
    // Only the store knows the cursor behind a row that ends no page.
    let start = match place {
        Place::After(after) => PageStart::After(after),
        Place::First | Place::Done => PageStart::First,
    };
    let page = store.threads(resource, ThreadQuery { start, limit: part.taken, ..query.clone() }).await?;
    Ok(page.next.map_or(Place::Done, Place::After))
}

fn encode(places: &[Place]) -> String {
    let one = |place: &Place| match place {
        Place::First => Value::Null,
        Place::After(after) => json!(after),
        Place::Done => json!(false),
    };
    let text = Value::Array(places.iter().map(one).collect()).to_string();
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn decode(text: &str, stores: usize) -> Result<Vec<Place>, StoreError> {
    let read = || -> Option<Vec<Place>> {
        let digits = text.as_bytes().as_chunks::<2>();
        let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        let bytes: Vec<u8> = digits.0.iter().map(byte).collect::<Option<_>>().filter(|_| digits.1.is_empty())?;
        let values: Vec<Value> = serde_json::from_slice(&bytes).ok()?;
        let one = |value: Value| match value {
            Value::Null => Some(Place::First),
            Value::Bool(false) => Some(Place::Done),
            Value::String(after) => Some(Place::After(after)),
            _ => None,
        };
        values.into_iter().map(one).collect::<Option<Vec<_>>>().filter(|places| places.len() == stores)
    };
    read().ok_or_else(|| StoreError::new(StoreErrorKind::Invalid, "that is no cursor of this list"))
}
