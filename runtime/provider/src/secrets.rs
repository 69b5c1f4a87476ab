//! What must not be shown, should a provider repeat it in a message.

use std::sync::Arc;

use reqwest::Url;

use crate::config::Key;

/// Shorter ones are placeholders (`none`, `ollama`, `user`), and words of messages as well.
const SHORTEST: usize = 8;
/// So much of a secret's beginning is masked also at the end of a text.
const SHORTEST_BEGINNING: usize = 4;
/// Stands in the place of a secret.
const MASK: &str = "[secret]";

/// The key of a provider, and what its address holds beside scheme, host and path.
#[derive(Clone)]
pub(crate) struct Secrets(Arc<[String]>);

impl Secrets {
    /// Those of a provider with this key at this address: each as it is sent, decoded, and as it stands inside JSON.
    pub(crate) fn new(key: &Key, url: &Url) -> Self {
        let mut all = in_address(url);
        if let Key::Value(key) = key {
            all.push(key.trim().to_owned());
        }
        let escaped: Vec<String> = all.iter().map(|secret| escaped(secret)).collect();
        all.extend(escaped);
        all.retain(|secret| secret.len() >= SHORTEST);
        // The longest first: a secret that is a part of another must not leave the rest of it.
        all.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        all.dedup();
        Self(all.into())
    }

    /// The text without them, and without the beginning of one at its end, where a body may have broken off.
    pub(crate) fn masked(&self, text: &str) -> String {
        let mut text = self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASK));
        if let Some(begun) = self.0.iter().filter_map(|secret| begun_at_end(&text, secret)).min() {
            text.replace_range(begun.., MASK);
        }
        text
    }
}

/// Where the text's end begins the secret and the text breaks off.
fn begun_at_end(text: &str, secret: &str) -> Option<usize> {
    let lengths = (SHORTEST_BEGINNING..secret.len()).rev().filter(|length| secret.is_char_boundary(*length));
    lengths.map(|length| &secret[..length]).find(|begun| text.ends_with(begun)).map(|begun| text.len() - begun.len())
}

/// Username, password and the values of the query, encoded and decoded.
fn in_address(url: &Url) -> Vec<String> {
    let credentials = [Some(url.username()), url.password()].into_iter().flatten();
    let mut all: Vec<String> = credentials.flat_map(|text| [text.to_owned(), decoded(text)]).collect();
    let pairs = url.query().unwrap_or_default().split('&');
    all.extend(pairs.map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value).to_owned()));
    all.extend(url.query_pairs().map(|(name, value)| if value.is_empty() { name } else { value }.into_owned()));
    all
}

/// The text behind the percent signs of a username or password.
fn decoded(text: &str) -> String {
    // Only values of queries are decoded by the library; there `+` is a blank and `&` an end.
    let value = text.replace('+', "%2B").replace('&', "%26");
    let query = Url::parse(&format!("x:?={value}"));
    query.ok().and_then(|url| Some(url.query_pairs().next()?.1.into_owned())).unwrap_or_default()
}

fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
