//! The Mastra REST of threads and memory: the stock Studio and client library can be pointed at it. On both listeners,
//! on the same store.
//!
//! Reading order: `owner` (whose), `query` and `request` (what is asked), `memory` and `include` (reading), `threads`, `copies`,
//! `messages` and `input` (writing), `working`, `settings`, `search`, `upkeep`, `wire` (what is answered).

mod capabilities;
mod copies;
mod include;
mod input;
mod memory;
mod messages;
mod owner;
mod query;
mod request;
mod search;
mod settings;
mod threads;
mod upkeep;
mod wire;
mod working;

use crate::http::identity::Access;
use crate::http::route::Route;

/// The routes, with the access of the listener they are on.
pub(crate) fn routes(access: Access) -> Vec<Route> {
    let mut routes = capabilities::routes();
    for room in [
        memory::routes,
        threads::routes,
        copies::routes,
        messages::routes,
        working::routes,
        settings::routes,
        search::routes,
        upkeep::routes,
    ] {
        routes.extend(room(access));
    }
    routes
}
