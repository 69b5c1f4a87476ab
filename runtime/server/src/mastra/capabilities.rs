//! `GET /api/auth/capabilities`: what the stock Studio asks before anything else, so it is public.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use serde::Serialize;

use crate::app::{App, Auth};
use crate::http::identity::Access;
use crate::http::json;
use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/api/auth/capabilities", Access::Public, capabilities)]
}

#[derive(Serialize)]
struct Capabilities {
    /// Whether a token is needed.
    enabled: bool,
    /// How a person would sign in: tokens are handed out, so there is no way to.
    login: Option<()>,
}

async fn capabilities(State(app): State<Arc<App>>) -> Response {
    let enabled = !matches!(app.config.load().auth, Auth::None);
    json::ok(&Capabilities { enabled, login: None })
}
