//! `/mcp`: agents as tools of the Model Context Protocol. The protocol itself is spoken by whoever made the door; here
//! it is decided who comes in.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use http::StatusCode;

use super::CHAT;
use crate::app::{App, McpCaller};
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::json;
use crate::http::origin::Origin;
use crate::http::route::Route;

/// The three methods of the one path.
pub(super) fn routes() -> Vec<Route> {
    vec![Route::post("/mcp", CHAT, door), Route::get("/mcp", CHAT, door), Route::delete("/mcp", CHAT, door)]
}

async fn door(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    Extension(origin): Extension<Origin>,
    request: Request,
) -> Result<Response, ApiError> {
    // What is read here are answers of agents: a page that may not call may not listen either.
    if origin == Origin::Foreign {
        let message = "pages of this origin may not call; add it to `cors` of this listener in the configuration";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "origin_not_allowed", message));
    }
    let Some(door) = app.mcp.as_deref().filter(|door| door.is_open()) else {
        let message = "no agent is offered here; name some in `agents` under [gateway.mcp] in config/runtime.toml";
        return Err(ApiError::not_found("mcp_closed", message));
    };
    let caller = match identity {
        Identity::Anybody => McpCaller::default(),
        Identity::Known { subject, resource } => McpCaller { subject: Some(subject), resource: Some(resource) },
    };
    let (parts, body) = request.into_parts();
    let body = json::read(Request::from_parts(parts.clone(), body), app.config.load().body_limit).await?;
    Ok(door.answer(http::Request::from_parts(parts, body), caller).await.map(Body::new))
}
