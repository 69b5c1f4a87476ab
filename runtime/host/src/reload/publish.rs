//! From what was taken to what is served: prepare may fail per agent, publish may not.

use std::collections::HashSet;
use std::sync::Arc;

use roster_engine::definition::Problem;
use roster_engine::registry::{AdminEvent, AgentState, Change, ChangeKind, Prepared, Snapshot, prepare};
use roster_engine::trace::ReloadOutcome;
use roster_model::ledger::LedgerEntry;
use tokio::time::Instant;

use super::after;
use super::reloader::Reloader;
use super::report::{Report, all_problems, is_the_same};
use super::tell;
use crate::paths::RUNTIME_FILE;
use crate::render::{self, Style};

/// Why the registry of the start is published.
pub(super) const START: &str = "start";

impl Reloader {
    /// Prepares and publishes what was taken; nothing is published when nothing differs. `count`: somebody asked, so
    /// it counts also when it changed nothing.
    pub(super) fn reload(&mut self, trigger: &'static str, began: Instant, count: bool) -> Report {
        self.world.changed = false;
        let configured = self.configure();
        let previous = self.registry.snapshot();
        self.ledger.recall(&mut self.past, &self.world, &previous);
        let prepared = self.prepare(&previous);
        if !configured && trigger != START && is_the_same(&previous, &prepared) {
            if count {
                let took = began.elapsed();
                self.services.metrics.reload(ReloadOutcome::Unchanged, took);
                tracing::info!("reload changed nothing trigger={trigger} took_ms={}", took.as_millis());
            }
            self.slim(&previous, &[]);
            return report(previous, Vec::new(), began);
        }
        self.publish(prepared, &previous, trigger, began, None)
    }

    pub(super) fn prepare(&mut self, previous: &Snapshot) -> Prepared {
        let candidates = self.world.candidates(previous, &self.past);
        let mut problems = self.world.problems();
        problems.extend(self.catalog.plugins.problems.iter().cloned());
        problems.extend(self.watch_problem());
        problems.extend(self.ledger.problem());
        problems.extend(self.unwritten.as_ref().map(|reason| {
            let message = format!("what was published could not be written to the ledger yet: {reason}");
            Problem::warning("ledger_write_failed", RUNTIME_FILE, message).help("it is tried again by itself")
        }));
        problems.extend(
            self.not_applied.as_ref().map(|reason| {
                Problem::error("not_applied", RUNTIME_FILE, format!("the file is not in effect: {reason}"))
            }),
        );
        prepare(&self.catalog, previous, candidates, problems)
    }

    /// Swaps the registry, and only then tells anybody. `noted`: what an operator did, for the ledger.
    pub(super) fn publish(
        &mut self,
        mut prepared: Prepared,
        previous: &Snapshot,
        trigger: &'static str,
        began: Instant,
        noted: Option<LedgerEntry>,
    ) -> Report {
        let changes = std::mem::take(&mut prepared.changes);
        let calls = std::mem::take(&mut prepared.factory_calls);
        let snapshot = self.registry.publish(prepared);
        let took = began.elapsed();
        let metrics = &self.services.metrics;
        calls.iter().for_each(|agent| metrics.factory_call(agent.as_str()));
        metrics.generation(snapshot.generation);
        let problems = all_problems(&snapshot);
        if trigger != START {
            let bad = problems.iter().any(Problem::is_error);
            metrics.reload(if bad { ReloadOutcome::Problems } else { ReloadOutcome::Published }, took);
            tell::reloaded(snapshot.generation, trigger, &changes, millis(took));
        }
        self.write_down(&snapshot, &changes, noted, trigger == START);
        let at = self.services.clock.now();
        let (generation, took_ms) = (snapshot.generation, millis(took));
        // Nobody may be listening.
        drop(self.events.send(AdminEvent::Published { generation, at, trigger, changes: changes.clone(), took_ms }));
        self.tell_problems(previous, problems);
        self.slim(&snapshot, &changes);
        report(snapshot, changes, began)
    }

    /// Agents whose files name what is not there are served as an earlier run served them.
    pub(super) fn rescue(&mut self, began: Instant) {
        if self.ledger.store.is_none() {
            return;
        }
        let snapshot = self.registry.snapshot();
        let rejected = snapshot.entries.iter().filter(|entry| entry.state == AgentState::Rejected);
        let unresolved: HashSet<_> = rejected.map(|entry| entry.id.clone()).collect();
        let new = unresolved.into_iter().filter(|id| !self.past.last_good.contains_key(id));
        self.past.unresolved.extend(new);
        if !self.past.unresolved.is_empty() {
            self.ledger.recall(&mut self.past, &self.world, &snapshot);
            let last_good = &self.past.last_good;
            self.past.unresolved.retain(|id| last_good.get(id).is_some_and(Option::is_some));
            if !self.past.unresolved.is_empty() {
                let prepared = self.prepare(&snapshot);
                self.publish(prepared, &snapshot, START, began, None);
            }
        }
    }

