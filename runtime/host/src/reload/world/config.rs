//! Looking at the two files of `config/`, and taking them.

use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use super::World;
use crate::config::{LoadedRegistry, LoadedRuntime, ReadFailure, load_registry, load_runtime};
use crate::paths::{REGISTRY_FILE, RUNTIME_FILE};
use crate::reload::lines::Roll;
use crate::reload::single::{Seen, Single};
use crate::reload::unit::{Unit, Value};

impl World {
    /// Looks at a file of `config/` that something happened to.
    pub(in crate::reload) fn touched_config(&mut self, content: bool, name: &str, now: Instant) {
        let single = if name == RUNTIME_FILE { &mut self.runtime } else { &mut self.registry };
        if content && single.tracked.is_taken() {
            single.tracked.suspect(now);
        }
        match name {
            RUNTIME_FILE => self.look_at_runtime(now, false),
            _ => self.look_at_registry(now, false, false),
        }
    }

    pub(super) fn look_at_config_if(&mut self, now: Instant, wanted: impl Fn(&Single) -> bool) {
        if wanted(&self.runtime) {
            self.look_at_runtime(now, false);
        }
        if wanted(&self.registry) {
            self.look_at_registry(now, false, false);
        }
    }

    pub(super) fn look_at_config(&mut self, now: Instant, at_once: bool, start: bool) {
        self.look_at_runtime(now, at_once);
        self.look_at_registry(now, at_once, start);
    }

    fn look_at_runtime(&mut self, now: Instant, at_once: bool) {
        let written = self.writing.get(Path::new(RUNTIME_FILE)).copied();
        let Seen::Content { bytes, mark, patient } = self.runtime.look(written, now, at_once) else { return };
        let loaded = match bytes {
            Ok(bytes) => load_runtime(&bytes, &self.variables),
            Err(failure) => LoadedRuntime::refused(self.runtime.unreadable(&failure)),
        };
        if loaded.config.is_none() && !patient {
            return self.runtime.tracked.be_patient(now);
        }
        self.runtime.take(mark);
        self.settings.take(loaded);
        self.changed = true;
    }

    /// A registry that cannot be read as a whole changes nothing while running; at the start its lines that can be read
    /// count.
    fn look_at_registry(&mut self, now: Instant, at_once: bool, start: bool) {
        let written = self.writing.get(Path::new(REGISTRY_FILE)).copied();
        let Seen::Content { bytes, mark, patient } = self.registry.look(written, now, at_once) else { return };
        let loaded = bytes.map(|bytes| load_registry(&bytes));
        match loaded {
            Ok(registry) if registry.whole || start => self.take_roll(registry, now, start),
            _ if !patient => return self.registry.tracked.be_patient(now),
            Ok(registry) => {
                let errors =
                    registry.problems.into_iter().filter(|problem| problem.is_error() && problem.agent.is_none());
                self.refused = errors.collect();
            }
            Err(failure) => self.refused = vec![self.registry.unreadable(&failure)],
        }
        self.registry.take(mark);
        self.unregistered = None;
        self.changed = true;
    }

    fn take_roll(&mut self, registry: LoadedRegistry, now: Instant, start: bool) {
        self.refused = Vec::new();
        self.roll = Roll::of(registry);
        let named: Vec<Arc<str>> = self.roll.lines.iter().filter_map(|line| line.unit.clone()).collect();
        for name in named {
            if !self.units.contains_key(&name) {
                self.units.insert(Arc::clone(&name), Unit::default());
                if !start {
                    self.look(&name, now);
                }
            }
        }
        let strange = |(name, unit): (&Arc<str>, &Unit)| {
            let missing = matches!(unit.value, Value::Failed(ReadFailure::Missing));
            let stray = name.contains('/') || missing;
            (stray && !self.roll.names(name)).then(|| Arc::clone(name))
        };
        let strangers: Vec<Arc<str>> = self.units.iter().filter_map(strange).collect();
        strangers.iter().for_each(|name| self.forget(name));
    }
}
