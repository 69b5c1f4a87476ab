//! Tests of reading what people write.

mod models;
mod project;
mod registry;
mod rules;
mod runtime;
mod schema;
