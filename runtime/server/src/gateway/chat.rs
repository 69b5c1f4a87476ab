//! `POST /api/chat`: one turn as a stream of small frames.

mod events;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_engine::turn::{TurnEvent, TurnRequest};
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::provider::ModelSettings;
use serde::Deserialize;
use serde_json::Value;

use super::messages::WireMessage;
use super::tools::WireTool;
use super::{CHAT, messages, tools};
use crate::app::App;
use crate::http::agent;
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::json::Json;
use crate::http::route::Route;
use crate::http::sse;
pub(super) use events::ChatEvents;

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
    tools: Option<Vec<WireTool>>,
    tool_choice: Option<Value>,
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
    let (input, results) = messages::fold(body.messages, agent.memory.is_some())?;
    let tools = tools::read(body.tools, &agent)?;
    let settings = ModelSettings {
        tool_choice: tools::choice(body.tool_choice.as_ref(), &agent, &tools)?,
        ..ModelSettings::default()
    };
    let request = TurnRequest {
        agent,
        snapshot,
        key: ThreadKey { resource, thread },
        owner_named: identity.names_owner(body.resource.as_deref()),
        stored: true,
        input,
        tools: tools.clone(),
        settings,
    };
    let mut turn = tools::start(&app.services, request, results).await?;
    match turn.next().await {
        Some(TurnEvent::Failed(failure)) => Err(failure.into()),
        Some(first) => {
            let events = ChatEvents::new(&turn, tools);
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
