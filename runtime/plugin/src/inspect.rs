//! Looking at a library without serving it: its code runs in a process of its own, whatever it is configured to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roster_abi::contract::Description;

use crate::asks::HostAsks;
use crate::hello::Until;
use crate::outside::{Spawn, probe};
use crate::plugin::{Plugin, admit};
use crate::preflight::{Manifest, preflight};
use crate::refusal::Refusal;
use crate::set::{Around, Parts};
use crate::settings::Settings;
use crate::stage::{Source, locate, read};

/// What a library says about itself.
#[derive(Debug, Clone)]
pub struct Inspected {
    /// Where it is.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// What its bytes say.
    pub manifest: Manifest,
    /// What it says when it is asked.
    pub description: Description,
}

/// Looks at libraries.
pub struct Inspector {
    around: Arc<Around>,
}

impl Inspector {
    /// With a folder for copies and a program for processes; nothing is watched.
    ///
    /// # Errors
    /// [`Refusal`] of the surroundings.
    pub fn new(parts: Parts) -> Result<Self, Refusal> {
        Ok(Self { around: Arc::new(Around::new(parts)?) })
    }

    /// What a file is and contributes; it gets no configuration and makes no instance. Blocks.
    ///
    /// # Errors
    /// [`Refusal`] says what is wrong with it.
    pub fn file(&self, path: &Path) -> Result<Inspected, Refusal> {
        let source = read(path)?;
        let manifest = preflight(&source.bytes)?;
        self.ask(&Settings::new("inspected", Vec::new()), source, manifest, Until::Facts)
    }

    /// Whether a plugin of the configuration would serve: found, whole, trusted, configured as it asks for, well. Blocks.
    ///
    /// # Errors
    /// [`Refusal`] says why it would not.
    pub fn check(&self, settings: &Settings) -> Result<Inspected, Refusal> {
        let source = read(&locate(&settings.file, &settings.folders)?)?;
        let manifest = admit(settings, &source)?;
        self.ask(settings, source, manifest, Until::Health)
    }

    fn ask(&self, settings: &Settings, source: Source, manifest: Manifest, until: Until) -> Result<Inspected, Refusal> {
        let settings = Arc::new(settings.clone());
        let plugin = Plugin::new((*settings).clone(), Arc::clone(&self.around));
        let asks = Arc::new(HostAsks::new(&plugin, 0, &settings));
        let staged = self.around.cache.stage(&settings.key, &source)?;
        let spawn = Spawn::new(&self.around.child, &settings, staged.path.clone(), &manifest, until);
        let description = probe(&spawn, &asks, &self.around.runtime)?;
        Ok(Inspected { path: source.path, sha256: source.sha256, manifest, description })
    }
}

/// The program that runs plugins' processes when it is this very binary: what it was started from, even if another one
/// lies there by now.
#[must_use]
pub fn own_binary(arguments: &[&str]) -> (PathBuf, Vec<OsString>) {
    let program = if cfg!(target_os = "linux") {
        PathBuf::from("/proc/self/exe")
    } else {
        std::env::current_exe().unwrap_or_default()
    };
    (program, arguments.iter().map(OsString::from).collect())
}
