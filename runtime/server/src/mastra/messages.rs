//! Saving and deleting messages outside a turn.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::Message;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::input::Saved;
use super::owner::{self, Asked, By, Owner};
use super::request::{self, Body, bad};
use super::threads::unread;
use super::wire::WireMessage;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::json;
use crate::http::query::Params;
use crate::http::route::Route;

/// The routes.
pub(super) fn routes(access: Access) -> Vec<Route> {
    vec![
        Route::post("/api/memory/save-messages", access, save),
        Route::post("/api/memory/messages/delete", access, delete),
    ]
}

/// Messages of one call: a larger batch would hold up everybody's writes.
const MOST_SAVED: usize = 10_000;
/// Messages whose owner is looked for: each is asked of every thread.
const MOST_LOOKED_FOR: usize = 16;

#[derive(Deserialize)]
struct Batch {
    messages: Vec<Saved>,
}

#[derive(Serialize)]
struct SavedList<'a> {
    messages: Vec<WireMessage<'a>>,
}

/// Where a message goes, and how its owner is shown.
struct Place {
    key: ThreadKey,
    shown: ResourceId,
}

/// Every thread is looked for before anything is written; within a thread all messages are saved or none.
async fn save(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
    Body(batch): Body<Batch>,
) -> Result<Response, ApiError> {
    request::remembering(&app, &params)?;
    if batch.messages.len() > MOST_SAVED {
        let text = format!("`messages` holds {} entries; at most {MOST_SAVED} are saved at once", batch.messages.len());
        return Err(ApiError::invalid(text));
    }
    let mut read: Vec<(Place, Message)> = Vec::with_capacity(batch.messages.len());
    for (number, saved) in batch.messages.into_iter().enumerate() {
        let at = format!("messages.{number}");
        let place = place(&app, &identity, &saved, &at)?;
        read.push((place, saved.read(&app, &at)?));
    }
    let mut threads: Vec<(ThreadKey, Vec<Message>)> = Vec::new();
    for (place, message) in &read {
        match threads.iter_mut().find(|(key, _)| *key == place.key) {
            Some((_, messages)) => messages.push(message.clone()),
            None => threads.push((place.key.clone(), vec![message.clone()])),
        }
    }
    for (key, _) in &threads {
        app.store.thread(key).await?.ok_or_else(owner::no_thread)?;
    }
    for (key, messages) in threads {
        app.store.append(&key, messages).await.map_err(unread)?;
    }
    let told =
        |(place, message): &'_ (Place, Message)| (place.key.thread.clone(), place.shown.clone(), message.clone());
    let told: Vec<_> = read.iter().map(told).collect();
    let messages = told.iter().map(|(thread, shown, message)| WireMessage::new(message, thread, shown)).collect();
    Ok(json::ok(&SavedList { messages }))
}

fn place(app: &App, identity: &Identity, saved: &Saved, at: &str) -> Result<Place, ApiError> {
    let needs = |field: &str| bad(&format!("{at}.{field}"), "every message needs `threadId` and `resourceId`");
    let thread = saved.thread_id.as_deref().ok_or_else(|| needs("threadId"))?;
    let thread = ThreadId::new(thread).map_err(|error| bad(&format!("{at}.threadId"), &error.to_string()))?;
    if saved.resource_id.is_none() && matches!(identity, Identity::Anybody) {
        return Err(needs("resourceId"));
    }
    let owner = owner::of_list(app, identity, Asked { resource: saved.resource_id.as_deref(), agent: None })?;
    Ok(Place { key: owner.key(thread), shown: owner.shown })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Unwanted {
    message_ids: Value,
    resource_id: Option<String>,
    /// Says which is meant where an id stands in several threads.
    thread_id: Option<String>,
}

#[derive(Serialize)]
struct Deleted {
    success: bool,
    message: String,
}

async fn delete(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
    Body(unwanted): Body<Unwanted>,
) -> Result<Response, ApiError> {
    request::remembering(&app, &params)?;
    let ids = ids(&unwanted.message_ids)?;
    let asked = Asked::of(&params).or_body(unwanted.resource_id.as_deref());
    if let Some(thread) = thread_named(unwanted.thread_id.as_deref())? {
        // Whichever store keeps it.
        let (_, key) = owner::of_thread(&app, &identity, asked, thread).await?;
        return Ok(deleted(app.store.delete_messages(&key, ids).await?));
    }
    let owner = owner::of_list(&app, &identity, asked)?;
    let (owner, found) = found(&app, owner, ids).await?;
    let mut threads: BTreeMap<ThreadId, Vec<MessageId>> = BTreeMap::new();
    let mut seen = BTreeMap::new();
    for (thread, message) in found {
        if seen.insert(message.clone(), thread.clone()).is_some_and(|other| other != thread) {
            let text = format!("several threads hold a message `{message}`; say which with `threadId`");
            return Err(ApiError::new(StatusCode::BAD_REQUEST, "thread_required", text).param("threadId"));
        }
        threads.entry(thread).or_default().push(message);
    }
    let mut count = 0;
    for (thread, messages) in threads {
        count += app.store.delete_messages(&owner.key(thread), messages).await?;
    }
    Ok(deleted(count))
}

fn deleted(count: u64) -> Response {
    let noun = if count == 1 { "message" } else { "messages" };
    json::ok(&Deleted { success: true, message: format!("{count} {noun} deleted") })
}

/// Where the messages stand. A request that names no owner means the agent's own; when that one has none of them, the
/// one owner of the first message that is anywhere.
async fn found(app: &App, owner: Owner, ids: Vec<MessageId>) -> Result<(Owner, Vec<(ThreadId, MessageId)>), ApiError> {
    let found = app.store.threads_of_messages(&owner.resource, ids.clone()).await?;
    if owner.by != By::Agent || !found.is_empty() {
        return Ok((owner, found));
    }
    for id in ids.iter().take(MOST_LOOKED_FOR) {
        let owners = app.operator.owners_of_message(id, 2).await?;
        if let Some(only) = owner::only(owners, "a message")? {
            let found = app.store.threads_of_messages(&only.resource, ids).await?;
            return Ok((only, found));
        }
    }
    Ok((owner, found))
}

fn thread_named(text: Option<&str>) -> Result<Option<ThreadId>, ApiError> {
    text.map(ThreadId::new).transpose().map_err(|error| bad("threadId", &error.to_string()))
}

/// `"id"`, `{"id"}`, or a list of either.
fn ids(value: &Value) -> Result<Vec<MessageId>, ApiError> {
    let list = match value {
        Value::Array(list) => list.as_slice(),
        one => std::slice::from_ref(one),
    };
    let one = |value: &Value| {
        let text = value.as_str().or_else(|| value.get("id")?.as_str());
        text.and_then(|text| MessageId::new(text).ok())
    };
    let read: Option<Vec<MessageId>> = list.iter().map(one).collect();
    read.ok_or_else(|| bad("messageIds", "must be an id, an object with `id`, or a list of these"))
}
