//! One line of the doctor.

use std::fmt;

/// What was found about one subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    mark: &'static str,
    subject: String,
    what: String,
    hint: Option<String>,
}

const OK: &str = "ok";
const WARN: &str = "warn";
const FAIL: &str = "FAIL";

impl Finding {
    pub(super) fn ok(subject: &str, what: impl fmt::Display) -> Self {
        Self { mark: OK, subject: subject.to_owned(), what: what.to_string(), hint: None }
    }

    /// Works, but somebody should look.
    pub(super) fn warn(subject: &str, what: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self { mark: WARN, hint: Some(hint.to_string()), ..Self::ok(subject, what) }
    }

    /// Does not work.
    pub(super) fn fail(subject: &str, what: impl fmt::Display, hint: impl fmt::Display) -> Self {
        Self { mark: FAIL, ..Self::warn(subject, what, hint) }
    }

    pub(super) fn is_failure(&self) -> bool {
        self.mark == FAIL
    }
}

impl fmt::Display for Finding {
    /// `ok    subject: what`, and what to do on a line of its own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<5} {}: {}", self.mark, self.subject, self.what)?;
        match &self.hint {
            Some(hint) => writeln!(f, "      hint: {hint}"),
            None => Ok(()),
        }
    }
}
