//! What every door shares.

pub(crate) mod agent;
pub(crate) mod decided;
pub(crate) mod decision;
pub(crate) mod error;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod identity;
pub(crate) mod json;
pub(crate) mod limits;
pub(crate) mod metrics;
pub(crate) mod origin;
pub(crate) mod path;
pub(crate) mod peer;
pub(crate) mod query;
pub(crate) mod route;
pub(crate) mod sse;
pub(crate) mod usage;
pub(crate) mod waiting;
