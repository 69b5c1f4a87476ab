//! The real binary as a child process.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::project::Project;

/// Nothing here takes this long; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command of the binary, in a clean environment, started in `folder`.
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_roster"));
    command.args(args).current_dir(folder).env_clear().kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What a command that ended left behind.
#[derive(Debug)]
pub struct Output {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs a command to its end in the project's root.
pub async fn run(project: &Project, args: &[&str]) -> Output {
    finish(command(project.root(), args)).await
}

/// Runs a command to its end with this text on its stdin.
pub async fn run_with_input(project: &Project, args: &[&str], input: &str) -> Output {
    let mut child = command(project.root(), args).stdin(Stdio::piped()).spawn().expect("start");
    let mut stdin = child.stdin.take().expect("stdin");
    stdin.write_all(input.as_bytes()).await.expect("write");
    drop(stdin);
    output_of(child).await
}

pub async fn finish(mut command: Command) -> Output {
    output_of(command.spawn().expect("start")).await
}

async fn output_of(child: Child) -> Output {
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("ends in time").expect("ends");
    Output {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8(output.stdout).expect("stdout is text"),
        stderr: String::from_utf8(output.stderr).expect("stderr is text"),
    }
}

/// A runtime that serves.
pub struct Roster {
    child: Child,
    /// `http://ADDR`, empty when not served.
    pub gateway: String,
    /// `http://ADDR`, empty when not served.
    pub studio: String,
    stdout: Lines<BufReader<ChildStdout>>,
    stderr: Arc<Mutex<String>>,
    reader: JoinHandle<()>,
}

impl Roster {
    /// Serves both listeners on free ports.
    pub async fn serve(project: &Project) -> Self {
        Self::start(command(project.root(), &FREE), 2).await
    }

    /// The same with more arguments.
    pub async fn serve_with(project: &Project, args: &[&str]) -> Self {
        Self::start(command(project.root(), &[&FREE[..], args].concat()), 2).await
    }

    /// Serves one listener on a free port.
    pub async fn serve_with_only(project: &Project, only: &str) -> Self {
        let address = format!("--{only}=127.0.0.1:0");
        Self::start(command(project.root(), &["serve", "--only", only, &address]), 1).await
    }

    /// Waits for so many ready lines of this command.
    pub async fn start(mut command: Command, listeners: usize) -> Self {
        let mut child = command.spawn().expect("start");
        let stdout = BufReader::new(child.stdout.take().expect("stdout")).lines();
        let stderr = Arc::new(Mutex::new(String::new()));
        let reader = tokio::spawn(collect(child.stderr.take().expect("stderr"), Arc::clone(&stderr)));
        let mut roster = Self { child, gateway: String::new(), studio: String::new(), stdout, stderr, reader };
        for _ in 0..listeners {
            let line = timeout(PATIENCE, roster.stdout.next_line()).await.expect("ready in time").expect("stdout");
            let Some(line) = line else { panic!("no ready line; stderr: {}", roster.stderr()) };
            match line.split_once(' ') {
                Some(("gateway", address)) => roster.gateway = address.to_owned(),
                Some(("studio", address)) => roster.studio = address.to_owned(),
                _ => panic!("no ready line: {line}"),
            }
        }
        roster
    }

    pub fn stderr(&self) -> String {
        self.stderr.lock().expect("lock").clone()
    }

    pub fn id(&self) -> u32 {
        self.child.id().expect("still running")
    }

    pub fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.id()).expect("a pid")).expect("no zero");
        kill_process(id, signal).expect("signal");
    }

    /// SIGTERM, then waits for the end.
    pub async fn terminate(self) -> Output {
        self.signal(Signal::TERM);
        self.ended().await
    }

    /// SIGKILL, then waits for the end.
    pub async fn kill(self) {
        self.signal(Signal::KILL);
        self.ended().await;
    }

    /// Waits for the end; stdout is what came after the ready lines.
    pub async fn ended(mut self) -> Output {
        let status: ExitStatus = timeout(PATIENCE, self.child.wait()).await.expect("ends in time").expect("ends");
        let mut stdout = String::new();
        while let Ok(Some(line)) = self.stdout.next_line().await {
            stdout.push_str(&line);
            stdout.push('\n');
        }
        self.reader.await.expect("stderr is read");
        let stderr = self.stderr.lock().expect("lock").clone();
        Output { code: status.code(), signal: status.signal(), stdout, stderr }
    }
}

const FREE: [&str; 5] = ["serve", "--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"];

async fn collect(mut from: tokio::process::ChildStderr, into: Arc<Mutex<String>>) {
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        into.lock().expect("lock").push_str(&String::from_utf8_lossy(&piece[..read]));
    }
}
