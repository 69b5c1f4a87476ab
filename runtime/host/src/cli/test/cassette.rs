//! The cassette: answers of providers, each with the call it belongs to, in a file beside the test.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use roster_model::provider::{Delta, ProviderError, ProviderErrorKind, StopReason, Usage};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::{ReadFailure, read_file};

/// The number of the form written.
const FORM: u32 = 1;
/// What stands in the place of a key.
const MASKED: &str = "***";
/// Shorter keys are not looked for: they would be found everywhere.
const SHORTEST_KEY: usize = 6;

/// A call and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Exchange {
    /// The call's fingerprint.
    pub(super) fingerprint: String,
    /// The call, so that it can be told how another one differs.
    pub(super) request: Value,
    /// What was answered.
    pub(super) answer: Vec<Piece>,
}

/// A piece of an answer as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Piece {
    Text(String),
    Reasoning(String),
    Opaque(Value),
    Call {
        index: usize,
        id: Option<String>,
        name: String,
    },
    Arguments {
        index: usize,
        fragment: String,
    },
    End {
        reason: StopReason,
        usage: Usage,
        model: Option<String>,
    },
    /// The provider failed; the code is that of the doors.
    Error {
        code: String,
        message: String,
    },
}

impl From<Delta> for Piece {
    fn from(delta: Delta) -> Self {
        match delta {
            Delta::Text(text) => Self::Text(text),
            Delta::Reasoning(text) => Self::Reasoning(text),
            Delta::ReasoningOpaque(value) => Self::Opaque(value),
            Delta::ToolCall { index, id, name } => Self::Call { index, id, name },
            Delta::ToolArguments { index, fragment } => Self::Arguments { index, fragment },
            Delta::End { reason, usage, model } => Self::End { reason, usage, model },
        }
    }
}

impl From<&ProviderError> for Piece {
    fn from(error: &ProviderError) -> Self {
        Self::Error { code: error.kind.code().to_owned(), message: error.message.clone() }
    }
}

impl Piece {
    /// What the provider gave.
    pub(super) fn given(self) -> Result<Delta, ProviderError> {
        Ok(match self {
            Self::Text(text) => Delta::Text(text),
            Self::Reasoning(text) => Delta::Reasoning(text),
            Self::Opaque(value) => Delta::ReasoningOpaque(value),
            Self::Call { index, id, name } => Delta::ToolCall { index, id, name },
            Self::Arguments { index, fragment } => Delta::ToolArguments { index, fragment },
            Self::End { reason, usage, model } => Delta::End { reason, usage, model },
            Self::Error { code, message } => {
                // A newer runtime may know more kinds of failures.
                let kind = ProviderErrorKind::of_code(&code).unwrap_or(ProviderErrorKind::Server);
                return Err(ProviderError::new(kind, message));
            }
        })
    }

    fn is_last(&self) -> bool {
        matches!(self, Self::End { .. } | Self::Error { .. })
    }
}

/// Puts a piece behind the others; what belongs together becomes one.
pub(super) fn push(answer: &mut Vec<Piece>, piece: Piece) {
    match (answer.last_mut(), piece) {
        (Some(Piece::Text(before)), Piece::Text(more)) | (Some(Piece::Reasoning(before)), Piece::Reasoning(more)) => {
            before.push_str(&more);
        }
        (Some(Piece::Arguments { index, fragment }), Piece::Arguments { index: same, fragment: more })
            if *index == same =>
        {
            fragment.push_str(&more);
        }
        (_, piece) => answer.push(piece),
    }
}

#[derive(Serialize)]
struct Written<'a> {
    cassette: u32,
    exchanges: &'a [Exchange],
}

#[derive(Deserialize)]
struct Read {
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
struct Form {
    cassette: u32,
}

/// Where the cassette of a test file is: `x.test.toml` has `x.cassette.json`.
pub(super) fn beside(test: &Path, stem: &str) -> PathBuf {
    test.with_file_name(format!("{stem}.cassette.json"))
}

/// The exchanges of a cassette; none when there is no file.
///
/// # Errors
/// Why it cannot be read: a fragment that follows its name.
pub(super) fn load(path: &Path) -> Result<Vec<Exchange>, String> {
    let bytes = match read_file(path) {
        Ok(bytes) => bytes,
        Err(ReadFailure::Missing) => return Ok(Vec::new()),
        Err(failure) => return Err(failure.to_string()),
    };
    let Form { cassette } = serde_json::from_slice(&bytes).map_err(|error| format!("is no cassette: {error}"))?;
    if cassette > FORM {
        return Err(format!("is in form {cassette}; this roster reads up to {FORM}"));
    }
    let Read { exchanges } = serde_json::from_slice(&bytes).map_err(|error| format!("is no cassette: {error}"))?;
    match exchanges.iter().position(|exchange| !exchange.answer.last().is_some_and(Piece::is_last)) {
        Some(at) => Err(format!("is no whole cassette: answer {} has no end", at + 1)),
        None => Ok(exchanges),
    }
}

/// Replaces the cassette as a whole; no value of `keys` is written.
///
/// # Errors
/// Why it cannot be written.
pub(super) fn save(path: &Path, exchanges: &[Exchange], keys: &[String]) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(&Written { cassette: FORM, exchanges })?;
    text.push('\n');
    for key in keys.iter().filter(|key| key.len() >= SHORTEST_KEY) {
        text = text.replace(key.as_str(), MASKED);
    }
    if text.len() > roster_engine::definition::text::MAX_FILE_BYTES {
        return Err(io::Error::other("it would be larger than 4 MiB: split the test file"));
    }
    let new = path.with_extension(format!("json.{}.new", std::process::id()));
    let result = write_new(&new, &text).and_then(|()| fs::rename(&new, path));
    if result.is_err() {
        let _ = fs::remove_file(&new);
    }
    result
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
