//! A server that is a child process: started in a process group of its own, and ended with all that it started.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

use super::config::Reach;
use super::lines::{LONGEST_LINE, Lines};
use super::server::Server;
use super::stderr;

/// How long a child may take to end after its input was closed, and after SIGTERM.
const PATIENCE: Duration = Duration::from_secs(1);

/// Pipes to a child.
pub(super) type Pipes = AsyncRwTransport<RoleClient, Lines<ChildStdout>, ChildStdin>;

/// A running child. Dropped, it is killed with its whole group.
pub(super) struct Process {
    child: Child,
    group: Option<Pid>,
}

/// Starts a child.
///
/// # Errors
/// Says why it could not be started, as a fragment.
pub(super) fn start(server: &Arc<Server>, tracker: &TaskTracker) -> Result<(Process, Pipes), String> {
    let Reach::Stdio { program, arguments, env, cwd, .. } = &server.config.reach else {
        return Err("is not started as a process".to_owned());
    };
    let mut command = Command::new(program);
    command.args(arguments).current_dir(cwd).env_clear().envs(env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound if !cwd.is_dir() => "cannot be started: its `cwd` is no folder".to_owned(),
        std::io::ErrorKind::NotFound => format!("cannot be started: there is no program `{program}`"),
        _ => format!("cannot be started: `{program}`: {error}"),
    })?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let pipes = child.stdin.take().zip(child.stdout.take());
    if let Some(stderr) = child.stderr.take() {
        tracker.spawn(stderr::log(server.name().to_owned(), Arc::clone(&server.secrets), stderr));
    }
    let process = Process { child, group };
    let (stdin, stdout) = pipes.ok_or("cannot be started: it has no pipes")?;
    let stdout = Lines::new(stdout, Arc::clone(server));
    Ok((process, AsyncRwTransport::new_client(stdout, stdin).with_max_line_length(LONGEST_LINE)))
}

impl Process {
    /// Ends the child, whose input was closed before: waits, asks, kills. Gives how it ended.
    pub(super) async fn end(mut self) -> Option<String> {
        let mut status = timeout(PATIENCE, self.child.wait()).await;
        if status.is_err() {
            self.signal(Signal::TERM);
            status = timeout(PATIENCE, self.child.wait()).await;
        }
        // What it started may live on in the group.
        self.signal(Signal::KILL);
        status.ok()?.ok().map(|status| status.to_string())
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // An empty group is what is wanted.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
