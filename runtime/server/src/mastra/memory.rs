//! `GET /api/memory/threads…`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use roster_model::id::ThreadKey;
use roster_model::message::StoredMessage;
use roster_model::storage::{
    Direction, MessageQuery, Page, PageStart, StoreError, StoreErrorKind, Thread, ThreadQuery,
};
use serde_json::{Map, Value};

use super::include;
use super::owner::{self, Asked, Owner};
use super::query::{self, MessageFilter, Paging};
use super::wire::{MessageList, ThreadList, WireMessage, WireThread};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::json;
use crate::http::path::ThreadInPath;
use crate::http::query::Params;
use crate::http::route::Route;

/// The routes that read.
pub(super) fn routes(access: Access) -> Vec<Route> {
    vec![
        Route::get("/api/memory/threads", access, threads),
        Route::get("/api/memory/threads/{id}", access, thread),
        Route::get("/api/memory/threads/{id}/messages", access, messages),
    ]
}

/// Rows read at a time where a filter is applied here.
const SLICE: usize = 500;

async fn threads(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
) -> Result<Response, ApiError> {
    let paging = query::paging(&params, 100)?;
    let (order, direction) = query::thread_order(&params)?;
    let owner = owner::of_list(&app, &identity, Asked::of(&params))?;
    let start = PageStart::Offset(paging.offset());
    let agent = owner.agent.clone();
    let query = ThreadQuery { order, direction, start, limit: paging.limit(), agent };
    let page = match query::metadata(&params)? {
        None => app.store.threads(&owner.resource, query).await?,
        Some(wanted) => having(&app, &owner, query, &wanted, paging).await?,
    };
    Ok(json::ok(&ThreadList {
        threads: page.rows.iter().map(|thread| WireThread::new(thread, &owner.shown)).collect(),
        total: page.total,
        page: paging.page,
        per_page: paging.per_page,
        has_more: paging.has_more(page.rows.len(), page.total),
    }))
}

/// The page of those threads whose metadata holds `wanted`. Stores keep no index of it: the owner's list is walked.
async fn having(
    app: &App,
    owner: &Owner,
    mut query: ThreadQuery,
    wanted: &Map<String, Value>,
    paging: Paging,
) -> Result<Page<Thread>, StoreError> {
    let fits = |thread: &Thread| {
        let metadata = thread.metadata.as_ref();
        wanted.iter().all(|(key, value)| metadata.and_then(|metadata| metadata.get(key)) == Some(value))
    };
    let mut found = Found::new(paging);
    (query.start, query.limit) = (PageStart::First, SLICE);
    loop {
        let page = app.store.threads(&owner.resource, query.clone()).await?;
        page.rows.into_iter().filter(fits).for_each(|thread| found.add(thread));
        match page.next {
            Some(next) => query.start = PageStart::After(next),
            None => return Ok(found.page()),
        }
    }
}

/// Counts what fits and keeps one page of it.
struct Found<T> {
    rows: Vec<T>,
    total: u64,
    paging: Paging,
}

impl<T> Found<T> {
    fn new(paging: Paging) -> Self {
        Self { rows: Vec::new(), total: 0, paging }
    }

    fn add(&mut self, row: T) {
        if self.total >= self.paging.offset() && self.rows.len() < self.paging.limit() {
            self.rows.push(row);
        }
        self.total += 1;
    }

    fn page(self) -> Page<T> {
        Page { rows: self.rows, total: self.total, next: None }
    }
}

async fn thread(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    let (owner, key) = owner::of_thread(&app, &identity, Asked::of(&params), thread).await?;
    let thread = app.store.thread(&key).await?.ok_or_else(owner::no_thread)?;
    Ok(json::ok(&WireThread::new(&thread, &owner.shown)))
}

