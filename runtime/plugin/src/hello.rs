//! The first word to a plugin's own process: what it is to load, and within which limits.

use std::path::PathBuf;

use roster_abi::frame::PROTOCOL;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Both ends are the same binary, so that another build is a fault of whoever put it there.
pub(crate) const BUILD: &str = env!("CARGO_PKG_VERSION");

/// How far the child goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Until {
    /// It tells what the library contributes, without an instance, and ends.
    Facts,
    /// It makes an instance, tells whether it is well, and ends.
    Health,
    /// It serves.
    Serving,
}

/// HELLO, as JSON.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) protocol: u32,
    pub(crate) build: String,
    pub(crate) until: Until,
    /// The library came up before with all that is said here.
    pub(crate) known: bool,
    pub(crate) key: String,
    /// The staged copy.
    pub(crate) library: PathBuf,
    /// The manifest's bytes.
    pub(crate) manifest: Vec<u8>,
    pub(crate) config: Map<String, Value>,
    pub(crate) threads: usize,
    /// Bytes of address space beyond what the binary takes.
    pub(crate) memory: u64,
    pub(crate) open_files: u64,
    pub(crate) output: usize,
}

impl Hello {
    /// Whether the other end speaks as we do.
    pub(crate) fn is_ours(&self) -> bool {
        self.protocol == PROTOCOL && self.build == BUILD
    }
}
