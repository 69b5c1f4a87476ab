//! The one table of routes. Routers, the guard and the check of `/openapi.json` are all made from it.

use std::collections::HashMap;
use std::sync::Arc;

use axum::handler::Handler;
use axum::routing::{self, MethodRouter};
use axum::{Extension, Router};
use http::StatusCode;
use roster_model::time::Timestamp;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::guard::{self, Gate};
use crate::http::identity::Access;

/// Which listener a router is for; each has its own browser origins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The chat doors.
    Gateway,
    /// The operator's.
    Studio,
}

/// When the listener was made. In every request's extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Began(pub(crate) Timestamp);

/// One method of one path.
pub(crate) struct Route {
    /// `GET` …
    #[cfg_attr(not(test), expect(dead_code, reason = "read by the check of `/openapi.json`"))]
    pub(crate) method: &'static str,
    /// `/api/conversations/{id}`; one path has one access, whatever the method.
    pub(crate) path: &'static str,
    /// What it needs.
    pub(crate) access: Access,
    handler: MethodRouter<Arc<App>>,
}

impl Route {
    /// A route read with GET (and HEAD).
    pub(crate) fn get<H: Handler<T, Arc<App>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self { method: "GET", path, access, handler: routing::get(handler) }
    }

    /// A route posted to.
    pub(crate) fn post<H: Handler<T, Arc<App>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self { method: "POST", path, access, handler: routing::post(handler) }
    }

    /// A route that changes fields.
    pub(crate) fn patch<H: Handler<T, Arc<App>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self { method: "PATCH", path, access, handler: routing::patch(handler) }
    }

    /// A route that deletes.
    pub(crate) fn delete<H: Handler<T, Arc<App>>, T: 'static>(path: &'static str, access: Access, handler: H) -> Self {
        Self { method: "DELETE", path, access, handler: routing::delete(handler) }
    }
}

/// The router of a listener: its routes behind the guard. Paths that do not exist stand behind it as well.
pub(crate) fn router(app: &Arc<App>, door: Door, routes: Vec<Route>) -> Router {
    let access: HashMap<&'static str, Access> = routes.iter().map(|route| (route.path, route.access)).collect();
    let mut router = Router::new();
    for route in routes {
        router = router.route(route.path, route.handler);
    }
    let gate = Arc::new(Gate::new(Arc::clone(app), door, access));
    router
        .fallback(no_such_path)
        .method_not_allowed_fallback(wrong_method)
        .layer(Extension(Began(app.services.clock.now())))
        .layer(axum::middleware::from_fn_with_state(gate, guard::guard))
        .with_state(Arc::clone(app))
}

async fn no_such_path() -> ApiError {
    ApiError::not_found("not_found", "there is no such path")
}

async fn wrong_method() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this path does not take this method")
}
