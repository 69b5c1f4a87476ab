//! Values that appear in no log, status, message or picture of a file.

use std::fmt;

use roster_engine::definition::Problem;

/// A key or a token. Its text is had only by asking for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps a text secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The keys whose values are secrets.
const SECRET_KEYS: &[&str] = &["api_key"];

/// The text with every literal secret replaced by stars, byte for byte, so that places in it stay what they were.
/// Works on any text, since a file whose syntax is broken is shown too.
#[must_use]
pub(crate) fn mask(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for key in SECRET_KEYS {
        for (at, _) in text.match_indices(key) {
            let value = at + key.len();
            if let Some(range) = literal_after(text, value) {
                bytes[range].fill(b'*');
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The literal that follows a key which ends at byte `at`; nothing when it names a variable.
fn literal_after(text: &str, at: usize) -> Option<std::ops::Range<usize>> {
    let rest = text.get(at..)?;
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix(['=', ':'])?.trim_start_matches([' ', '\t', '=']);
    let start = text.len() - rest.len();
    let (open, close) = ["\"\"\"", "'''", "\"", "'"]
        .iter()
        .find(|quote| rest.starts_with(**quote))
        .map_or((0, "\n"), |quote| (quote.len(), *quote));
    let body = rest.get(open..)?;
    let names_a_variable = body.starts_with("${") && body.find('}') == body.find(close).map(|end| end - 1);
    if names_a_variable {
        return None;
    }
    let line_end = if close.len() == 3 { body.len() } else { body.find('\n').unwrap_or(body.len()) };
    let end = body.find(close).unwrap_or(line_end).min(line_end);
    Some(start + open..start + open + end)
}

/// Takes what a message might have quoted of a secret out of it: the help of problems on lines that `mask` changed.
pub(crate) fn scrub(mut problems: Vec<Problem>, text: &str, masked: &str) -> Vec<Problem> {
    for problem in &mut problems {
        let Some(line) = problem.line else { continue };
        if text.lines().nth(line - 1) != masked.lines().nth(line - 1) {
            problem.help = Some("put the value between quotation marks, one `key = value` a line".to_owned());
        }
    }
    problems
}
