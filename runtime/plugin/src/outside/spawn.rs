//! Starting a process: this very binary, with one end of a channel as its descriptor 0 and nothing else of ours.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use roster_abi::contract::Description;
use roster_abi::frame::{HELLO, PROTOCOL};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::Outside;
use super::keeper::{Kept, ended};
use super::link::{Link, News};
use crate::asks::HostAsks;
use crate::counters::Counters;
use crate::frame::Frame;
use crate::hello::{BUILD, Hello, Until};
use crate::launch;
use crate::preflight::Manifest;
use crate::refusal::{Refusal, RefusalKind};
use crate::settings::Settings;

/// How to start a process.
#[derive(Clone)]
pub(crate) struct Spawn {
    /// The binary and what it is told to be.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) hello: Hello,
    /// How long coming up may take.
    pub(crate) within: Duration,
}

impl Spawn {
    pub(crate) fn new(
        program: &(PathBuf, Vec<OsString>),
        settings: &Settings,
        library: PathBuf,
        manifest: &Manifest,
        until: Until,
    ) -> Self {
        let hello = Hello {
            protocol: PROTOCOL,
            build: BUILD.to_owned(),
            until,
            known: false,
            key: settings.key.clone(),
            library,
            manifest: manifest.raw.clone(),
            config: settings.config.clone(),
            threads: settings.max_concurrency,
            memory: settings.limits.memory,
            open_files: settings.limits.open_files,
            output: settings.limits.output,
        };
        let (program, arguments) = program.clone();
        Self { program, arguments, env: settings.env.clone(), hello, within: settings.start_timeout }
    }

    /// Starts a process and waits until its library is there, or says why not.
    pub(super) async fn start(&self, asks: &Arc<HostAsks>) -> Result<(Kept, Description), Refusal> {
        let (child, stream) = self.process().map_err(|error| Refusal::system("no process for the plugin", &error))?;
        let link = Arc::new(Link::new(stream));
        let mut kept = Kept::new(child, link, asks);
        let payload = serde_json::to_vec(&self.hello).unwrap_or_default();
        kept.link.send(&Frame { payload, ..Frame::of(HELLO) });
        match timeout(self.within, kept.news(asks)).await {
            Ok(Some(News::Ready(bytes))) => match self.read(&bytes) {
                Ok(description) => Ok((kept, description)),
                Err(refusal) => {
                    kept.kill().await;
                    Err(refusal)
                }
            },
            Ok(Some(News::Failed(bytes))) => {
                kept.kill().await;
                Err(serde_json::from_slice(&bytes).unwrap_or_else(|_| not_started("said no, in words nobody can read")))
            }
            Ok(_) => {
                let status = kept.kill().await;
                Err(not_started(&format!("ended while it was started: {}", ended(status))))
            }
            Err(_) => {
                kept.kill().await;
                Err(not_started(&format!("did not start within {} ms", self.within.as_millis())))
            }
        }
    }

    fn read(&self, description: &[u8]) -> Result<Description, Refusal> {
        if self.hello.known { launch::parse(description) } else { launch::read(description) }
    }

    fn process(&self) -> std::io::Result<(Child, UnixStream)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            // Each arena of the allocator reserves address space, which is limited.
            .env("MALLOC_ARENA_MAX", "2")
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        Ok((command.spawn()?, UnixStream::from_std(ours)?))
    }
}

fn not_started(what: &str) -> Refusal {
    Refusal::new(RefusalKind::Start, what.to_owned(), "see its log lines above, and its limits in the configuration")
}

impl Outside {
    /// Starts the first process. Blocks; not inside of the runtime.
    pub(crate) fn open(
        mut spawn: Spawn,
        settings: &Arc<Settings>,
        asks: Arc<HostAsks>,
        counters: &Arc<Counters>,
        runtime: &tokio::runtime::Handle,
    ) -> Result<(Arc<Self>, Description), Refusal> {
        let (kept, description) = runtime.block_on(spawn.start(&asks))?;
        spawn.hello.known = true;
        let outside = Self::new(spawn, Arc::clone(settings), asks, Arc::clone(counters), Arc::clone(&kept.link));
        outside.keep(kept, runtime);
        Ok((outside, description))
    }
}

/// Starts a process that tells what a library contributes, or whether it is well, and ends. Blocks.
pub(crate) fn probe(
    spawn: &Spawn,
    asks: &Arc<HostAsks>,
    runtime: &tokio::runtime::Handle,
) -> Result<Description, Refusal> {
    runtime.block_on(async {
        let (mut kept, description) = spawn.start(asks).await?;
        kept.kill().await;
        Ok(description)
    })
}
