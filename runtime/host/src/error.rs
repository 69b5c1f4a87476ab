//! How a command fails, and which exit code says so.

use std::process::ExitCode;

use roster_engine::definition::Problem;

/// Why a command could not do its work. What a person's files got wrong is no error of the command: it prints the
/// problems and ends with [`Exit::Problems`].
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The command line asks for something that cannot be, or the surroundings do not allow it.
    #[error("{message}")]
    Environment {
        /// What is wrong, as a lowercase fragment.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Something found wrong while doing what was asked: the turn failed, the backup is damaged.
    #[error("{message}")]
    Problem {
        /// What is wrong, as a lowercase fragment.
        message: String,
        /// What to do.
        hint: Option<String>,
    },
    /// Problems of `runtime.toml`, rendered for people.
    #[error("{rendered}")]
    Configuration {
        /// All of them, as printed.
        rendered: String,
        /// The same for programs.
        problems: Vec<Problem>,
    },
    /// Writing to stdout or stderr failed; a reader that went away is no failure.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

impl HostError {
    /// The surroundings do not allow it; no hint.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::Environment { message: message.into(), hint: None }
    }

    /// It was tried and went wrong; no hint.
    pub fn problem(message: impl Into<String>) -> Self {
        Self::Problem { message: message.into(), hint: None }
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Environment { hint, .. } | Self::Problem { hint, .. } = &mut self {
            *hint = Some(text.into());
        }
        self
    }

    /// What to do, where there is something to say.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        match self {
            Self::Environment { hint, .. } | Self::Problem { hint, .. } => hint.as_deref(),
            _ => None,
        }
    }

    /// The exit code that goes with it.
    #[must_use]
    pub fn exit(&self) -> Exit {
        match self {
            Self::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Good,
            // A full disk or a closed descriptor is a matter of the surroundings.
            Self::Environment { .. } | Self::Configuration { .. } | Self::Output(_) => Exit::Environment,
            Self::Problem { .. } => Exit::Problems,
            Self::Internal(_) => Exit::Internal,
        }
    }
}

/// The exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, also with warnings.
    Good,
    /// 1: problems found.
    Problems,
    /// 2: usage or environment.
    Environment,
    /// 70: a fault of ours.
    Internal,
    /// What a plugin's own process ends with.
    Child(u8),
    /// 130: a second signal ended it at once.
    Signalled,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl Exit {
    /// The number.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Problems => 1,
            Self::Environment => 2,
            Self::Internal => 70,
            Self::Child(code) => code,
            Self::Signalled => 130,
        }
    }
}
