//! `roster schema`: the JSON Schemas of what people write, for editors.

use roster_engine::definition::schema;

use super::SchemaKind;
use crate::config;
use crate::error::{Exit, HostError};
use crate::output;

/// Prints a schema.
///
/// # Errors
/// [`HostError::Output`].
pub(super) fn run(kind: SchemaKind) -> Result<Exit, HostError> {
    let schema = match kind {
        SchemaKind::Agent => schema::agent(),
        SchemaKind::Runtime => config::schema::runtime(),
        SchemaKind::Registry => config::schema::registry(),
    };
    output::print(schema::to_text(&schema))?;
    Ok(Exit::Good)
}
