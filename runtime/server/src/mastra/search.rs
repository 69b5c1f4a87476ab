//! Searching an owner's messages: by meaning and words where the agent recalls so, else by their words alone.

use std::collections::HashMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use roster_engine::definition::{RecallConfig, Scope};
use roster_engine::memory::Memory;
use roster_engine::memory::recall::Question;
use roster_model::id::{MessageId, ThreadId, ThreadKey};
use roster_model::message::{Message, Role, Seq, StoredMessage};
use roster_model::storage::{Direction, MessageQuery, PageStart, StoreError, StoreErrorKind, ThreadOrder, ThreadQuery};
use roster_model::time::Timestamp;
use roster_model::words;
use serde::Serialize;

use super::owner::{self, Asked, Owner};
use super::query::issue;
use super::request;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::json;
use crate::http::query::Params;
use crate::http::route::Route;

/// The route.
pub(super) fn routes(access: Access) -> Vec<Route> {
    vec![Route::get("/api/memory/search", access, search)]
}

/// Results where the request names no number, and at most.
const RESULTS: usize = 20;
const MOST_RESULTS: usize = 100;
/// Messages read, newest first, by a search without an index.
const READ: usize = 5_000;
/// Read at a time.
const SLICE: usize = 500;
/// Different words of a question that are looked for.
const MOST_WORDS: usize = 32;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Results {
    results: Vec<Found>,
    count: usize,
    query: String,
    search_scope: &'static str,
    search_type: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    #[serde(flatten)]
    line: Line,
    thread_id: ThreadId,
    thread_title: String,
    context: Around,
}

#[derive(Serialize)]
struct Around {
    before: Vec<Line>,
    after: Vec<Line>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    id: MessageId,
    role: Role,
    content: String,
    created_at: Timestamp,
}

impl From<&Message> for Line {
    fn from(message: &Message) -> Self {
        Self { id: message.id.clone(), role: message.role, content: message.text(), created_at: message.created_at }
    }
}

/// Where a message stands.
type Place = (ThreadId, Seq);

/// What is searched.
struct Search<'a> {
    owner: &'a Owner,
    thread: Option<ThreadId>,
    text: &'a str,
    limit: usize,
}

async fn search(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
) -> Result<Response, ApiError> {
    let asking = request::remembering(&app, &params)?;
    let Some(text) = params.text("searchQuery") else {
        return Err(issue("searchQuery", "Invalid input: expected a text"));
    };
    let limit = params.number("limit", 1, MOST_RESULTS)?.unwrap_or(RESULTS);
    let thread = params.text("threadId").map(ThreadId::new).transpose();
    let thread = thread.map_err(|error| issue("threadId", &error.to_string()))?;
    let asked = Asked::of(&params);
    let owner = match &thread {
        Some(thread) => owner::of_thread(&app, &identity, asked, thread.clone()).await?.0,
        None => owner::of_list(&app, &identity, asked)?,
    };
    let search = Search { owner: &owner, thread, text, limit };
    let memory = asking.agent.as_ref().and_then(|agent| agent.memory.as_ref());
    let recalling = memory.and_then(|memory| Some((memory, memory.policy.recall.as_ref()?)));
    let (places, search_type, around) = match recalling {
        Some((memory, config)) => {
            let (places, by_meaning) = recalled(&app, &search, memory, config).await?;
            (places, if by_meaning { "semantic" } else { "text" }, (config.before, config.after))
        }
        None => (walked(&app, &search).await?, "text", (1, 1)),
    };
    let results = found(&app, &owner, places, around).await?;
    let scope = if search.thread.is_some() { Scope::Thread } else { Scope::Resource };
    Ok(json::ok(&Results {
        count: results.len(),
        results,
        query: text.to_owned(),
        search_scope: scope.as_str(),
        search_type,
    }))
}

