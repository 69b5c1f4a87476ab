//! Under what a run was measured. A figure without them says nothing.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the machine it runs on: files, date, environment")]

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use anyhow::Context;
use roster_model::time::Timestamp;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde::Serialize;
use tokio::time::Instant;

use crate::sample::Sample;

/// The machine, the code and the moment.
#[derive(Debug, Clone, Serialize)]
pub struct Conditions {
    /// ISO-8601, UTC.
    pub date: String,
    /// Short commit, with `+` when files differ from it; `unknown` outside a repository.
    pub commit: String,
    /// `rustc --version`.
    pub rustc: String,
    /// How this program and `roster` were built.
    pub profile: &'static str,
    /// `linux x86_64`.
    pub system: String,
    /// The processor's name where the system tells it.
    pub processor: String,
    /// Cores this process may use. Client, model server and `roster` share them.
    pub cores: usize,
    /// Processes that wanted a core in the minute before (the system's load average); below 0 where it is not told.
    pub load_before: f64,
    /// The file system the databases are on.
    pub file_system: String,
    /// Median of writing 4 KiB there and making it durable, in milliseconds.
    pub sync_ms: f64,
    /// True when rounds were cut short: the figures are not to be quoted.
    pub quick: bool,
}

impl Conditions {
    /// Looks at the machine now. `dir` is where the databases will be, `workspace` where the code is.
    ///
    /// # Errors
    /// When `dir` cannot be written.
    pub fn observe(dir: &Path, workspace: &Path, quick: bool) -> anyhow::Result<Self> {
        Ok(Self {
            date: now(),
            commit: commit(workspace),
            rustc: said("rustc", &["--version"], workspace),
            profile: if cfg!(debug_assertions) { "debug" } else { "release" },
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            processor: processor(&text_of("/proc/cpuinfo")),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            load_before: load(&text_of("/proc/loadavg")),
            file_system: file_system(&text_of("/proc/mounts"), dir),
            sync_ms: sync_time(dir).with_context(|| format!("failed to write below `{}`", dir.display()))?,
            quick,
        })
    }

    /// The table's head.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let quick = if self.quick { " (quick: not to be quoted)" } else { "" };
        vec![
            format!("roster-bench{quick}"),
            format!("{}, commit {}, {}", self.date, self.commit, self.profile),
            format!("{}, {} cores, {}", self.system, self.cores, self.processor),
            format!("load before {:.2}, {}, durable write {:.3} ms", self.load_before, self.file_system, self.sync_ms),
            self.rustc.clone(),
        ]
    }
}

/// Lets this process and its children open so many files.
///
/// # Errors
/// When the system allows fewer.
pub fn allow_files(wanted: u64) -> anyhow::Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    let most = limit.maximum.unwrap_or(wanted).max(wanted);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: limit.maximum.and(Some(most)) });
    raised.with_context(|| format!("a process may open too few files here; {wanted} are needed (`ulimit -n`)"))
}

/// The variable as it is set.
#[must_use]
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn now() -> String {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX)).to_string()
}

fn text_of(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn said(program: &str, arguments: &[&str], dir: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(dir).output();
    let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}

fn commit(workspace: &Path) -> String {
    let commit = said("git", &["rev-parse", "--short", "HEAD"], workspace);
    if commit.is_empty() {
        return "unknown".to_owned();
    }
    let changed = !said("git", &["status", "--porcelain"], workspace).is_empty();
    if changed { commit + "+" } else { commit }
}

fn processor(cpuinfo: &str) -> String {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("unknown processor", |(_, name)| name.trim()).to_owned()
}

fn load(loadavg: &str) -> f64 {
    loadavg.split(' ').next().and_then(|minute| minute.parse().ok()).unwrap_or(-1.0)
}

/// The type of the mount that holds `dir`: the one with the longest matching path.
fn file_system(mounts: &str, dir: &Path) -> String {
    let mounts = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let holder = mounts.filter(|(path, _)| dir.starts_with(path)).max_by_key(|(path, _)| path.len());
    holder.map_or("unknown file system", |(_, kind)| kind).to_owned()
}

fn sync_time(dir: &Path) -> anyhow::Result<f64> {
    let mut file = tempfile::tempfile_in(dir)?;
    let mut sample = Sample::new()?;
    for _ in 0..64 {
        let begun = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        sample.add(begun.elapsed());
    }
    Ok(sample.percentile(50.0))
}

/// A fixed set, for the tests of what prints it.
#[cfg(test)]
pub(crate) fn sample_for_tests() -> Conditions {
    Conditions {
        date: "2030-01-01T00:00:00.000Z".to_owned(),
        commit: "0123abc+".to_owned(),
        rustc: "rustc 1.95.0".to_owned(),
        profile: "release",
        system: "linux x86_64".to_owned(),
        processor: "Example Processor".to_owned(),
        cores: 2,
        load_before: 0.25,
        file_system: "ext4".to_owned(),
        sync_ms: 0.4,
        quick: false,
    }
}

#[cfg(test)]
mod tests;
