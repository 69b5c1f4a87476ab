//! What is known of a server before it is asked anything.

use std::path::PathBuf;
use std::time::Duration;

/// A server.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerConfig {
    /// Its name: what stands between `mcp:` and `/` in definitions.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// How long connecting and the first list of tools may take.
    pub start_timeout: Duration,
    /// False: it is listed, and not connected to.
    pub enabled: bool,
}

/// How a server is reached. Not `Debug`: environment and headers hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum Reach {
    /// A child process that speaks over its standard input and output.
    Stdio {
        /// The program. With a `/` in it a path, else looked up in the `PATH` of `env`.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Its whole environment.
        env: Vec<(String, String)>,
        /// The names in `env` whose values are masked wherever the server's words are shown.
        secrets: Vec<String>,
        /// Its working directory.
        cwd: PathBuf,
    },
    /// Streamable HTTP.
    Http {
        /// Where.
        url: String,
        /// Sent with every request. Their values are masked.
        headers: Vec<(String, String)>,
    },
}

impl ServerConfig {
    /// `stdio` or `http`.
    #[must_use]
    pub fn transport(&self) -> &'static str {
        match self.reach {
            Reach::Stdio { .. } => "stdio",
            Reach::Http { .. } => "http",
        }
    }
}
