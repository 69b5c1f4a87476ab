//! The project's files as they were taken, and the looking at them. The only place of reloading that reads.

mod config;
mod units;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use roster_engine::definition::Problem;
use roster_model::id::AgentId;
use tokio::time::Instant;

use super::lines::Roll;
use super::settings::Settings;
use super::single::Single;
use super::stamp::Stamp;
use super::tracked::PATIENCE;
use super::unit::Unit;
use crate::config::project::files::{AgentsFolder, definition_files};
use crate::config::project::unreadable;
use crate::config::{ReadFailure, RuntimeConfig};
use crate::paths::{AGENTS_FOLDER, REGISTRY_FILE, RUNTIME_FILE};

/// Asks for an environment variable.
pub(super) type Variables = fn(&str) -> Option<String>;

/// The files of a project.
pub(super) struct World {
    pub(super) root: PathBuf,
    pub(super) agents: PathBuf,
    folder: AgentsFolder,
    variables: Variables,
    /// `agents/` when it was last listed.
    listed: Option<Stamp>,
    /// Since when `agents/` is not there.
    pub(super) absent: Option<Absent>,
    runtime: Single,
    registry: Single,
    pub(super) settings: Settings,
    pub(super) roll: Roll,
    /// What is wrong with the registry that is there now, when it is not the one taken.
    pub(super) refused: Vec<Problem>,
    pub(super) units: BTreeMap<Arc<str>, Unit>,
    /// Which agents' files name an instructions file.
    besides: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    unsettled: BTreeSet<Arc<str>>,
    /// Who is being written, relative to the root, and when it was last written to.
    pub(super) writing: HashMap<PathBuf, Instant>,
    /// Units taken since the last publish: their texts are kept until then.
    pub(super) fresh: Vec<Arc<str>>,
    /// The warnings of files without a line; made again when they may be others.
    pub(super) unregistered: Option<Vec<Problem>>,
    /// Whether anything was taken since the last reload.
    pub(super) changed: bool,
}

/// A folder that is not there.
pub(super) struct Absent {
    pub(super) since: Instant,
    /// The problem, once it is told.
    pub(super) problem: Option<Problem>,
}

impl World {
    /// The project at `root`, nothing read yet.
    pub(super) fn new(root: &Path, variables: Variables, started: RuntimeConfig) -> Self {
        let agents = root.join(AGENTS_FOLDER);
        Self {
            root: root.to_path_buf(),
            folder: AgentsFolder::new(&agents),
            agents,
            variables,
            listed: None,
            absent: None,
            runtime: Single::new(root, RUNTIME_FILE),
            registry: Single::new(root, REGISTRY_FILE),
            settings: Settings::new(started),
            roll: Roll::default(),
            refused: Vec::new(),
            units: BTreeMap::new(),
            besides: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            writing: HashMap::new(),
            fresh: Vec::new(),
            unregistered: None,
            changed: false,
        }
    }

    /// Reads everything at once. What somebody is writing to right now is left to be looked at later, and a file that
    /// went missing keeps its time to come back, unless this is the start.
    pub(super) fn read_all(&mut self, now: Instant, start: bool) {
        self.look_at_config(now, true, start);
        self.arrive(now, start);
        if self.absent.is_some() {
            return;
        }
        self.list();
        let names: Vec<Arc<str>> = self.units.keys().cloned().collect();
        for name in names {
            self.read_now(&name, now, start);
        }
    }

    /// Looks at what is not settled and due.
    pub(super) fn look_at_due(&mut self, now: Instant) {
        self.look_at_config_if(now, |single| single.tracked.due().is_some_and(|due| due <= now));
        let due =
            |name: &&Arc<str>| self.units.get(*name).and_then(|unit| unit.tracked.due()).is_some_and(|due| due <= now);
        let due: Vec<Arc<str>> = self.unsettled.iter().filter(due).cloned().collect();
        self.arrive(now, false);
        due.iter().for_each(|name| self.look(name, now));
    }

    /// Looks at the stamps of everything.
    pub(super) fn look_at_all(&mut self, now: Instant) {
        self.look_at_config_if(now, |_| true);
        self.arrive(now, false);
        if self.absent.is_some() {
            return;
        }
        if Stamp::of(&self.agents) != self.listed {
            self.list();
        }
        let names: Vec<Arc<str>> = self.units.keys().cloned().collect();
        names.iter().for_each(|name| self.look(name, now));
    }

    /// When the next look is due; `None` when all is settled.
    pub(super) fn due(&self) -> Option<Instant> {
        let singles = [&self.runtime, &self.registry].into_iter().filter_map(|single| single.tracked.due());
        let units = self.unsettled.iter().filter_map(|name| self.units.get(name)?.tracked.due());
        let absent = self.absent.iter().filter(|absent| absent.problem.is_none()).map(|absent| absent.since + PATIENCE);
        singles.chain(units).chain(absent).min()
    }

    /// Whether a file that went missing is still waited for.
    pub(super) fn is_waiting_for_missing(&self) -> bool {
        let missing =
            |name: &Arc<str>| self.units.get(name).is_some_and(|unit| unit.stamps(&self.agents, name)[0].is_none());
        self.unsettled.iter().any(missing)
    }

