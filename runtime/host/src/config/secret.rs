//! Values that appear in no log, status, message or picture of a file.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

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

/// Parts of a setting's name that tell a secret.
pub(crate) const SECRET_WORDS: [&str; 7] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH", "CREDENTIAL", "COOKIE"];

/// Whether a key's value is shown to nobody. Names of variables and of secrets are none themselves.
fn keeps_a_secret(key: &str) -> bool {
    let capitals = key.to_ascii_uppercase();
    capitals != "SECRET" && !capitals.ends_with("_ENV") && SECRET_WORDS.iter().any(|word| capitals.contains(word))
}

/// Every run of letters that could be a key, with the byte at which it ends.
fn keys_in(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let foreign = |letter: char| !(letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'));
    let mut next = 0;
    text.split_inclusive(foreign).map(move |piece| {
        let start = next;
        next += piece.len();
        let run = piece.trim_end_matches(foreign);
        (start + run.len(), run)
    })
}

/// The text with every literal secret replaced by stars, byte for byte, so that places in it stay what they were.
/// Works on any text, since a file whose syntax is broken is shown too.
#[must_use]
pub(crate) fn mask(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (end, _) in keys_in(text).filter(|(_, key)| keeps_a_secret(key)) {
        if let Some(range) = literal_after(text, end) {
            bytes[range].fill(b'*');
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// The text with the credentials of every address in it replaced by stars, byte for byte.
#[must_use]
pub(crate) fn without_credentials(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let mut bytes = text.as_bytes().to_vec();
    for (at, mark) in text.match_indices("://") {
        if let Some(range) = credentials_at(text, at + mark.len()) {
            bytes[range].fill(b'*');
        }
    }
    Cow::Owned(String::from_utf8(bytes).unwrap_or_default())
}

/// What is said of an address with credentials in it, and what to do.
pub(crate) const CREDENTIALS: &str = "`base_url` holds credentials";
/// See [`CREDENTIALS`].
pub(crate) const CREDENTIALS_HELP: &str = "take them out; keep a key in a variable and write api_key_env = \"NAME\"";

/// Whether an address names a user or a password.
#[must_use]
pub(crate) fn has_credentials(address: &str) -> bool {
    address.find("://").is_some_and(|at| credentials_at(address, at + 3).is_some())
}

/// What stands before the `@` of an authority that begins at byte `start`.
fn credentials_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.get(start..)?;
    let end =
        rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '`')).unwrap_or(rest.len());
    let at = rest.get(..end)?.rfind('@')?;
    Some(start..start + at)
}

/// The literal that follows a key which ends at byte `at`; nothing when it names a variable.
fn literal_after(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let rest = rest.strip_prefix(['"', '\'']).unwrap_or(rest);
    let rest = rest.trim_start_matches([' ', '\t']).strip_prefix(['=', ':'])?.trim_start_matches([' ', '\t', '=']);
    if rest.starts_with(['{', '[']) {
        // What stands inside has keys of its own.
        return None;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(without_credentials(text), expected);
    }

    #[test]
    fn whatever_is_named_like_a_secret_is_starred() {
        let starred = |text: &str, expected: &str| assert_eq!(mask(text), expected);
        starred("headrs = { Authorization = \"Bearer x\" }", "headrs = { Authorization = \"********\" }");
        starred("env={API_TOKEN=\"t\",TZ=\"UTC\"}", "env={API_TOKEN=\"*\",TZ=\"UTC\"}");
        starred("\"x-api-key\" = 'é'", "\"x-api-key\" = '**'");
        for shown in [
            "api_key_env = \"NAME\"",
            "headers = { Authorization = \"${NAME}\" }",
            "key = { secret = \"NAME\" }",
            "[auth]\nmode = \"token\"\n[[auth.tokens]]\nsha256 = \"ab\"",
        ] {
            starred(shown, shown);
        }
    }

    #[test]
    fn credentials_are_starred_and_nothing_else() {
        check("base_url = \"https://me:pw@example.org/v1\"", "base_url = \"https://*****@example.org/v1\"");
        check("http://a@b and https://c:d@e:1/x@y", "http://*@b and https://***@e:1/x@y");
        check("https://example.org/@v1?to=me@x", "https://example.org/@v1?to=me@x");
        check("mail me@example.org", "mail me@example.org");
        check("https://é:p@h", "https://****@h");
        assert!(has_credentials("https://k@h/v1") && !has_credentials("https://h/v1"));
    }
}
