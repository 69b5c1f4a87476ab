//! The two listeners: which rooms' routes each of them serves. Both stand on the same store.

use std::sync::Arc;

use axum::Router;

use crate::app::{App, Scope};
use crate::http::identity::Access;
use crate::http::route::{self, Door, Route};
use crate::http::{health, metrics};
use crate::mastra;

fn gateway_routes() -> Vec<Route> {
    let mut routes = health::routes();
    routes.extend(metrics::routes());
    routes.extend(crate::gateway::routes());
    routes.extend(mastra::routes(Access::Needs(Scope::Chat)));
    routes
}

fn studio_routes() -> Vec<Route> {
    let mut routes = health::routes();
    routes.extend(metrics::routes());
    routes.extend(mastra::routes(Access::Needs(Scope::Studio)));
    routes.extend(crate::studio::routes());
    routes
}

/// The router of the gateway's listener.
pub fn gateway(app: &Arc<App>) -> Router {
    route::router(app, Door::Gateway, gateway_routes())
}

/// The router of Studio's listener.
pub fn studio(app: &Arc<App>) -> Router {
    route::router(app, Door::Studio, studio_routes())
}

#[cfg(test)]
mod tests;
