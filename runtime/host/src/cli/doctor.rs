//! `roster doctor`: everything a runtime needs, looked at one by one.

mod databases;
mod finding;
mod providers;
mod servers;

use std::net::{SocketAddr, TcpListener};
use std::path::Path;

use roster_embed::local::is_imported;
use roster_engine::registry::{AgentState, Entry};

use self::finding::Finding;
use crate::assemble::{self, Project};
use crate::config::models::DEMO;
use crate::config::secret::without_credentials;
use crate::config::{ProviderConfig, ProviderKey, RuntimeConfig};
use crate::embedders::LOCAL_WEIGHTS;
use crate::error::{Exit, HostError};
use crate::output;
use crate::paths::RUNTIME_FILE;
use crate::render::many;

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
    for finding in databases::sessions(&sessions, config.limits.vector_cache) {
        failed |= tell(&finding)?;
    }
    failed |= tell(&databases::observability(&project.root.join(&config.storage.observability)))?;
    for provider in &config.providers {
        failed |= tell(&key(provider))?;
    }
    for finding in providers::left_alone(&project.root) {
        failed |= tell(&finding)?;
    }
    failed |= tell(&embedder(&project.root))?;
    for finding in servers::findings(&project.root, &config.mcp)? {
        failed |= tell(&finding)?;
    }
    for finding in ports(&config) {
        failed |= tell(&finding)?;
    }
    for finding in agents(&mut project, &config)? {
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
        (0, n) => Finding::warn(
            "configuration",
            format_args!("{} in config/", many(n, "warning")),
            "`roster check` shows what they are",
        ),
        (n, _) => Finding::fail(
            "configuration",
            format_args!("{} in config/", many(n, "error")),
            "`roster check` shows what they are",
        ),
    }
}

fn key(provider: &ProviderConfig) -> Finding {
    let name = &provider.name;
    let base_url = without_credentials(&provider.base_url);
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

/// Weights are no need: who names no embedder is served without.
fn embedder(root: &Path) -> Finding {
    let what = match is_imported(&root.join(LOCAL_WEIGHTS)) {
        true => format!("weights in {LOCAL_WEIGHTS}"),
        false => "no weights; recall compares letters and words (`roster models` says how to get them)".to_owned(),
    };
    Finding::ok("embedder local", what)
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

fn agents(project: &mut Project, config: &RuntimeConfig) -> Result<Vec<Finding>, HostError> {
    let prepared = assemble::preview(project)?;
    if prepared.entries.is_empty() {
        return Ok(vec![Finding::warn("agents", "none is registered", "`roster new agent ID` makes one")]);
    }
    let one = |entry: &Entry| {
        let subject = format!("agent {}", entry.id);
        let first = entry.problems.first().map(ToString::to_string).unwrap_or_default();
        match entry.state {
            AgentState::Disabled => Finding::ok(&subject, "disabled by its file"),
            AgentState::Rejected => Finding::fail(&subject, first, "`roster check` shows the place"),
            _ if entry.problems.is_empty() => match missing_key(entry, config) {
                None => Finding::ok(&subject, "can serve"),
                Some((model, variable)) => Finding::warn(
                    &subject,
                    format_args!("turns with `{model}` will fail: the variable `{variable}` is not set"),
                    format_args!("set {variable} before starting, or name another model"),
                ),
            },
            _ => Finding::warn(&subject, first, "`roster check` shows the place"),
        }
    };
    Ok(prepared.entries.iter().map(one).collect())
}

/// The first model of the agent whose provider has no key, and the variable that should hold it.
fn missing_key<'a>(entry: &'a Entry, config: &'a RuntimeConfig) -> Option<(&'a str, &'a str)> {
    let of_model = |name: &'a str| {
        let provider = name.split_once('/')?.0;
        let provider = config.providers.iter().find(|known| known.name == provider)?;
        match &provider.key {
            ProviderKey::Missing { variable } => Some((name, variable.as_str())),
            ProviderKey::None | ProviderKey::Set(_) => None,
        }
    };
    entry.agent.as_ref()?.models.iter().find_map(|model| of_model(&model.name))
}
