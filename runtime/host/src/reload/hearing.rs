//! From paths that moved to files to look at, and which folders to watch for them.

use std::collections::BTreeSet;
use std::path::Path;

use roster_engine::definition::Problem;
use tokio::time::Instant;

use super::inbox::Pending;
use super::reloader::Reloader;
use super::tracked::WRITTEN;
use super::world::is_definition;
use crate::paths::{AGENTS_FOLDER, REGISTRY_FILE, RUNTIME_FILE};
use crate::watch::{Seen, Watch, link_folders};

/// The folders of a project that are watched, relative to its root.
const FOLDERS: [&str; 3] = [AGENTS_FOLDER, "config", "plugins"];
/// Folders behind links that are watched; polling sees the rest.
const MOST_LINKED: usize = 512;

/// What a path is of.
enum Place {
    /// A file below `agents/`.
    Agents(String),
    /// A file of `config/`.
    Config(&'static str),
    /// A folder or a link: anything may be other now.
    Anything,
    /// Nothing that is tracked.
    Nothing,
}

impl Reloader {
    /// Takes up what came.
    pub(super) fn hear(&mut self, pending: Pending, now: Instant) {
        if let Some(reason) = pending.unwatched {
            self.cannot_watch(reason);
        }
        if pending.everything {
            self.times.ask_all(now);
        }
        for (path, seen) in pending.paths {
            self.hear_path(&path, seen, now);
        }
        if pending.everything || self.times.all.is_some() {
            self.cause = self.cause.or(Some("watch"));
        }
        self.world.writing.retain(|_, written| now.duration_since(*written) < WRITTEN);
    }

    fn hear_path(&mut self, path: &Path, seen: Seen, now: Instant) {
        let content = seen != Seen::Moved;
        match self.place(path) {
            Place::Nothing => {}
            Place::Anything => self.times.ask_all(now),
            Place::Agents(name) => {
                self.mark(&format!("{AGENTS_FOLDER}/{name}"), seen, now);
                self.cause = self.cause.or(Some("watch"));
                self.world.touched(&name, content, now);
            }
            Place::Config(name) => {
                self.mark(name, seen, now);
                self.cause = self.cause.or(Some("watch"));
                self.world.touched_config(content, name, now);
            }
        }
    }

    fn mark(&mut self, file: &str, seen: Seen, now: Instant) {
        match seen {
            Seen::Writing => drop(self.world.writing.insert(file.into(), now)),
            Seen::Closed => drop(self.world.writing.remove(Path::new(file))),
            Seen::Moved => {}
        }
    }

    fn place(&self, path: &Path) -> Place {
        let below = |folder: &Option<std::path::PathBuf>| {
            let folder = folder.as_ref()?;
            path.strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned)
        };
        if let Some(name) = below(&self.places.agents) {
            return self.place_in_agents(path, name);
        }
        if let Some(name) = below(&self.places.config) {
            return match name.as_str() {
                "runtime.toml" => Place::Config(RUNTIME_FILE),
                "registry.toml" => Place::Config(REGISTRY_FILE),
                name if leads(path, name) => Place::Anything,
                _ => Place::Nothing,
            };
        }
        match path.strip_prefix(&self.places.root) {
            Ok(inside) if !FOLDERS.iter().any(|folder| Path::new(folder) == inside) => Place::Nothing,
            // One of the folders itself, or a folder behind a link.
            _ => Place::Anything,
        }
    }

    fn place_in_agents(&self, path: &Path, name: String) -> Place {
        let world = &self.world;
        if is_definition(&name) || world.is_tracked(&name) {
            // A link in its place may lead to folders that are not watched yet.
            return if is_link(path) { Place::Anything } else { Place::Agents(name) };
        }
        if leads(path, &name) || world.leads_to_files(&name) { Place::Anything } else { Place::Nothing }
    }

    /// Watches what is to be watched now. `anew`: what that is may have changed.
    pub(super) fn rearm(&mut self, anew: bool) {
        if !self.applied.reload.watch {
            self.watch = Watch::none();
            self.world.changed |= self.unwatched.take().is_some();
            return self.find_places();
        }
        if !self.watch.is_on() && (anew || self.unwatched.is_none()) {
            self.start_watching();
        }
        if anew || self.places.wanted.is_empty() {
            self.places.wanted = self.wanted();
        }
        self.find_places();
        let (_, failure) = self.watch.arm(&self.places.wanted);
        match failure {
            Some(reason) => self.cannot_watch(reason),
            None if self.watch.is_on() && self.unwatched.take().is_some() => self.world.changed = true,
            None => {}
        }
    }

    fn start_watching(&mut self) {
        let inbox = std::sync::Arc::clone(&self.inbox);
        let (watch, failure) = Watch::start(move |hint| inbox.push(super::inbox::Trigger::Watch(hint)));
        self.watch = watch;
        if let Some(reason) = failure {
            self.cannot_watch(reason);
        }
    }

    fn find_places(&mut self) {
        let real = |folder: &str| self.world.root.join(folder).canonicalize().ok();
        let (agents, config) = (real(AGENTS_FOLDER), real("config"));
        self.places.root = self.world.root.canonicalize().unwrap_or_else(|_| self.world.root.clone());
        self.places.agents = agents.or(self.places.agents.take());
        self.places.config = config.or(self.places.config.take());
    }

    fn wanted(&self) -> BTreeSet<std::path::PathBuf> {
        let root = &self.world.root;
        let mut wanted = BTreeSet::from([root.clone()]);
        for folder in FOLDERS {
            let folder = root.join(folder);
            wanted.extend(link_folders(&folder));
            wanted.insert(folder);
        }
        let config = [RUNTIME_FILE, REGISTRY_FILE].map(|file| root.join(file));
        let files = self.world.files().map(|name| self.world.agents.join(&**name));
        let mut linked = BTreeSet::new();
        for file in config.into_iter().chain(files) {
            if let Some(folder) = file.parent().filter(|folder| !wanted.contains(*folder)) {
                linked.extend(link_folders(folder));
                linked.insert(folder.to_path_buf());
            }
            if linked.len() < MOST_LINKED && is_link(&file) {
                linked.extend(link_folders(&file));
            }
        }
        wanted.extend(linked);
        wanted
    }

    fn cannot_watch(&mut self, reason: String) {
        if self.unwatched.as_ref() != Some(&reason) {
            tracing::warn!("{reason}; polling carries on");
            self.world.changed = true;
            self.unwatched = Some(reason);
        }
    }

    /// The listed problem while the system does not tell of all changes.
    pub(super) fn watch_problem(&self) -> Option<Problem> {
        let reason = self.unwatched.as_ref()?;
        let help = "changes are found by polling, within `reload.poll`";
        Some(Problem::warning("watch_failed", RUNTIME_FILE, reason.clone()).help(help))
    }
}

fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.file_type().is_symlink())
}

/// Whether files may be reached through this: a folder, a link, or what mounts swap (`..data`).
fn leads(path: &Path, name: &str) -> bool {
    name.is_empty()
        || name.starts_with("..")
        || path.symlink_metadata().is_ok_and(|about| about.file_type().is_symlink() || about.is_dir())
}
