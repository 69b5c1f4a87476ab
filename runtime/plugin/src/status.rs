//! What the numbers of the contract mean, in words.

use roster_abi::code::{
    E_BUSY, E_CANCELLED, E_DEADLINE, E_DENIED, E_DROPPED, E_INTERNAL, E_INVALID, E_NO_SUCH_CALL, E_NOT_FOUND, E_PANIC,
    E_TOO_LARGE, E_UNSUPPORTED,
};
use serde::Deserialize;

/// The error JSON of the contract, as far as it is there.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Told {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) retryable: bool,
}

/// The longest message taken of a plugin.
const LONGEST: usize = 2_000;

/// The plugin's error, with something in every field.
pub(crate) fn told(status: i32, error: &[u8]) -> Told {
    let mut told: Told = serde_json::from_slice(error).unwrap_or_default();
    // What begins so is the host's own to say; of an output that is too large it says so itself, also from the child.
    let foreign = told.code.starts_with("plugin_") && !(status == E_TOO_LARGE && told.code == "plugin_bad_output");
    if told.code.is_empty() || foreign {
        told.code = name(status).to_owned();
    }
    if told.message.is_empty() {
        told.message = format!("no message (status {status})");
    }
    if let Some((cut, _)) = told.message.char_indices().nth(LONGEST) {
        told.message.truncate(cut);
    }
    told
}

/// One line of it.
pub(crate) fn message(status: i32, error: &[u8]) -> String {
    let told = told(status, error);
    format!("`{}`: {}", told.code, told.message)
}

/// A status in one word.
pub(crate) fn name(status: i32) -> &'static str {
    match status {
        0 => "ok",
        E_INVALID => "invalid",
        E_NOT_FOUND => "not_found",
        E_PANIC => "panic",
        E_CANCELLED => "cancelled",
        E_BUSY => "busy",
        E_INTERNAL => "internal",
        E_UNSUPPORTED => "unsupported",
        E_NO_SUCH_CALL => "no_such_call",
        E_DROPPED => "dropped",
        E_TOO_LARGE => "too_large",
        E_DENIED => "denied",
        E_DEADLINE => "deadline",
        _ => "failed",
    }
}

#[cfg(test)]
mod tests {
    use roster_abi::code::{E_INTERNAL, E_NOT_FOUND, E_TOO_LARGE};

    use super::told;

    #[test]
    fn an_error_has_a_code_of_the_plugins_own_or_the_statuss() {
        let check = |status: i32, error: &str, code: &str, message: &str| {
            let told = told(status, error.as_bytes());
            assert_eq!((told.code.as_str(), told.message.as_str()), (code, message), "{error}");
        };
        check(E_NOT_FOUND, r#"{"code":"city_unknown","message":"no such city"}"#, "city_unknown", "no such city");
        check(E_NOT_FOUND, "<html>", "not_found", "no message (status -2)");
        check(-4711, "", "failed", "no message (status -4711)");
        check(E_INTERNAL, r#"{"code":"plugin_restarted","message":"x"}"#, "internal", "x");
        check(E_TOO_LARGE, r#"{"code":"plugin_bad_output","message":"x"}"#, "plugin_bad_output", "x");
    }
}
