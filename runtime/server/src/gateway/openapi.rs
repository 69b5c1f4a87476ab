//! `GET /openapi.json`: the gateway's description, checked in; a test holds it against the table of routes.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue};

use super::CHAT;
use crate::app::App;
use crate::http::route::Route;

/// The document; `0.0.0` stands where the runtime's version goes.
pub(crate) const DOCUMENT: &str = include_str!("openapi/openapi.json");

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/openapi.json", CHAT, document)]
}

async fn document(State(app): State<Arc<App>>) -> Response {
    let text = DOCUMENT.replacen("\"version\": \"0.0.0\"", &format!("\"version\": \"{}\"", app.version), 1);
    let mut response = Response::new(text.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
