//! What people and programs read: stdout for results, stderr for everything else.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use crate::environment;
use crate::error::HostError;
use crate::render::Style;

/// Writes to stdout and flushes. A reader that went away comes back as an error with exit code 0.
///
/// # Errors
/// [`HostError::Output`].
pub fn print(text: impl Display) -> Result<(), HostError> {
    let mut out = std::io::stdout().lock();
    write!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

/// A line on stderr. Nobody reading it is no failure.
pub fn note(text: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// `error: …`, then `hint: …` if there is something to do.
pub fn report(error: &HostError) {
    match error {
        HostError::Output(cause) if cause.kind() == std::io::ErrorKind::BrokenPipe => {}
        HostError::Configuration { rendered, .. } => note(rendered.trim_end()),
        _ => {
            note(format_args!("error: {error}"));
            if let Some(hint) = error.hint_text() {
                note(format_args!("hint: {hint}"));
            }
        }
    }
}

/// Whether stdout may be coloured: a terminal, and nobody said `NO_COLOR`.
#[must_use]
pub fn stdout_colour() -> bool {
    std::io::stdout().is_terminal() && environment::variable("NO_COLOR").is_none()
}

/// Whether stderr may be coloured.
#[must_use]
pub fn stderr_colour() -> bool {
    std::io::stderr().is_terminal() && environment::variable("NO_COLOR").is_none()
}

/// How problems are shown on stderr.
#[must_use]
pub fn stderr_style() -> Style {
    Style { colour: stderr_colour(), wrap: std::io::stderr().is_terminal(), ..Style::default() }
}

/// How problems are shown on stdout.
#[must_use]
pub fn stdout_style() -> Style {
    Style { colour: stdout_colour(), wrap: std::io::stdout().is_terminal(), ..Style::default() }
}
