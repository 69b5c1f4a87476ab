//! `roster doctor`: everything a runtime needs, looked at one by one.

mod databases;
mod finding;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use roster_engine::registry::AgentState;

use self::finding::Finding;
use crate::assemble::{self, Project};
use crate::config::models::DEMO;
use crate::config::{ProviderConfig, ProviderKey, RuntimeConfig};
use crate::error::{Exit, HostError};
use crate::output;
use crate::paths::RUNTIME_FILE;

/// Looks at everything; each finding is a line on stdout, with what to do below it.
///
/// # Errors
/// [`HostError`] when there is no project, or the output cannot be written.
pub(super) fn run(root: Option<&Path>) -> Result<Exit, HostError> {
    let mut project = assemble::read(root)?;
    let mut failed = tell(&Finding::ok("root", project.root.display()))?;
    let config = match project.config() {
        Ok(config) => config.clone(),
        Err(error) => {
            tell(&Finding::fail(
                "configuration",
                format_args!("{RUNTIME_FILE} cannot be used"),
                "`roster check` shows why",
            ))?;
            output::report(&error);
            return Ok(Exit::Problems);
        }
    };
    failed |= tell(&configuration(&project))?;
    let sessions = project.root.join(&config.storage.sessions);
    failed |= tell(&databases::folder(&sessions))?;
    failed |= tell(&databases::sessions(&sessions))?;
    failed |= tell(&databases::observability(&project.root.join(&config.storage.observability)))?;
    for provider in &config.providers {
        failed |= tell(&key(provider))?;
    }
    for finding in ports(&config) {
        failed |= tell(&finding)?;
    }
    for finding in agents(&mut project)? {
        failed |= tell(&finding)?;
    }
    Ok(if failed { Exit::Problems } else { Exit::Good })
}

/// Prints a finding; true when it is a failure.
fn tell(finding: &Finding) -> Result<bool, HostError> {
    output::print(finding)?;
    Ok(finding.is_failure())
}

fn configuration(project: &Project) -> Finding {
    let of_config = project.files.problems.iter().filter(|problem| problem.file.starts_with("config/"));
    let (errors, warnings): (Vec<_>, Vec<_>) = of_config.partition(|problem| problem.is_error());
    match (errors.len(), warnings.len()) {
        (0, 0) => Finding::ok("configuration", RUNTIME_FILE),
        (0, n) => Finding::warn("configuration", format_args!("{n} warnings in config/"), "`roster check` shows them"),
        (n, _) => Finding::fail("configuration", format_args!("{n} errors in config/"), "`roster check` shows them"),
    }
}

fn key(provider: &ProviderConfig) -> Finding {
    let ProviderConfig { name, base_url, .. } = provider;
    let subject = format!("provider {name}");
    match &provider.key {
        ProviderKey::None => Finding::ok(&subject, format_args!("{base_url}, no key is sent")),
        ProviderKey::Set(_) => Finding::ok(&subject, format_args!("{base_url}, key set")),
        ProviderKey::Missing { variable } => Finding::warn(
            &subject,
            format_args!("{base_url}, `{variable}` is not set"),
            format_args!("set {variable} before starting; until then turns with `{name}` fail and `{DEMO}/pro` works"),
        ),
    }
}

fn ports(config: &RuntimeConfig) -> [Finding; 2] {
    let one = |name: &str, option: &str, address: SocketAddr| match TcpListener::bind(address) {
        Ok(_) => Finding::ok(name, format_args!("{address} is free")),
        Err(error) => Finding::warn(
            name,
            format_args!("cannot listen on {address}: {error}"),
            format_args!(
                "fine if a runtime of this project serves there now; else choose another with `{option} ADDR`"
            ),
        ),
    };
    [one("gateway", "--gateway", config.gateway.listen), one("studio", "--studio", config.studio.listen)]
}

fn agents(project: &mut Project) -> Result<Vec<Finding>, HostError> {
    let prepared = assemble::preview(project)?;
    if prepared.entries.is_empty() {
        return Ok(vec![Finding::warn("agents", "none is registered", "`roster new agent ID` makes one")]);
    }
    let one = |entry: &roster_engine::registry::Entry| {
        let subject = format!("agent {}", entry.id);
        let first = entry.problems.first().map(ToString::to_string).unwrap_or_default();
        match entry.state {
            AgentState::Disabled => Finding::ok(&subject, "disabled by its file"),
            AgentState::Rejected => Finding::fail(&subject, first, "`roster check` shows the place"),
            _ if entry.problems.is_empty() => Finding::ok(&subject, "can serve"),
            _ => Finding::warn(&subject, first, "`roster check` shows the place"),
        }
    };
    Ok(prepared.entries.iter().map(one).collect())
}
