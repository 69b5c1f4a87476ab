//! The runtime under measurement: built, started, watched and stopped as a child of this process.

#![expect(clippy::disallowed_methods, reason = "the child's log and its entry below `/proc` are files")]

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use crate::conditions;

/// Longest wait for both ready lines, and for the end after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(30);

/// What would change the measured runtime if it were inherited.
const FOREIGN: [&str; 9] = [
    "ROSTER_ROOT",
    "ROSTER_MODEL",
    "RUST_LOG",
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Builds `roster` in release, with the Cargo that runs this program, and gives its path.
///
/// # Errors
/// When Cargo cannot be started or the build fails; Cargo's own words go to stderr.
pub async fn build(workspace: &Path) -> anyhow::Result<PathBuf> {
    let cargo = conditions::variable("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "-p", "roster-host", "--bin", "roster"])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(workspace)
        .stderr(Stdio::inherit())
        .output()
        .await
        .context("failed to start Cargo")?;
    ensure!(output.status.success(), "failed to build `roster`: {}", output.status);
    executable(&String::from_utf8_lossy(&output.stdout)).context("Cargo names no executable of `roster`")
}

/// The program among Cargo's messages, one JSON object a line.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.find_map(|message| {
        let ours = message["target"]["name"] == "roster";
        message["executable"].as_str().filter(|_| ours).map(PathBuf::from)
    })
}

/// A running runtime. Dropping it kills it; [`Subject::stop`] ends it as an operator would.
pub struct Subject {
    child: Child,
    /// Kept open, so that the child can go on writing.
    _stdout: Lines<BufReader<ChildStdout>>,
    log: PathBuf,
    /// Where the gateway listens.
    pub gateway: SocketAddr,
    /// Where Studio listens.
    pub studio: SocketAddr,
    /// From before the process was made until both ready lines were read.
    pub ready_after: Duration,
}

impl Subject {
    /// Starts `binary` over the project at `root`, on ports of the system's choice, and waits for both ready lines.
    ///
    /// # Errors
    /// When it cannot be started, ends, or is not ready within 30 s; with the end of its log.
    pub async fn start(binary: &Path, root: &Path) -> anyhow::Result<Self> {
        let log = root.join("roster.log");
        let mut command = Command::new(binary);
        command.args(["serve", "--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0", "--root"]).arg(root);
        for name in FOREIGN {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log)?).kill_on_drop(true);
        let begun = Instant::now();
        let mut child = command.spawn().with_context(|| format!("failed to start `{}`", binary.display()))?;
        let stdout = child.stdout.take().context("the child has no stdout")?;
        let mut stdout = BufReader::new(stdout).lines();
        let ready = timeout(PATIENCE, ready(&mut stdout)).await.context("not ready in time").flatten();
        let ready_after = begun.elapsed();
        let (gateway, studio) = ready.with_context(|| format!("failed to serve; its log ends:\n{}", tail(&log)))?;
        Ok(Self { child, _stdout: stdout, log, gateway, studio, ready_after })
    }

    /// Resident memory (`VmRSS`), in MiB.
    ///
    /// # Errors
    /// On systems other than Linux, and when the process has ended.
    pub fn resident_mib(&self) -> anyhow::Result<f64> {
        let id = self.child.id().context("the process has ended")?;
        let status =
            fs::read_to_string(format!("/proc/{id}/status")).context("resident memory is read on Linux only")?;
        resident_mib(&status).context("`VmRSS` is not told")
    }

    /// Processor time used so far by all its threads, those that ended too.
    ///
    /// # Errors
    /// On systems other than Linux, and when the process has ended.
    pub fn processor_time(&self) -> anyhow::Result<Duration> {
        let id = self.child.id().context("the process has ended")?;
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).context("processor time is read on Linux only")?;
        processor_time(&stat).context("processor time is not told")
    }

    /// Sends SIGTERM and waits for the end.
    ///
    /// # Errors
    /// When it does not end within 30 s, or not with exit code 0; with the end of its log.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(id.context("the process has ended")?, Signal::TERM)?;
        let Ok(ended) = timeout(PATIENCE, self.child.wait()).await else {
            bail!("it did not end within {} s of SIGTERM; its log ends:\n{}", PATIENCE.as_secs(), tail(&self.log));
        };
        let status = ended?;
        ensure!(status.success(), "it ended with {status}; its log ends:\n{}", tail(&self.log));
        Ok(())
    }
}

async fn ready(stdout: &mut Lines<BufReader<ChildStdout>>) -> anyhow::Result<(SocketAddr, SocketAddr)> {
    let (mut gateway, mut studio) = (None, None);
    loop {
        if let (Some(gateway), Some(studio)) = (gateway, studio) {
            return Ok((gateway, studio));
        }
        let line = stdout.next_line().await?.context("stdout ended before both ready lines")?;
        match ready_line(&line) {
            Some(("gateway", address)) => gateway = Some(address),
            Some(("studio", address)) => studio = Some(address),
            _ => bail!("`{line}` on stdout is no ready line"),
        }
    }
}

/// `gateway http://127.0.0.1:8787`
fn ready_line(line: &str) -> Option<(&str, SocketAddr)> {
    let (name, address) = line.trim_end().split_once(" http://")?;
    Some((name, address.parse().ok()?))
}

fn resident_mib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u32 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(f64::from(kibibytes) / 1024.0)
}

/// User and system time of `/proc/PID/stat`; it counts hundredths of a second on every Linux.
fn processor_time(stat: &str) -> Option<Duration> {
    // The program's name may hold anything, brackets and spaces too.
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut times = fields.split(' ').skip(11);
    let (user, system): (u64, u64) = (times.next()?.parse().ok()?, times.next()?.parse().ok()?);
    Some(Duration::from_millis((user + system) * 10))
}

/// The last lines of a log.
fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(8)..].join("\n")
}

#[cfg(test)]
mod tests;
