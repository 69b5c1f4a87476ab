//! `/admin`: what is registered, what happened to it, and what operators may ask for.

mod control;
mod events;
mod turns;
mod view;

use crate::app::Scope;
use crate::http::identity::Access;
use crate::http::route::Route;

/// Everything below `/admin` is for operators.
const ADMIN: Access = Access::Needs(Scope::Admin);

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/admin/registry", ADMIN, control::registry),
        Route::get("/admin/mcp", ADMIN, control::servers),
        Route::post("/admin/reload", ADMIN, control::reload),
        Route::get("/admin/events", ADMIN, events::events),
        Route::get("/admin/agents/{id}/history", ADMIN, control::history),
        Route::post("/admin/agents/{id}/pin", ADMIN, control::pin),
        Route::get("/admin/turns", ADMIN, turns::list),
        Route::post("/admin/turns/{id}/approve", ADMIN, turns::approve),
        Route::post("/admin/turns/{id}/decline", ADMIN, turns::decline),
        Route::get("/admin/providers", ADMIN, control::providers),
        Route::get("/admin/plugins", ADMIN, control::plugins),
        Route::post("/admin/plugins/{key}/reload", ADMIN, control::reload_plugin),
    ]
}
