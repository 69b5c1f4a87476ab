//! One list of threads over several stores, in one order, page by page.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::{join, join_all};
use roster_model::housekeeping::SessionStore;
use roster_model::id::ResourceId;
use roster_model::storage::{Direction, Page, PageStart, StoreError, StoreErrorKind, Thread, ThreadOrder, ThreadQuery};
use roster_model::time::Timestamp;
use serde_json::{Value, json};

use super::soon;

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
    let mut parts = fetch_all(stores, resource, &query, &places, wanted).await?;
    let total = parts.iter().map(|part| part.total).fold(0, u64::saturating_add);
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

/// A part of each store. The first is the runtime's own; of another that does not answer the list has nothing, since one
/// plugin must not hide everybody's threads.
async fn fetch_all(
    stores: &[Arc<dyn SessionStore>],
    resource: &ResourceId,
    query: &ThreadQuery,
    places: &[Place],
    wanted: usize,
) -> Result<Vec<Part>, StoreError> {
    let (Some((own, others)), Some((first, behind))) = (stores.split_first(), places.split_first()) else {
        return Ok(Vec::new());
    };
    let asked = others.iter().zip(behind).map(|(store, place)| soon(fetch(store, resource, query, place, wanted)));
    let (own, answers) = join(fetch(own, resource, query, first, wanted), join_all(asked)).await;
    let mut parts = vec![own?];
    for (answer, place) in answers.into_iter().zip(behind) {
        parts.push(match answer {
            Err(error) if error.kind == StoreErrorKind::Unavailable => {
                tracing::warn!(%error, "a list of threads lacks those of a plugin's memory");
                Part { rows: Vec::new().into_iter().peekable(), taken: 0, fetched: 0, total: 0, behind: place.clone() }
            }
            answer => answer?,
        });
    }
    Ok(parts)
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
