//! The Mastra REST, as far as it reads threads: the stock Studio and client library can be pointed at it. On both
//! listeners, on the same store.

mod memory;
mod owner;
mod query;
mod wire;

use crate::http::identity::Access;
use crate::http::route::Route;

/// The routes, with the access of the listener they are on.
pub(crate) fn routes(access: Access) -> Vec<Route> {
    memory::routes(access)
}
