//! Studio: what operators look at.

mod admin;
mod page;

use crate::http::route::Route;

/// Every route that is Studio's own.
pub(crate) fn routes() -> Vec<Route> {
    let mut routes = page::routes();
    routes.extend(admin::routes());
    routes
}
