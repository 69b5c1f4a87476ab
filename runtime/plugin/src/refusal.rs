//! Why a plugin is not loaded.

use serde::{Deserialize, Serialize};

/// A plugin that cannot be loaded: what is wrong with it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct Refusal {
    /// What kind.
    pub kind: RefusalKind,
    /// What is said of the plugin, to stand after "plugin `x`" or "it": "is damaged: …".
    pub message: String,
    /// What to do.
    pub help: String,
}

/// What kind of reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// There is no such file.
    Missing,
    /// Others could write it, or it is not the owner's.
    Untrusted,
    /// Not the file that was pinned.
    Pin,
    /// Not a plugin: another kind of file, or a library without a manifest.
    NotAPlugin,
    /// Cut short or damaged.
    Damaged,
    /// Built for another system or processor.
    Platform,
    /// Built for another version of the contract, or against a rule of it.
    Abi,
    /// The system's loader does not open it.
    Open,
    /// Its configuration is not what it asks for.
    Config,
    /// It started and said no, or did not answer.
    Start,
    /// A contribution that agents use would be gone.
    Breaking,
    /// Too many generations are kept in this process.
    Generations,
    /// A fault of the surroundings: disk, memory, descriptors.
    System,
}

impl RefusalKind {
    /// Machine code of the problem.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::Missing => "plugin_missing",
            Self::Config => "plugin_config",
            Self::Breaking => "plugin_breaking",
            _ => "plugin_refused",
        }
    }
}

impl Refusal {
    /// A refusal of this kind.
    pub fn new(kind: RefusalKind, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind, message: message.into(), help: help.into() }
    }

    /// The surroundings do not allow it.
    pub(crate) fn system(what: &str, error: &dyn std::fmt::Display) -> Self {
        let message = format!("cannot be loaded: {what}: {error}");
        Self::new(RefusalKind::System, message, "see to the disk, its permissions and the limits")
    }
}
