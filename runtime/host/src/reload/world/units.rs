//! Looking at the files of agents, and taking them.

use std::path::Path;
use std::sync::Arc;

use tokio::time::Instant;

use super::World;
use crate::config::ReadFailure;
use crate::paths::AGENTS_FOLDER;
use crate::reload::tracked::{Found, Look, PATIENCE, WRITTEN};
use crate::reload::unit::{self, Reading, Value};

impl World {
    pub(super) fn look(&mut self, name: &Arc<str>, now: Instant) {
        let Some(unit) = self.units.get_mut(name) else { return };
        if self.absent.is_some() {
            unit.tracked.start_over(now);
            return;
        }
        let stamps = unit.stamps(&self.agents, name);
        let written = |file: &str| self.writing.get(&Path::new(AGENTS_FOLDER).join(file)).copied();
        let written = written(name).max(unit.beside.as_deref().and_then(written));
        match unit.tracked.look(stamps, written, now) {
            Look::Rest => drop(self.unsettled.remove(name)),
            Look::Wait => drop(self.unsettled.insert(Arc::clone(name))),
            Look::Read => self.read(name, now),
        }
    }

    /// Reads a file that may have changed, and takes it if it is settled.
    fn read(&mut self, name: &Arc<str>, now: Instant) {
        let reading = unit::read(&self.folder, &self.agents, name, &self.variables);
        let Some(unit) = self.units.get_mut(name) else { return };
        let stranger = !unit.tracked.is_taken() && !self.roll.names(name);
        if stranger && matches!(reading.value, Value::Failed(ReadFailure::Missing)) {
            self.forget(name);
            return;
        }
        match unit.tracked.read(reading.digest, now) {
            Found::Same => drop(self.unsettled.remove(name)),
            Found::Stable(quiet) if reading.is_good() || quiet >= PATIENCE => self.take(name, reading),
            found => {
                if found != Found::Wait {
                    unit.tracked.be_patient(now);
                }
                self.unsettled.insert(Arc::clone(name));
                self.goes_with(name, reading.beside);
            }
        }
    }

    /// Reads a file and takes it as it is.
    pub(super) fn read_now(&mut self, name: &Arc<str>, now: Instant, start: bool) {
        let written = self.writing.get(&Path::new(AGENTS_FOLDER).join(&**name)).copied();
        if written.is_some_and(|written| now < written + WRITTEN) {
            return self.look(name, now);
        }
        let reading = unit::read(&self.folder, &self.agents, name, &self.variables);
        let Some(unit) = self.units.get(name) else { return };
        if unit.tracked.is_taken_as(reading.digest) {
            if let Some(unit) = self.units.get_mut(name) {
                unit.tracked.take(reading.stamps, reading.digest);
            }
            self.unsettled.remove(name);
        } else if matches!(reading.value, Value::Failed(ReadFailure::Missing)) && !start {
            self.look(name, now);
        } else {
            self.take(name, reading);
        }
    }

    fn take(&mut self, name: &Arc<str>, reading: Reading) {
        self.unsettled.remove(name);
        self.changed = true;
        if !self.roll.names(name) {
            self.unregistered = None;
            if matches!(reading.value, Value::Failed(ReadFailure::Missing)) {
                self.forget(name);
                return;
            }
        }
        self.goes_with(name, reading.beside);
        if let Some(unit) = self.units.get_mut(name) {
            unit.tracked.take(reading.stamps, reading.digest);
            unit.value = reading.value;
            self.fresh.push(Arc::clone(name));
        }
    }

    pub(super) fn forget(&mut self, name: &Arc<str>) {
        self.goes_with(name, None);
        self.unsettled.remove(name);
        self.units.remove(name);
    }

    /// The instructions file of `name` is this one now.
    fn goes_with(&mut self, name: &Arc<str>, beside: Option<Arc<str>>) {
        let Some(unit) = self.units.get_mut(name) else { return };
        if unit.beside == beside {
            return;
        }
        if let Some(before) = unit.beside.take()
            && let Some(names) = self.besides.get_mut(&before)
        {
            names.remove(name);
            if names.is_empty() {
                self.besides.remove(&before);
            }
        }
        if let Some(beside) = &beside {
            self.besides.entry(Arc::clone(beside)).or_default().insert(Arc::clone(name));
        }
        unit.beside = beside;
    }
}
