//! `POST /api/chat`: one turn as a stream of small frames.

mod events;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_engine::turn::{self, Input, InputMessage, TurnEvent, TurnRequest};
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::message::Role;
use roster_model::provider::ModelSettings;
use serde::Deserialize;

use super::content::Content;
use super::{CHAT, agent};
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::json::Json;
use crate::http::route::Route;
use crate::http::sse;
pub(super) use events::{ChatEvents, WireUsage};

/// The door.
pub(super) fn routes() -> Vec<Route> {
    vec![Route::post("/api/chat", CHAT, chat)]
}

#[derive(Deserialize)]
struct Body {
    model: String,
    #[serde(rename = "conversationId")]
    conversation: Option<String>,
    messages: Vec<WireMessage>,
    resource: Option<String>,
}

#[derive(Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Content,
}

/// The head of the answer waits until the question is stored: what fails before is an honest status.
async fn chat(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    Json(body): Json<Body>,
) -> Result<Response, ApiError> {
    let snapshot = app.registry.snapshot();
    let agent = agent::find(&snapshot, &body.model)?;
    let resource = identity.resource(body.resource.as_deref(), &agent.definition.resource)?;
    let thread = thread(&app, body.conversation.as_deref())?;
    let request = TurnRequest {
        agent,
        snapshot,
        key: ThreadKey { resource, thread },
        owner_named: identity.names_owner(body.resource.as_deref()),
        stored: true,
        input: input(body.messages)?,
        settings: ModelSettings::default(),
    };
    let mut turn = turn::start(&app.services, request)?;
    match turn.next().await {
        Some(TurnEvent::Failed(failure)) => Err(failure.into()),
        Some(first) => {
            let events = ChatEvents::new(&turn);
            Ok(sse::stream(turn, events, vec![first]))
        }
        None => Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the turn ended without an event")),
    }
}

/// The thread named, or a fresh one.
fn thread(app: &App, named: Option<&str>) -> Result<ThreadId, ApiError> {
    match named {
        None | Some("") => Ok(ThreadId::fresh(app.services.ids.as_ref())),
        Some(text) => ThreadId::new(text).map_err(|error| ApiError::invalid(error.to_string()).param("conversationId")),
    }
}

fn input(messages: Vec<WireMessage>) -> Result<Input, ApiError> {
    super::check_count(messages.len())?;
    let mut read = Vec::with_capacity(messages.len());
    for (number, message) in messages.into_iter().enumerate() {
        let at = format!("messages.{number}");
        let Some(role) = Role::parse(&message.role) else {
            let text = format!("`{at}.role` must be `user`, `assistant` or `system`");
            return Err(ApiError::invalid(text).param(format!("{at}.role")));
        };
        read.push(InputMessage { role, parts: message.content.into_parts(&at)? });
    }
    super::check_question(&read)?;
    read.retain(|message| !message.parts.is_empty());
    Ok(Input { messages: read })
}
