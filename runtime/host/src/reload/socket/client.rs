//! Asking the processes that serve a project.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::place::{connect, sockets};

/// An answer takes no longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// The answers of all processes that serve the project at `root`, in the order of their numbers; empty when none does.
#[must_use]
pub fn ask(root: &Path, question: &Value) -> Vec<Value> {
    sockets(root).iter().filter_map(|socket| ask_one(socket, question)).collect()
}

/// Whether a process serves the project at `root`.
#[must_use]
pub fn is_served(root: &Path) -> bool {
    sockets(root).iter().any(|socket| connect(socket).is_some())
}

fn ask_one(socket: &Path, question: &Value) -> Option<Value> {
    let mut stream = connect(socket)?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    stream.write_all(format!("{question}\n").as_bytes()).ok()?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).ok()?;
    serde_json::from_str(&answer).ok()
}
