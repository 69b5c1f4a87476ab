//! What the model was fed, and erasing all that an owner has. Both are ours; Mastra has no such routes.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_model::feed::FeedRecord;
use roster_model::id::{ResourceId, ThreadId, TurnId};
use roster_model::storage::{StoreError, StoreErrorKind};
use roster_model::time::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use super::owner::{self, Asked};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::json;
use crate::http::path::{IdText, ThreadInPath};
use crate::http::query::Params;
use crate::http::route::Route;

/// The routes.
pub(super) fn routes(access: Access) -> Vec<Route> {
    vec![
        Route::get("/api/memory/threads/{id}/feed", access, feed),
        Route::delete("/api/memory/resources/{id}", access, erase),
    ]
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Feed<'a> {
    thread_id: &'a ThreadId,
    records: Vec<Record<'a>>,
}

#[derive(Serialize)]
struct Record<'a> {
    turn: &'a TurnId,
    step: u32,
    at: Timestamp,
    record: &'a RawValue,
}

impl<'a> Record<'a> {
    /// As it is stored; `null` where that is no JSON.
    fn of(record: &'a FeedRecord) -> Self {
        let FeedRecord { turn, step, at, record } = record;
        Self { turn, step: *step, at: *at, record: serde_json::from_str(record).unwrap_or(RawValue::NULL) }
    }
}

/// The records of a turn, of the newest that has any when none is named.
async fn feed(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    let turn = params.text("turn").map(TurnId::new).transpose();
    let turn = turn.map_err(|error| ApiError::invalid(error.to_string()).param("turn"))?;
    let (_, key) = owner::of_thread(&app, &identity, Asked::of(&params), thread).await?;
    app.store.thread(&key).await?.ok_or_else(owner::no_thread)?;
    let records = app.store.feed(&key, turn.as_ref()).await?;
    Ok(json::ok(&Feed { thread_id: &key.thread, records: records.iter().map(Record::of).collect() }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Erased {
    threads: u64,
    messages: u64,
    index_entries: u64,
    working_memories: u64,
}

/// The operator is told what stands in the way: nothing is erased for good until that is answered.
fn unerased(error: StoreError) -> ApiError {
    if error.kind != StoreErrorKind::Unavailable {
        return error.into();
    }
    tracing::error!(%error, source = ?error.source, "an owner was not erased as a whole");
    let text = format!("not everything is erased, ask again: {error}");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "sessions_unavailable", text)
}

/// The owner is meant as written: an agent's id stands for nobody here. Turns under way are cancelled.
async fn erase(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    IdText(id): IdText,
) -> Result<Response, ApiError> {
    let resource = ResourceId::new(&id).map_err(|error| ApiError::invalid(error.to_string()).param("id"))?;
    if let Identity::Known { resource: own, .. } = &identity
        && *own != resource
    {
        return Err(ApiError::not_found("resource_not_found", "there is no such owner"));
    }
    app.services.cancel_turns_of(&resource);
    let erased = app.store.erase(&resource).await.map_err(unerased)?;
    Ok(json::ok(&Erased {
        threads: erased.threads,
        messages: erased.messages,
        index_entries: erased.index_entries,
        working_memories: erased.working_memories,
    }))
}
