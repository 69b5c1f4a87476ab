//! Is it alive, is it ready. On both listeners, always public.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use serde::Serialize;

use crate::app::App;
use crate::http::identity::Access;
use crate::http::json;
use crate::http::route::Route;

/// `/health`, `/api/health`, `/ready`.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/health", Access::Public, health),
        Route::get("/api/health", Access::Public, health),
        Route::get("/ready", Access::Public, ready),
    ]
}

/// What is answered while draining; everything else is refused.
pub(crate) const WHILE_DRAINING: [&str; 3] = ["/health", "/api/health", "/ready"];

#[derive(Serialize)]
struct Health {
    status: &'static str,
    success: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'static [&'static str],
}

async fn health(State(app): State<Arc<App>>) -> Response {
    json::ok(&match app.operator.health() {
        Ok(()) => Health { status: "ok", success: true, problems: &[] },
        Err(_) => Health { status: "degraded", success: true, problems: &["sessions_unavailable"] },
    })
}

#[derive(Serialize)]
struct Ready {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
}

async fn ready(State(app): State<Arc<App>>) -> Response {
    let not_yet = |status, error| {
        let body = Ready { status, error: Some(error), code: Some(status) };
        json::answer(StatusCode::SERVICE_UNAVAILABLE, &body)
    };
    if app.services.draining.is_cancelled() {
        not_yet("draining", "the runtime is stopping")
    } else if !app.ready.load(Ordering::Acquire) {
        not_yet("starting", "the runtime is starting")
    } else {
        json::ok(&Ready { status: "ready", error: None, code: None })
    }
}
