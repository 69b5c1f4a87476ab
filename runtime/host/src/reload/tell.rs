//! What a reload says in the log.

use roster_engine::definition::{Problem, Severity};
use roster_engine::registry::Change;

use crate::log::LogFormat;
use crate::{output, render};

/// Agents named in one line of the log.
const MOST_NAMED: usize = 20;

/// Problems: as a person reads them, or a line of the log for each.
pub(super) fn problems<'s>(problems: &[Problem], source: &dyn Fn(&str) -> Option<&'s str>, format: LogFormat) {
    if problems.is_empty() {
        return;
    }
    match format {
        LogFormat::Text => output::note(render::to_text(problems, source, output::stderr_style()).trim_end()),
        LogFormat::Json => problems.iter().for_each(log),
    }
}

fn log(problem: &Problem) {
    let Problem { code, message, file, line, column, help, agent, .. } = &render::shown(problem);
    match problem.severity {
        Severity::Error => tracing::error!(code, file, line, column, help, agent, "{message}"),
        Severity::Warning => tracing::warn!(code, file, line, column, help, agent, "{message}"),
    }
}

/// One line for one reload.
pub(super) fn reloaded(generation: u64, trigger: &str, changes: &[Change], took_ms: u64) {
    let mut changed: Vec<&str> = changes.iter().take(MOST_NAMED).map(|change| change.agent.as_str()).collect();
    if changes.len() > MOST_NAMED {
        changed.push("…");
    }
    let changed = changed.join(" ");
    let agents = changes.len();
    tracing::info!(
        "reloaded generation={generation} changed=[{changed}] agents={agents} trigger={trigger} took_ms={took_ms}"
    );
}
