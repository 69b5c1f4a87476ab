//! What a library says about itself, read from its bytes before anything of it runs. A wrong, foreign or truncated file
//! is refused here, by name and with what to do.

mod manifest;
mod shape;

pub use manifest::Manifest;

use crate::refusal::Refusal;

/// Looks a library over. Executes nothing, and panics on nothing.
///
/// # Errors
/// [`Refusal`] says what is wrong with the file.
pub fn preflight(bytes: &[u8]) -> Result<Manifest, Refusal> {
    let found = shape::read(bytes)?;
    manifest::check(found)
}
