//! Making, changing and deleting threads.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use roster_model::id::{ResourceId, ThreadId};
use roster_model::storage::{NewThread, StoreError, StoreErrorKind, ThreadChange};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::owner::{self, Asked};
use super::request::{self, Body, bad};
use super::wire::WireThread;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::json;
use crate::http::path::ThreadInPath;
use crate::http::query::Params;
use crate::http::route::Route;

/// The routes.
pub(super) fn routes(access: Access) -> Vec<Route> {
    vec![
        Route::post("/api/memory/threads", access, create),
        Route::patch("/api/memory/threads/{id}", access, update),
        Route::delete("/api/memory/threads/{id}", access, delete),
    ]
}

/// The store's failure, an unknown thread told in its clients' words.
pub(super) fn unread(error: StoreError) -> ApiError {
    match error.kind {
        StoreErrorKind::NotFound => owner::no_thread(),
        _ => error.into(),
    }
}

/// A thread's id as a client chose it; a fresh one where it chose none.
pub(super) fn thread_id(app: &App, chosen: Option<&str>, field: &str) -> Result<ThreadId, ApiError> {
    match chosen {
        None | Some("") => Ok(ThreadId::fresh(app.services.ids.as_ref())),
        Some(text) => ThreadId::new(text).map_err(|error| bad(field, &error.to_string())),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct New {
    resource_id: Option<String>,
    thread_id: Option<String>,
    title: Option<String>,
    metadata: Option<Map<String, Value>>,
}

/// A thread that is there already gets the fields that are given and keeps the rest; under another owner the same id is
/// another thread.
async fn create(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
    Body(new): Body<New>,
) -> Result<Response, ApiError> {
    let agent = request::remembering(&app, &params)?.id;
    let asked = Asked::of(&params).or_body(new.resource_id.as_deref());
    if asked.resource.is_none() && matches!(identity, Identity::Anybody) {
        return Err(bad("resourceId", "Invalid input: expected a text"));
    }
    let owner = owner::of_list(&app, &identity, asked)?;
    let key = owner.key(thread_id(&app, new.thread_id.as_deref(), "threadId")?);
    let (title, metadata) = (new.title.clone().unwrap_or_default(), new.metadata.clone());
    let begin = NewThread { agent: Some(agent), parent: None, title, metadata };
    let (mut thread, made) = app.store.create_thread(&key, begin).await?;
    if !made && (new.title.is_some() || new.metadata.is_some()) {
        let change = ThreadChange { title: new.title, metadata: new.metadata };
        thread = app.store.update_thread(&key, change).await.map_err(unread)?;
    }
    Ok(json::ok(&WireThread::new(&thread, &owner.shown)))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    resource_id: Option<String>,
    title: Option<String>,
    metadata: Option<Map<String, Value>>,
}

async fn update(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
    Body(change): Body<Change>,
) -> Result<Response, ApiError> {
    request::remembering(&app, &params)?;
    let asked = Asked::of(&params).or_body(change.resource_id.as_deref());
    let (owner, key) = owner::of_thread(&app, &identity, asked, thread).await?;
    let change = ThreadChange { title: change.title, metadata: change.metadata };
    let thread = app.store.update_thread(&key, change).await.map_err(unread)?;
    Ok(json::ok(&WireThread::new(&thread, &owner.shown)))
}

#[derive(Serialize)]
struct Deleted {
    result: &'static str,
}

async fn delete(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    request::remembering(&app, &params)?;
    let (_, key) = owner::of_thread(&app, &identity, Asked::of(&params), thread).await?;
    if !app.store.delete_thread(&key).await? {
        return Err(owner::no_thread());
    }
    app.services.cancel_turns(&key);
    Ok(json::ok(&Deleted { result: "Thread deleted" }))
}

/// The owner an operator or an identity means by `text` when a thread is given away.
pub(super) fn receiver(app: &App, identity: &Identity, text: &str) -> Result<(ResourceId, ResourceId), ApiError> {
    let asked = Asked { resource: Some(text), agent: None };
    let owner = owner::of_list(app, identity, asked)?;
    Ok((owner.resource, owner.shown))
}