async fn messages(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    let paging = query::paging(&params, 40)?;
    let order = query::message_order(&params)?;
    let filter = query::filter(&params)?;
    let wanted = include::read(&params)?;
    let (owner, key) = owner::of_thread(&app, &identity, Asked::of(&params), thread).await?;
    // Without an order the page is counted from the end, and its rows are listed oldest first.
    let direction = order.unwrap_or(Direction::Descending);
    let read = match filter {
        None => {
            let query =
                MessageQuery { direction, offset: paging.offset(), limit: paging.limit(), ..MessageQuery::default() };
            whole(&app, &key, query).await
        }
        Some(filter) => passing(&app, &key, direction, &filter, paging).await,
    };
    let mut page = read.map_err(|error| match error.kind {
        StoreErrorKind::Invalid => ApiError::invalid(TOO_LARGE),
        _ => unread(error),
    })?;
    let has_more = paging.has_more(page.rows.len(), page.total);
    let found = include::find(&app, &owner, &key, &wanted).await.map_err(unread)?;
    page.rows.extend(found.here);
    page.rows.sort_by_key(|row| row.seq);
    page.rows.dedup_by_key(|row| row.seq);
    if order == Some(Direction::Descending) {
        page.rows.reverse();
    }
    let here = page.rows.iter().map(|row| (&key.thread, row));
    let all = here.chain(found.elsewhere.iter().map(|(thread, row)| (thread, row)));
    Ok(json::ok(&MessageList {
        messages: all.map(|(thread, row)| WireMessage::new(&row.message, thread, &owner.shown)).collect(),
        total: page.total,
        page: paging.page,
        per_page: paging.per_page,
        has_more,
        ui_messages: None,
    }))
}

fn unread(error: StoreError) -> ApiError {
    match error.kind {
        StoreErrorKind::NotFound => owner::no_thread(),
        StoreErrorKind::Invalid => ApiError::invalid(error.message),
        _ => error.into(),
    }
}

/// Reads of one page: the store ends a read where it holds 8 MiB, and a page by number must not lose what follows.
const MOST_READS: usize = 8;
/// Says that a page takes more of them.
const TOO_LARGE: &str = "the page is larger than 64 MiB; ask with a smaller `perPage`";

/// The page as a whole, however many reads it takes.
async fn whole(app: &App, key: &ThreadKey, query: MessageQuery) -> Result<Page<StoredMessage>, StoreError> {
    let mut page = app.store.messages(key, query.clone()).await?;
    for _ in 1..MOST_READS {
        let read = page.rows.len();
        if page.next.is_none() || read >= query.limit {
            return Ok(page);
        }
        let rest = MessageQuery { offset: query.offset + read as u64, limit: query.limit - read, ..query.clone() };
        let more = app.store.messages(key, rest).await?;
        page.rows.extend(more.rows);
        page.next = more.next;
    }
    // Nothing is passed over in silence.
    if page.next.is_some() && page.rows.len() < query.limit {
        return Err(StoreError::new(StoreErrorKind::Invalid, TOO_LARGE));
    }
    Ok(page)
}

/// The page of those messages that pass the filter; the thread is walked.
async fn passing(
    app: &App,
    key: &ThreadKey,
    direction: Direction,
    filter: &MessageFilter,
    paging: Paging,
) -> Result<Page<StoredMessage>, StoreError> {
    let mut found = Found::new(paging);
    let mut query = MessageQuery { direction, offset: 0, limit: SLICE, ..MessageQuery::default() };
    let mut behind = None;
    loop {
        let page = app.store.messages(key, query.clone()).await?;
        let last = page.rows.last().map(|row| row.message.id.clone());
        if page.next.is_some() && last == behind {
            return Err(StoreError::new(StoreErrorKind::Internal, "pages of messages lead nowhere"));
        }
        behind = last;
        let read = page.rows.len();
        let more = page.next.is_some();
        page.rows.into_iter().filter(|row| filter.takes(&row.message)).for_each(|row| found.add(row));
        // Not "fewer than asked for": a page also ends where it holds enough bytes.
        if !more {
            return Ok(found.page());
        }
        query.offset += read as u64;
    }
}