/// Asks the recall of the agent, and says whether meaning decided or words alone. Nothing of this reaches a model, so
/// whoever may list an owner's threads may search them.
async fn recalled(
    app: &App,
    search: &Search<'_>,
    memory: &Memory,
    config: &RecallConfig,
) -> Result<(Vec<Place>, bool), ApiError> {
    let vector = app.services.recall.embed(memory.embedder.as_ref(), search.text).await;
    let scope = if search.thread.is_some() { Scope::Thread } else { Scope::Resource };
    let config = RecallConfig { top_k: search.limit, scope, ..config.clone() };
    let thread = search.thread.clone().unwrap_or_else(|| ThreadId::fresh(app.services.ids.as_ref()));
    let question = Question {
        memory,
        config: &config,
        key: &search.owner.key(thread),
        owner_named: true,
        before: Seq(i64::MAX.unsigned_abs()),
        now: app.services.clock.now(),
        text: search.text,
        vector: vector.as_deref(),
    };
    let searched = app.services.recall.search(question).await?;
    let places = searched.hits.into_iter().map(|hit| (hit.thread, hit.seq)).collect();
    Ok((places, searched.space.is_some()))
}

/// Reads messages, newest first, and takes those that hold all the words.
async fn walked(app: &App, search: &Search<'_>) -> Result<Vec<Place>, ApiError> {
    let wanted = words::distinct(search.text, MOST_WORDS);
    let fits = |row: &StoredMessage| {
        let has = words::words(&row.message.text());
        !wanted.is_empty() && wanted.iter().all(|word| has.contains(word))
    };
    let threads = match &search.thread {
        Some(thread) => vec![thread.clone()],
        None => newest_threads(app, search.owner).await?,
    };
    let (mut places, mut read) = (Vec::new(), 0);
    for thread in threads {
        let key = search.owner.key(thread);
        let mut query =
            MessageQuery { direction: Direction::Descending, offset: 0, limit: SLICE, ..MessageQuery::default() };
        loop {
            let (rows, more) = rows(app, &key, query.clone()).await?;
            read += rows.len();
            places.extend(rows.iter().filter(|row| fits(row)).map(|row| (key.thread.clone(), row.seq)));
            if places.len() >= search.limit || read >= READ {
                places.truncate(search.limit);
                return Ok(places);
            }
            if !more {
                break;
            }
            query.offset += rows.len() as u64;
        }
    }
    Ok(places)
}

/// A page's rows, and whether others follow. A thread that is deleted meanwhile holds nothing.
async fn rows(app: &App, key: &ThreadKey, query: MessageQuery) -> Result<(Vec<StoredMessage>, bool), StoreError> {
    match app.store.messages(key, query).await {
        Ok(page) => Ok((page.rows, page.next.is_some())),
        Err(error) if error.kind == StoreErrorKind::NotFound => Ok((Vec::new(), false)),
        Err(error) => Err(error),
    }
}

async fn newest_threads(app: &App, owner: &Owner) -> Result<Vec<ThreadId>, StoreError> {
    let query = ThreadQuery {
        order: ThreadOrder::Activity,
        direction: Direction::Descending,
        start: PageStart::First,
        limit: SLICE,
        agent: owner.agent.clone(),
    };
    let page = app.store.threads(&owner.resource, query).await?;
    Ok(page.rows.into_iter().map(|thread| thread.key.thread).collect())
}

/// The messages at these places with their neighbours.
async fn found(
    app: &App,
    owner: &Owner,
    places: Vec<Place>,
    (before, after): (usize, usize),
) -> Result<Vec<Found>, StoreError> {
    let mut titles: HashMap<ThreadId, String> = HashMap::new();
    let mut results = Vec::with_capacity(places.len());
    for (thread, seq) in places {
        let key = owner.key(thread.clone());
        let rows = app.store.around(&key, seq, before, after).await?;
        let Some(hit) = rows.iter().find(|row| row.seq == seq) else { continue };
        if !titles.contains_key(&thread) {
            let title = app.store.thread(&key).await?.map(|thread| thread.title).unwrap_or_default();
            titles.insert(thread.clone(), if title.is_empty() { thread.to_string() } else { title });
        }
        results.push(Found {
            line: (&hit.message).into(),
            thread_title: titles.get(&thread).cloned().unwrap_or_default(),
            thread_id: thread,
            context: Around {
                before: rows.iter().filter(|row| row.seq < seq).map(|row| (&row.message).into()).collect(),
                after: rows.iter().filter(|row| row.seq > seq).map(|row| (&row.message).into()).collect(),
            },
        });
    }
    Ok(results)
}
