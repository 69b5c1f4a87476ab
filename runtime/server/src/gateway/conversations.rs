//! `/api/conversations`: an owner's threads and what was said in them.

mod wire;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_model::id::{MessageId, ThreadId, ThreadKey};
use roster_model::storage::{
    Direction, MessageQuery, NewThread, PageStart, StoreError, StoreErrorKind, ThreadOrder, ThreadQuery,
};
use serde::Deserialize;

use super::{CHAT, owner};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::json::{self, OptionalJson};
use crate::http::path::ThreadInPath;
use crate::http::query::Params;
use crate::http::route::Route;
use wire::{Conversation, List, Message, Transcript};

/// The four routes.
pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/conversations", CHAT, list),
        Route::post("/api/conversations", CHAT, create),
        Route::get("/api/conversations/{id}/messages", CHAT, messages),
        Route::delete("/api/conversations/{id}", CHAT, delete),
    ]
}

/// Conversations a page.
const PAGE: usize = 100;
/// Messages a page; also the most of either that can be asked for.
const MOST: usize = 1_000;

fn no_conversation() -> ApiError {
    ApiError::not_found("conversation_not_found", "there is no such conversation")
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
) -> Result<Response, ApiError> {
    let resource = owner(&identity, params.text("resource"))?;
    let query = ThreadQuery {
        order: ThreadOrder::Activity,
        direction: Direction::Descending,
        start: params.text("after").map_or(PageStart::First, |text| PageStart::After(text.to_owned())),
        limit: params.number("limit", 1, MOST)?.unwrap_or(PAGE),
        agent: None,
    };
    let page = app.store.threads(&resource, query).await?;
    let conversations = page.rows.iter().map(Conversation::from).collect();
    Ok(json::ok(&List { conversations, next: page.next }))
}

#[derive(Default, Deserialize)]
struct NewConversation {
    id: Option<String>,
    title: Option<String>,
    resource: Option<String>,
}

async fn create(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    params: Params,
    OptionalJson(body): OptionalJson<NewConversation>,
) -> Result<Response, ApiError> {
    let resource = owner(&identity, body.resource.as_deref().or(params.text("resource")))?;
    let thread = match body.id.as_deref() {
        None | Some("") => ThreadId::fresh(app.services.ids.as_ref()),
        Some(text) => ThreadId::new(text).map_err(|error| ApiError::invalid(error.to_string()).param("id"))?,
    };
    let new = NewThread { title: body.title.unwrap_or_default(), ..NewThread::default() };
    let (thread, made) = app.store.create_thread(&ThreadKey { resource, thread }, new).await?;
    let status = if made { StatusCode::CREATED } else { StatusCode::OK };
    Ok(json::answer(status, &Conversation::from(&thread)))
}

async fn messages(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    let key = ThreadKey { resource: owner(&identity, params.text("resource"))?, thread };
    let before = params.text("before").map(MessageId::new).transpose();
    let before = before.map_err(|error| ApiError::invalid(error.to_string()).param("before"))?;
    let query = MessageQuery {
        direction: Direction::Descending,
        offset: 0,
        limit: params.number("limit", 1, MOST)?.unwrap_or(MOST),
        before: before.clone(),
        from: None,
    };
    let page = match app.store.messages(&key, query).await {
        Ok(page) => page,
        Err(error) => return Err(unread(&app, &key, before.is_some(), error).await),
    };
    let messages = page.rows.iter().rev().map(|row| Message::from(&row.message)).collect();
    Ok(json::ok(&Transcript { id: &key.thread, messages }))
}

/// Whether it is the conversation or the message to begin before that is not there.
async fn unread(app: &App, key: &ThreadKey, before: bool, error: StoreError) -> ApiError {
    if error.kind != StoreErrorKind::NotFound {
        return error.into();
    }
    if before && matches!(app.store.thread(key).await, Ok(Some(_))) {
        return ApiError::not_found("message_not_found", "there is no such message in the conversation")
            .param("before");
    }
    no_conversation()
}

async fn delete(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    let key = ThreadKey { resource: owner(&identity, params.text("resource"))?, thread };
    if !app.store.delete_thread(&key).await? {
        return Err(no_conversation());
    }
    app.services.cancel_turns(&key);
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}
