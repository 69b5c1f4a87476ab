//! Names the model sees: `[A-Za-z0-9_-]`, at most 64, unique in the agent, the same after a restart.

use sha2::{Digest, Sha256};

/// Longest name providers take.
const LONGEST: usize = 64;

/// The name a tool or sub-agent is offered under. `plain` is the name before making it legal (`plugin_tool`,
/// `agent_billing.eu`), `written` the name as the definition writes it. When `forced` (two of the agent's tools would
/// meet), when letters had to be replaced, or when it is too long, the end is `_` and 8 hex digits of the SHA-256 of
/// `written`, so that the map back is exact.
#[must_use]
pub fn offered_name(plain: &str, written: &str, forced: bool) -> String {
    let legal: String = plain.chars().map(|c| if is_legal(c) { c } else { '_' }).collect();
    if legal == plain && legal.len() <= LONGEST && !forced {
        return legal;
    }
    let hash = Sha256::digest(written.as_bytes());
    let tail: String = hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect();
    let head: String = legal.chars().take(LONGEST - 9).collect();
    format!("{head}_{tail}")
}

fn is_legal(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The name before making it legal: `plugin:tool` → `plugin_tool`, `mcp:server/tool` → `server_tool`.
#[must_use]
pub(crate) fn plain_name(written: &str) -> String {
    match written.strip_prefix("mcp:") {
        Some(rest) => rest.replacen('/', "_", 1),
        None => written.replacen(':', "_", 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legal_names_stay() {
        assert_eq!(offered_name("get_time", "get_time", false), "get_time");
        assert_eq!(plain_name("weather:get_forecast"), "weather_get_forecast");
        assert_eq!(plain_name("mcp:files/read"), "files_read");
    }

    #[test]
    fn changed_long_and_meeting_names_get_a_tail_of_the_written_one() {
        let dotted = offered_name("agent_billing.eu", "billing.eu", false);
        assert!(dotted.starts_with("agent_billing_eu_"), "{dotted}");
        assert_eq!(dotted.len(), "agent_billing_eu_".len() + 8);
        let long = offered_name(&format!("agent_{}", "x".repeat(64)), &"x".repeat(64), false);
        assert_eq!(long.len(), 64);
        assert_ne!(offered_name("a_b", "a:b", true), offered_name("a_b", "a_b", true));
    }
}
