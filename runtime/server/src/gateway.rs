//! The gateway: the doors client programs talk to, each with its own wire types.

mod chat;
mod content;
mod conversations;
mod mcp;
mod messages;
mod models;
mod openai;
mod openapi;
mod tools;
mod turns;

#[cfg(test)]
pub(crate) use openapi::DOCUMENT;

use roster_engine::definition::DEFAULT_RESOURCE;
use roster_engine::turn::{InputMessage, TurnRefused};
use roster_model::id::ResourceId;
use roster_model::message::Role;

use crate::app::Scope;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::route::Route;

/// What the chat doors need.
const CHAT: Access = Access::Needs(Scope::Chat);

/// Every route that is the gateway's own.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = openapi::routes();
    routes.extend(models::routes());
    routes.extend(chat::routes());
    routes.extend(conversations::routes());
    routes.extend(turns::routes());
    routes.extend(openai::routes());
    routes.extend(mcp::routes());
    routes
}

/// Messages of one body. More is no conversation, and would hold up everybody's writes when an empty thread is seeded.
const MOST_MESSAGES: usize = 20_000;

/// Whose turns and conversations are meant on routes that name no agent.
///
/// # Errors
/// 400 for a resource that is none.
fn owner(identity: &Identity, proposed: Option<&str>) -> Result<ResourceId, ApiError> {
    let fallback = ResourceId::new(DEFAULT_RESOURCE).map_err(|error| ApiError::invalid(error.to_string()))?;
    identity.resource(proposed.filter(|text| !text.is_empty()), &fallback)
}

/// # Errors
/// 400.
fn check_count(messages: usize) -> Result<(), ApiError> {
    if messages <= MOST_MESSAGES {
        return Ok(());
    }
    Err(ApiError::invalid(format!("`messages` holds {messages} entries; at most {MOST_MESSAGES} are taken"))
        .param("messages"))
}

/// The newest user message is what is asked; an empty one asks nothing.
///
/// # Errors
/// 400.
fn check_question(messages: &[InputMessage]) -> Result<(), ApiError> {
    match messages.iter().rposition(|message| message.role == Role::User) {
        Some(at) if !messages[at].parts.is_empty() => Ok(()),
        Some(at) => Err(ApiError::invalid("the newest user message is empty").param(format!("messages.{at}.content"))),
        None => Err(TurnRefused::NoQuestion.into()),
    }
}
