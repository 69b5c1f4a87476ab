//! `POST /v1/chat/completions`: the OpenAI form. The agent's own tools run on the server; `tool_calls` are those of the
//! tools that a request brings. A request that names no conversation brings its whole history and stores nothing.

mod chunks;
mod request;
mod suspended;
mod usage;
mod whole;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use roster_engine::turn::{ClientTools, TurnEvent, TurnRequest, TurnStream};
use roster_model::id::{ThreadId, ThreadKey, TurnId};

use super::{CHAT, messages, tools};
use crate::app::App;
use crate::http::agent;
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::json::Json;
use crate::http::route::Route;
use crate::http::sse;
use chunks::Chunks;
use request::Body;

/// The door.
pub(super) fn routes() -> Vec<Route> {
    vec![Route::post("/v1/chat/completions", CHAT, complete)]
}

/// Names the conversation; the body's `conversation_id` says the same.
const CONVERSATION: HeaderName = HeaderName::from_static("x-conversation-id");

/// What every object of an answer repeats.
struct Head {
    id: String,
    turn: TurnId,
    created: i64,
    model: String,
    /// The question is stored when the turn has begun.
    remembers: bool,
    /// Tools that the client runs.
    tools: ClientTools,
}

async fn complete(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    headers: HeaderMap,
    Json(body): Json<Body>,
) -> Result<Response, ApiError> {
    let snapshot = app.registry.snapshot();
    let agent = agent::find(&snapshot, &body.model)?;
    let (stream, with_usage) = (body.stream(), body.include_usage());
    let mut settings = body.settings()?;
    let tools = tools::read(body.tools, &agent)?;
    settings.tool_choice = tools::choice(body.tool_choice.as_ref(), &agent, &tools)?;
    let resource = identity.resource(body.resource.as_deref(), &agent.definition.resource)?;
    let owner_named = identity.names_owner(body.resource.as_deref());
    let named = conversation(&headers, body.conversation_id.as_deref())?;
    let stored = named.is_some();
    let thread = named.unwrap_or_else(|| ThreadId::fresh(app.services.ids.as_ref()));
    let model = body.model;
    let remembers = stored && agent.memory.is_some();
    let (input, results) = messages::fold(body.messages, remembers)?;
    let key = ThreadKey { resource, thread };
    let request = TurnRequest { agent, snapshot, key, owner_named, stored, input, tools: tools.clone(), settings };
    let turn = tools::start(&app.services, request, results).await?;
    let created = app.services.clock.now().millis() / 1000;
    let head =
        Head { id: format!("chatcmpl-{}", turn.turn), turn: turn.turn.clone(), created, model, remembers, tools };
    let named = stored.then(|| HeaderValue::from_bytes(turn.key.thread.as_str().as_bytes()).ok()).flatten();
    let mut response =
        if stream { streamed(turn, Chunks::new(head, with_usage)).await? } else { whole::answer(turn, head).await? };
    if let Some(named) = named {
        response.headers_mut().insert(CONVERSATION, named);
    }
    Ok(response)
}

/// The thread named by the header or the body.
fn conversation(headers: &HeaderMap, body: Option<&str>) -> Result<Option<ThreadId>, ApiError> {
    let refuse = |message: String| ApiError::invalid(message).param("conversation_id");
    let header = match headers.get(CONVERSATION) {
        None => None,
        Some(value) => match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => Some(text).filter(|text| !text.is_empty()),
            Err(_) => return Err(refuse("the header `X-Conversation-Id` is no UTF-8".to_owned())),
        },
    };
    let body = body.filter(|text| !text.is_empty());
    match (header, body) {
        (Some(header), Some(body)) if header != body => {
            Err(refuse("`X-Conversation-Id` and `conversation_id` name two conversations".to_owned()))
        }
        (None, None) => Ok(None),
        (Some(text), _) | (None, Some(text)) => {
            ThreadId::new(text).map(Some).map_err(|error| refuse(error.to_string()))
        }
    }
}

/// The head of the answer waits for the first thing the model says: a failure before it is an honest status.
async fn streamed(mut turn: TurnStream, chunks: Chunks) -> Result<Response, ApiError> {
    let mut stored = false;
    loop {
        match turn.next().await {
            Some(TurnEvent::Failed(failure)) => return Err(ApiError::from(failure).question_stored(stored)),
            Some(TurnEvent::Started { .. }) => stored = chunks.remembers(),
            Some(first) => return Ok(sse::stream(turn, chunks, vec![first])),
            None => return Err(whole::broken_off().question_stored(stored)),
        }
    }
}
