//! `config/runtime.toml` while running: what is in effect, and what is wrong with what is there now.

use std::sync::Arc;

use roster_engine::definition::Problem;

use crate::config::{LoadedRuntime, RuntimeConfig};
use crate::paths::RUNTIME_FILE;

/// What is in effect of `config/runtime.toml`.
pub(super) struct Settings {
    /// As the process was started: its listeners and databases are these.
    started: RuntimeConfig,
    /// In effect; of the values of `started` that need a restart, what the file says now.
    pub(super) config: Arc<RuntimeConfig>,
    /// What is wrong with the file as it is now.
    pub(super) problems: Vec<Problem>,
    source: String,
}

impl Settings {
    pub(super) fn new(started: RuntimeConfig) -> Self {
        Self { config: Arc::new(started.clone()), started, problems: Vec::new(), source: String::new() }
    }

    /// The file's text, secrets masked.
    pub(super) fn source(&self) -> &str {
        &self.source
    }

    /// Takes what stands in the file. What cannot be used changes nothing, and is listed.
    pub(super) fn take(&mut self, loaded: LoadedRuntime) {
        let LoadedRuntime { config, problems, source, at_start } = loaded;
        let Some(config) = config else {
            self.problems = problems.into_iter().filter(Problem::is_error).collect();
            self.source = source;
            return;
        };
        self.problems = problems;
        for name in self.restarts(&config) {
            let message = format!("`{name}` was changed; it takes effect with the next start");
            let problem = Problem::warning("needs_restart", RUNTIME_FILE, message).help("restart when it suits");
            let place = at_start.iter().find(|(key, _)| *key == name);
            self.problems.push(match place {
                Some((_, span)) => problem.at(&source, span.clone()),
                None => problem,
            });
        }
        self.config = Arc::new(config);
        self.source = source;
    }

    fn restarts(&self, new: &RuntimeConfig) -> Vec<&'static str> {
        let old = &self.started;
        let all = [
            ("gateway.listen", old.gateway.listen != new.gateway.listen),
            ("studio.listen", old.studio.listen != new.studio.listen),
            ("storage.sessions", old.storage.sessions != new.storage.sessions),
            ("storage.observability", old.storage.observability != new.storage.observability),
            ("observability.retention", old.observability.retention != new.observability.retention),
            ("observability.max_size", old.observability.max_size != new.observability.max_size),
        ];
        all.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
    }
}
