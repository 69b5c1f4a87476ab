//! Files in prompts, brought to one form.

use roster_model::message::FileData;
use roster_model::provider::{ProviderError, ProviderErrorKind};

/// A file's bytes or its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// In base64.
    Base64(&'a str),
    /// Where the provider fetches it.
    Address(&'a str),
}

/// The media type and the place; a `data:` address is taken apart.
///
/// # Errors
/// `BadRequest` for a `data:` address without base64.
pub(crate) fn placed<'a>(media_type: &'a str, data: &'a FileData) -> Result<(&'a str, Place<'a>), ProviderError> {
    let url = match data {
        FileData::Base64(bytes) => return Ok((media_type, Place::Base64(bytes))),
        FileData::Url(url) => url,
    };
    let Some(rest) = url.strip_prefix("data:") else { return Ok((media_type, Place::Address(url))) };
    let (head, bytes) = rest.split_once(',').unwrap_or((rest, ""));
    let Some(told) = head.strip_suffix(";base64") else {
        let message = format!("a file of type `{media_type}` stands in a `data:` address without base64");
        return Err(ProviderError::new(ProviderErrorKind::BadRequest, message));
    };
    let told = told.split(';').next().unwrap_or_default();
    Ok((if told.is_empty() { media_type } else { told }, Place::Base64(bytes)))
}

/// What is said of a file that a dialect has no place for.
pub(crate) fn refused(media_type: &str) -> ProviderError {
    let message = format!("a file of type `{media_type}` cannot be sent to this provider");
    ProviderError::new(ProviderErrorKind::BadRequest, message)
}

#[cfg(test)]
mod tests;
