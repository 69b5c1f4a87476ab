//! Copies of threads, forks included, and threads that change their owner.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_model::housekeeping::{Copied, CopyRange};
use roster_model::id::{MessageId, ResourceId, ThreadKey};
use roster_model::storage::{NewThread, StoreError, StoreErrorKind, Thread};
use roster_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::owner::{self, Asked, Owner};
use super::request::{self, Body, bad};
use super::threads::{receiver, thread_id, unread};
use super::wire::{WireMessage, WireThread};
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
        Route::post("/api/memory/threads/{id}/clone", access, copy),
        Route::post("/api/memory/threads/{id}/transfer", access, transfer),
    ]
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    resource_id: Option<String>,
    new_thread_id: Option<String>,
    title: Option<String>,
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    options: Options,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    /// Only the newest so many.
    message_limit: Option<usize>,
    /// Only those up to and with this one: a fork.
    until_message_id: Option<String>,
    #[serde(default)]
    message_filter: Filter,
}

/// Which messages a copy keeps; all that is given must hold.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter {
    message_ids: Option<BTreeSet<String>>,
    start_date: Option<Timestamp>,
    end_date: Option<Timestamp>,
}

impl Options {
    fn range(self) -> Result<CopyRange, ApiError> {
        let until = self.until_message_id.as_deref().map(MessageId::new).transpose();
        let until = until.map_err(|error| bad("options.untilMessageId", &error.to_string()))?;
        let Filter { message_ids, start_date, end_date } = self.message_filter;
        // What is no legal id is no message's.
        let legal = |ids: BTreeSet<String>| ids.iter().filter_map(|id| MessageId::new(id).ok()).collect();
        let only = message_ids.map(legal);
        Ok(CopyRange { newest: self.message_limit, until, only, since: start_date, up_to: end_date })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    thread: WireThread<'a>,
    cloned_messages: Vec<Box<RawValue>>,
    message_id_map: Map<String, Value>,
    /// Messages of the clone that did not fit into the answer; its pages have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<u64>,
}

/// Bytes of cloned messages in an answer.
const MOST_TOLD: usize = 8 << 20;

async fn copy(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
    Body(request): Body<Request>,
) -> Result<Response, ApiError> {
    request::remembering(&app, &params)?;
    let asked = Asked::of(&params).or_body(request.resource_id.as_deref());
    let (owner, source) = owner::of_thread(&app, &identity, asked, thread).await.map_err(no_source)?;
    let range = request.options.range()?;
    let forked = range.until.is_some();
    let target = thread_id(&app, request.new_thread_id.as_deref(), "newThreadId")?;
    let from = app.store.thread(&source).await?.ok_or_else(|| no_source(owner::no_thread()))?;
    let new = begin(&app, &from, request.title, request.metadata);
    let copied = app.store.copy_thread(&source, &target, new, range).await;
    let copied = copied.map_err(|error| not_copied(error, forked))?;
    let copied = marked(&app, copied).await?;
    let cloned_messages = told(&copied, &owner)?;
    let ids = copied.ids.iter().take(cloned_messages.len());
    Ok(json::ok(&Answer {
        thread: WireThread::new(&copied.thread, &owner.shown),
        message_id_map: ids.map(|(old, new)| (old.to_string(), new.as_str().into())).collect(),
        left_out: copied.thread.message_count.checked_sub(cloned_messages.len() as u64).filter(|left| *left > 0),
        cloned_messages,
    }))
}

/// The first messages of a copy, as many as an answer holds.
fn told(copied: &Copied, owner: &Owner) -> Result<Vec<Box<RawValue>>, ApiError> {
    let (mut told, mut bytes) = (Vec::new(), 0);
    for row in &copied.messages {
        let message = WireMessage::new(&row.message, &copied.thread.key.thread, &owner.shown);
        let text = to_raw_value(&message).map_err(|error| {
            tracing::error!(%error, "a message cannot be written");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the copy was made, but cannot be told")
        })?;
        bytes += text.get().len();
        if bytes > MOST_TOLD {
            break;
        }
        told.push(text);
    }
    Ok(told)
}

fn no_source(error: ApiError) -> ApiError {
    match error.code {
        "thread_not_found" => ApiError::not_found("thread_not_found", "Source thread not found"),
        _ => error,
    }
}

fn not_copied(error: StoreError, forked: bool) -> ApiError {
    match error.kind {
        StoreErrorKind::Conflict => taken("newThreadId"),
        StoreErrorKind::NotFound if forked => {
            ApiError::not_found("message_not_found", "there is no such message in the thread")
                .param("options.untilMessageId")
        }
        StoreErrorKind::NotFound => no_source(owner::no_thread()),
        _ => error.into(),
    }
}

fn taken(field: &str) -> ApiError {
    let message = "the owner has a thread of this id already";
    ApiError::new(StatusCode::CONFLICT, "thread_exists", message).param(field)
}

/// What a copy begins with; where it comes from stands in its metadata.
fn begin(app: &App, from: &Thread, title: Option<String>, metadata: Option<Map<String, Value>>) -> NewThread {
    let title = title.unwrap_or_else(|| match from.title.as_str() {
        "" => String::new(),
        title => format!("Clone of {title}"),
    });
    let mut metadata = metadata.unwrap_or_default();
    let cloned_at = app.services.clock.now();
    metadata.insert("clone".to_owned(), json!({"sourceThreadId": from.key.thread, "clonedAt": cloned_at}));
    NewThread { agent: from.agent.clone(), parent: None, title, metadata: Some(metadata) }
}

/// Notes in the copy up to which message it was copied, known only now.
async fn marked(app: &App, mut copied: Copied) -> Result<Copied, ApiError> {
    let Some(last) = &copied.last else { return Ok(copied) };
    let clone = copied.thread.metadata.as_ref().and_then(|metadata| metadata.get("clone")).cloned();
    let Some(Value::Object(mut clone)) = clone else { return Ok(copied) };
    clone.insert("lastMessageId".to_owned(), last.as_str().into());
    let change = Map::from_iter([("clone".to_owned(), Value::Object(clone))]);
    copied.thread = app.store.merge_metadata(&copied.thread.key, change).await.map_err(unread)?;
    Ok(copied)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Receiver {
    resource_id: String,
}

/// An identity's threads stay its own: giving one away would write into another's space.
async fn transfer(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
    Body(to): Body<Receiver>,
) -> Result<Response, ApiError> {
    request::remembering(&app, &params)?;
    let (_, key) = owner::of_thread(&app, &identity, Asked::of(&params), thread).await?;
    if let Identity::Known { resource, .. } = &identity
        && resource.as_str() != to.resource_id
    {
        let message = "a token's threads stay those of its owner";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "transfer_refused", message).param("resourceId"));
    }
    let (receiver, shown) = receiver(&app, &identity, &to.resource_id)?;
    let thread = hand_over(&app, &key, &receiver).await?;
    Ok(json::ok(&WireThread::new(&thread, &shown)))
}

async fn hand_over(app: &App, key: &ThreadKey, to: &ResourceId) -> Result<Thread, ApiError> {
    app.store.transfer_thread(key, to).await.map_err(|error| match error.kind {
        StoreErrorKind::Conflict => taken("resourceId"),
        StoreErrorKind::Busy => {
            let message = "a turn is running in the thread; try again when it is over";
            ApiError::new(StatusCode::CONFLICT, "thread_busy", message)
        }
        _ => unread(error),
    })
}
