//! How people name a version: by its whole fingerprint or by the beginning of it.

/// Characters a beginning must have.
const SHORTEST: usize = 8;

/// The text as a beginning to look for, in the form fingerprints have; `None` when it can be no beginning of one.
pub(crate) fn beginning(text: &str) -> Option<String> {
    let fits = text.len() >= SHORTEST && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| text.to_ascii_lowercase())
}