    /// Looks at a file below `agents/` that something happened to.
    pub(super) fn touched(&mut self, name: &str, content: bool, now: Instant) {
        self.arrive(now, false);
        let mut names: Vec<Arc<str>> = self.besides.get(name).into_iter().flatten().cloned().collect();
        if let Some((known, _)) = self.units.get_key_value(name) {
            names.push(Arc::clone(known));
        } else if is_definition(name) && Stamp::of(&self.agents.join(name)).is_some() {
            let new = Arc::<str>::from(name);
            self.units.insert(Arc::clone(&new), Unit::default());
            names.push(new);
        }
        for name in names {
            if content && let Some(unit) = self.units.get_mut(&name).filter(|unit| unit.tracked.is_taken()) {
                // A coarse clock may leave the stamps as they were.
                unit.tracked.suspect(now);
            }
            self.look(&name, now);
        }
    }

    /// Compares contents though no stamp changed: of the files from `after` on, as many as one slice takes. Gives where
    /// to go on; `None` at the end.
    pub(super) fn compare_slice(&mut self, after: Option<Arc<str>>, now: Instant) -> Option<Arc<str>> {
        const SLICE: usize = 32;
        if after.is_none() {
            for single in [&mut self.runtime, &mut self.registry] {
                if single.differs() {
                    single.tracked.suspect(now);
                }
            }
        }
        use std::ops::Bound::{Excluded, Unbounded};
        let range = match after {
            Some(after) => self.units.range_mut((Excluded(after), Unbounded)),
            None => self.units.range_mut::<Arc<str>, _>(..),
        };
        let mut last = None;
        let mut compared = 0;
        for (name, unit) in range.take(SLICE) {
            compared += 1;
            if unit.tracked.due().is_none() && !unit.tracked.is_taken_as(unit.digest(&self.folder, name)) {
                unit.tracked.suspect(now);
                self.unsettled.insert(Arc::clone(name));
            }
            last = Some(Arc::clone(name));
        }
        last.filter(|_| compared == SLICE)
    }

    /// Whether this file, relative to `agents/`, is an agent's or an instructions file.
    pub(super) fn is_tracked(&self, name: &str) -> bool {
        self.units.contains_key(name) || self.besides.contains_key(name)
    }

    /// The file of an agent, relative to `agents/`.
    pub(super) fn file_of(&self, agent: &AgentId) -> Option<Arc<str>> {
        self.roll.line(agent)?.unit.clone()
    }

    /// What was taken of an agent's file.
    pub(super) fn unit_of(&self, agent: &AgentId) -> Option<&Unit> {
        self.units.get(self.roll.line(agent)?.unit.as_ref()?)
    }

    /// Whether `name`, relative to `agents/`, leads to a file that is tracked.
    pub(super) fn leads_to_files(&self, name: &str) -> bool {
        let folder = format!("{name}/");
        let below =
            |map: &mut dyn Iterator<Item = &Arc<str>>| map.next().is_some_and(|first| first.starts_with(&folder));
        let from = Arc::<str>::from(folder.as_str());
        below(&mut self.units.range(Arc::clone(&from)..).map(|(name, _)| name))
            || below(&mut self.besides.range(from..).map(|(name, _)| name))
    }

    /// Every file tracked below `agents/`, instructions files too.
    pub(super) fn files(&self) -> impl Iterator<Item = &Arc<str>> {
        self.units.keys().chain(self.besides.keys())
    }

    /// The text of a file that problems point into.
    pub(super) fn source(&self, file: &str) -> Option<&str> {
        match file {
            RUNTIME_FILE => Some(self.settings.source()),
            REGISTRY_FILE => Some(&self.roll.source),
            _ => {
                let name = file.strip_prefix(AGENTS_FOLDER)?.strip_prefix('/')?;
                self.units.get(name)?.text().map(|text| text.positions.source.as_ref())
            }
        }
    }

    /// Notices whether `agents/` is there. While it is not, no file in it is missing.
    fn arrive(&mut self, now: Instant, start: bool) {
        if self.agents.is_dir() {
            if self.absent.take().is_some() {
                self.changed = true;
                self.listed = None;
                for name in &self.unsettled {
                    if let Some(unit) = self.units.get_mut(name) {
                        unit.tracked.start_over(now);
                    }
                }
            }
            self.folder = AgentsFolder::new(&self.agents);
            return;
        }
        let absent = self.absent.get_or_insert(Absent { since: now, problem: None });
        if absent.problem.is_none() && (start || now.duration_since(absent.since) >= PATIENCE) {
            let failure = definition_files(&self.agents).err().unwrap_or(ReadFailure::Missing);
            absent.problem = Some(unreadable(AGENTS_FOLDER, &failure));
            self.changed = true;
        }
    }

    /// Finds the definitions that lie in `agents/` itself.
    fn list(&mut self) {
        let stamp = Stamp::of(&self.agents);
        let Ok(names) = definition_files(&self.agents) else { return };
        self.listed = stamp;
        for name in names {
            if !self.units.contains_key(name.as_str()) {
                self.units.insert(Arc::from(name), Unit::default());
            }
        }
    }
}

/// Whether a name in `agents/` itself is a definition's.
pub(super) fn is_definition(name: &str) -> bool {
    name.ends_with(".toml") && !name.ends_with(".test.toml") && !name.starts_with('.') && !name.contains('/')
}
