//! `roster test`: conversations with agents, against recorded answers of their models.

mod cassette;
mod file;
mod judge;
mod play;
mod report;
mod request;
mod stub;
mod tape;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use clap::Args;

use self::file::TestFile;
use self::tape::Mode;
use super::Format;
use crate::assemble;
use crate::config::project::files::{TEST_FILE, test_files};
use crate::config::{ReadFailure, read_file};
use crate::error::{Exit, HostError};
use crate::paths::AGENTS_FOLDER;
use crate::{log, output};

/// What to try.
#[derive(Debug, Args)]
pub(super) struct TestArgs {
    /// Agents, or test files [default: every test file in agents/].
    #[arg(value_name = "AGENT|FILE")]
    what: Vec<String>,
    /// Asks the models for real and records their answers beside the test files.
    #[arg(long)]
    record: bool,
    /// How to print what came of it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// A test file that was found.
struct Found {
    path: PathBuf,
    /// As people are told.
    shown: String,
    /// The name before `.test.toml`.
    stem: String,
    /// The agent it is about.
    agent: String,
    /// What stands in it, or what is wrong with it.
    file: Result<TestFile, String>,
}

/// Plays the tests.
///
/// # Errors
/// [`HostError`] when there is nothing to play or the project cannot be assembled.
pub(super) fn run(root: Option<&Path>, args: &TestArgs) -> Result<Exit, HostError> {
    log::start_quiet()?;
    let folder = assemble::root(root)?;
    let found = gather(&folder, &args.what)?;
    let mode = if args.record { Mode::Record } else { Mode::Replay };
    let mut reports = Vec::with_capacity(found.len());
    for one in &found {
        let mut project = assemble::read(Some(&folder))?;
        let report = assemble::runtime()?.block_on(play::play(&mut project, one, mode))?;
        if args.format == Format::Text {
            output::print(report.text())?;
        }
        reports.push(report);
    }
    match args.format {
        Format::Text => output::print(report::summary(&reports))?,
        Format::Json => output::print(format_args!("{:#}\n", report::json(&reports)))?,
    }
    Ok(if reports.iter().all(report::FileReport::passed) { Exit::Good } else { Exit::Problems })
}

/// The files that are meant, each once.
fn gather(root: &Path, what: &[String]) -> Result<Vec<Found>, HostError> {
    let agents = root.join(AGENTS_FOLDER);
    let all = || -> Result<Vec<Found>, HostError> {
        let names = match test_files(&agents) {
            Err(ReadFailure::Missing) => Vec::new(),
            names => names.map_err(|failure| HostError::environment(format!("`{AGENTS_FOLDER}/` {failure}")))?,
        };
        names.iter().map(|name| found(&agents.join(name), format!("{AGENTS_FOLDER}/{name}"))).collect()
    };
    let mut files: Vec<Found> = Vec::new();
    if what.is_empty() {
        files = all()?;
    }
    for word in what {
        let more = match word.ends_with(".toml") || word.contains('/') {
            true => vec![found(&at(root, word), word.clone())?],
            false => all()?.into_iter().filter(|found| found.agent == *word).collect(),
        };
        if more.is_empty() {
            return Err(HostError::environment(format!("there is no test of agent `{word}` in `{AGENTS_FOLDER}/`"))
                .hint(format!("write `{AGENTS_FOLDER}/{word}{TEST_FILE}`; docs/testing.md shows how")));
        }
        files.extend(more);
    }
    if files.is_empty() {
        return Err(HostError::environment(format!("there is no test in `{AGENTS_FOLDER}/`"))
            .hint(format!("write `{AGENTS_FOLDER}/<agent>{TEST_FILE}`; docs/testing.md shows how")));
    }
    let mut seen = std::collections::HashSet::new();
    files.retain(|found| seen.insert(found.path.canonicalize().unwrap_or_else(|_| found.path.clone())));
    Ok(files)
}

/// A path from where the command was given, or from the root.
fn at(root: &Path, word: &str) -> PathBuf {
    let here = PathBuf::from(word);
    if here.exists() { here } else { root.join(word) }
}

fn found(path: &Path, shown: String) -> Result<Found, HostError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(stem) = name.strip_suffix(TEST_FILE).filter(|stem| !stem.is_empty()) else {
        return Err(HostError::environment(format!("`{shown}` is no test file"))
            .hint(format!("the names of test files end with `{TEST_FILE}`")));
    };
    let file = match read_file(path) {
        Ok(bytes) => file::parse(&bytes),
        Err(ReadFailure::Missing) => return Err(HostError::environment(format!("`{shown}` does not exist"))),
        Err(failure) => Err(format!("the file {failure}")),
    };
    let named = file.as_ref().ok().and_then(|file| file.agent.clone());
    let agent = named.unwrap_or_else(|| stem.to_owned());
    Ok(Found { path: path.to_path_buf(), shown, stem: stem.to_owned(), agent, file })
}
