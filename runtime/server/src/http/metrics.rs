//! `GET /metrics`: the counters of this process, for a collector. On both listeners; operators only.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};

use crate::app::{App, Scope};
use crate::http::identity::Access;
use crate::http::route::Route;

const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// `/metrics`.
pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get("/metrics", Access::Needs(Scope::Admin), metrics)]
}

async fn metrics(State(app): State<Arc<App>>) -> Response {
    let mut text = app.services.metrics_text();
    if let Some(control) = &app.control {
        // The end is marked, and stands at the end.
        let end = text.rfind("# EOF").unwrap_or(text.len());
        text.insert_str(end, &control.plugin_metrics());
    }
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, OPEN_METRICS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
