//! Logs: to stderr, a line an event, no secrets.

use std::io::stderr;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::environment;
use crate::error::HostError;
use crate::output;

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// A JSON object a line, for programs.
    Json,
}

/// What is logged unless `RUST_LOG` says otherwise: ours from `info`, the rest from `warn`. The MCP library would tell of
/// every server that is not there, with its address; the room `mcp` tells it better.
const SERVING: &str = "warn,rmcp=off,roster=info";
/// The same for commands whose output is for the person who typed them.
const TALKING: &str = "error,rmcp=off";

/// Starts logging for a runtime that serves.
///
/// # Errors
/// [`HostError::Environment`] when `RUST_LOG` cannot be understood.
pub fn start(format: LogFormat) -> Result<(), HostError> {
    install(format, SERVING)
}

/// Starts logging for a command with output of its own: errors only.
///
/// # Errors
/// As [`start`].
pub fn start_quiet() -> Result<(), HostError> {
    install(LogFormat::Text, TALKING)
}

fn install(format: LogFormat, default: &str) -> Result<(), HostError> {
    let wanted = environment::variable("RUST_LOG").unwrap_or_else(|| default.to_owned());
    let filter = EnvFilter::try_new(&wanted).map_err(|error| {
        HostError::environment(format!("`RUST_LOG` cannot be understood: {error}"))
            .hint("for example `RUST_LOG=info` or `RUST_LOG=warn,roster_engine=debug`")
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(stderr);
    let installed = match format {
        LogFormat::Text => builder.with_ansi(output::stderr_colour()).finish().try_init(),
        LogFormat::Json => builder.json().flatten_event(true).finish().try_init(),
    };
    installed.map_err(|error| HostError::Internal(format!("logging cannot be started: {error}")))
}
