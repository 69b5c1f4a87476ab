//! What a server was told in confidence, taken out of whatever it says.

use super::config::{Reach, ServerConfig};

/// Shorter values are no secrets, and masking them would make nonsense of everything else.
const SHORTEST: usize = 6;
const MASK: &str = "*****";

/// The values that are never shown.
#[derive(Default)]
pub(super) struct Secrets(Vec<String>);

impl Secrets {
    pub(super) fn of(config: &ServerConfig) -> Self {
        let mut values: Vec<String> = match &config.reach {
            Reach::Stdio { env, secrets, .. } => {
                env.iter().filter(|(name, _)| secrets.contains(name)).map(|(_, value)| value.clone()).collect()
            }
            Reach::Http { url, headers } => {
                let query = url.split_once('?').map(|(_, query)| query.to_owned());
                headers.iter().flat_map(|(_, value)| parts(value)).chain(query).collect()
            }
        };
        values.retain(|value| value.len() >= SHORTEST);
        // The longest first: one may stand inside another.
        values.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self(values)
    }

    /// The text without them, at most `longest` characters long.
    pub(super) fn shown(&self, text: &str, longest: usize) -> String {
        let mut text = text.trim().to_owned();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASK);
            }
        }
        cut(&text, longest)
    }
}

/// The whole value, and what stands behind a scheme: `Bearer x` holds `x`.
fn parts(value: &str) -> Vec<String> {
    let inner = value.split_once(' ').map(|(_, rest)| rest.trim().to_owned());
    std::iter::once(value.to_owned()).chain(inner).collect()
}

/// At most this many characters, control characters made harmless.
pub(super) fn cut(text: &str, longest: usize) -> String {
    let mut cut: String = text
        .chars()
        .take(longest)
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(longest).is_some() {
        cut.push('…');
    }
    cut
}