    /// Puts the configuration into effect that the files hold now; gives whether it is another one.
    fn configure(&mut self) -> bool {
        let wanted = Arc::clone(&self.world.settings.config);
        let renamed = !self.catalog.embedders.is_current();
        if wanted == self.applied && !renamed {
            return self.not_applied.take().is_some();
        }
        let names = renamed
            || wanted.plugins != self.applied.plugins
            || wanted.models != self.applied.models
            || wanted.providers != self.applied.providers;
        let catalog = if names { (self.make_catalog)(&wanted).map(Some) } else { Ok(None) };
        let outcome = catalog.and_then(|catalog| {
            (self.apply)(&wanted)?;
            Ok(catalog)
        });
        match outcome {
            Ok(catalog) => {
                if let Some(mut catalog) = catalog {
                    catalog.revision = self.catalog.revision + 1;
                    self.catalog = catalog;
                }
                let watching = wanted.reload.watch != self.applied.reload.watch;
                self.applied = wanted;
                self.not_applied = None;
                if watching {
                    self.rearm(true);
                }
                true
            }
            Err(reason) => self.not_applied.replace(reason.clone()).is_none_or(|before| before != reason),
        }
    }

    fn write_down(&self, snapshot: &Snapshot, changes: &[Change], noted: Option<LedgerEntry>, start: bool) {
        if self.ledger.store.is_none() {
            return;
        }
        let at = self.services.clock.now();
        let mut entries: Vec<_> = changes
            .iter()
            .filter(|change| noted.as_ref().is_none_or(|noted| noted.agent != change.agent))
            .map(|change| (after::entry(&self.run, snapshot.generation, at, change), self.version(change)))
            .collect();
        entries.extend(noted.map(|noted| (noted, None)));
        if !entries.is_empty() {
            self.after.add(entries, start);
        }
    }

    /// The text of a version served from now on, unless it is the ledger's own.
    fn version(&self, change: &Change) -> Option<roster_model::ledger::Version> {
        if change.kind == ChangeKind::Removed {
            return None;
        }
        let unit = self.world.unit_of(&change.agent)?;
        unit.text()?.version(&change.agent, &change.fingerprint)
    }

    /// Drops texts that nobody will ask for again.
    fn slim(&mut self, snapshot: &Snapshot, changes: &[Change]) {
        let fresh = std::mem::take(&mut self.world.fresh);
        let changed = changes.iter().filter_map(|change| self.world.file_of(&change.agent));
        let names: Vec<Arc<str>> = changed.chain(fresh).collect();
        for name in names {
            let serving = |id| {
                snapshot.entry(id).is_some_and(|entry| entry.state == AgentState::Serving && entry.pinned.is_none())
            };
            if self.world.roll.line_of(&name).is_some_and(|line| serving(&line.id))
                && let Some(unit) = self.world.units.get_mut(&name)
            {
                unit.slim();
            }
        }
    }

    fn tell_problems(&self, previous: &Snapshot, problems: Vec<Problem>) {
        let before = all_problems(previous);
        if before == problems {
            return;
        }
        let known: HashSet<String> = before.iter().map(ToString::to_string).collect();
        let new: Vec<Problem> = problems
            .iter()
            .filter(|problem| !known.contains(&problem.to_string()) && !is_passing(problem))
            .cloned()
            .collect();
        tell::problems(&new, &|file| self.world.source(file), self.format);
        if problems.is_empty() && !before.iter().all(is_passing) {
            tracing::info!("all problems are solved");
        }
        drop(self.events.send(AdminEvent::Problems { at: self.services.clock.now(), problems }));
    }

    /// The registry as it is, for who asked.
    pub(super) fn last_report(&self) -> Report {
        let snapshot = self.registry.snapshot();
        Report { snapshot, changes: Vec::new(), took_ms: 0, rendered: self.rendered() }
    }

    /// All problems as a person reads them.
    pub(super) fn rendered(&self) -> String {
        let problems = all_problems(&self.registry.snapshot());
        render::to_text(&problems, &|file| self.world.source(file), Style::default())
    }
}

/// Whether a problem is over in a moment, at every start: listed, and not told.
fn is_passing(problem: &Problem) -> bool {
    problem.code == "server_connecting"
}

fn millis(took: std::time::Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

fn report(snapshot: Arc<Snapshot>, changes: Vec<Change>, began: Instant) -> Report {
    Report { snapshot, changes, took_ms: millis(began.elapsed()), rendered: String::new() }
}
