//! Keeping a process: reads it, kills it when it must be, and starts the next one.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use roster_abi::code::LOG_INFO;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use super::Outside;
use super::link::{Link, News};
use crate::asks::HostAsks;
use crate::call::CallError;
use crate::instance::Line;

/// The longest line taken of what it prints.
const LONGEST_LINE: usize = 4_096;

/// A process that is kept.
pub(super) struct Kept {
    child: Child,
    pub(super) link: Arc<Link>,
    bytes: Vec<u8>,
    /// What it prints, and what of it is no whole line yet.
    printed: Option<ChildStderr>,
    line: Vec<u8>,
    asks: Arc<HostAsks>,
}

impl Kept {
    pub(super) fn new(mut child: Child, link: Arc<Link>, asks: &Arc<HostAsks>) -> Self {
        let printed = child.stderr.take();
        let (bytes, line) = (Vec::with_capacity(64 * 1024), Vec::with_capacity(LONGEST_LINE));
        Self { child, link, bytes, printed, line, asks: Arc::clone(asks) }
    }

    /// The next news; meanwhile what is to be sent is sent and what it prints goes to the log. `None`: it ended.
    pub(super) async fn news(&mut self, asks: &Arc<HostAsks>) -> Option<News> {
        let Self { link, bytes, printed, line, .. } = self;
        tokio::select! {
            news = link.read(bytes, asks, link) => news,
            _ = link.flush() => None,
            () = print(printed, line, asks) => None,
        }
    }

    /// Kills it with all it started, and waits until it is gone.
    pub(super) async fn kill(&mut self) -> Option<ExitStatus> {
        if let Some(group) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            // Not waited for yet: the number is still its own.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let status = self.child.wait().await.ok();
        // Its last words.
        if let Some(mut printed) = self.printed.take() {
            let reading = async { while matches!(printed.read_buf(&mut self.line).await, Ok(1..)) {} };
            let _ = tokio::time::timeout(Duration::from_millis(1), reading).await;
            say(&self.line, &self.asks);
        }
        status
    }

    /// Reads until it ends or is killed; how it ended.
    async fn run(&mut self, asks: &Arc<HostAsks>, ping: Duration) -> Option<ExitStatus> {
        let mut ping = interval(ping);
        // After a standstill of our own it gets its time to answer, as ever.
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ping.tick().await;
        let link = Arc::clone(&self.link);
        loop {
            let kill_at = *link.kill_at.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            tokio::select! {
                // What it said comes first: an answer that is there is not missed.
                biased;
                news = self.news(asks) => match news {
                    // Ends by itself; killed if it does not.
                    Some(News::Bye) => {
                        let _ = tokio::time::timeout(Duration::from_secs(1), self.child.wait()).await;
                        break;
                    }
                    Some(_) => {}
                    None => break,
                },
                () = link.kill.notified() => {}
                () = at(kill_at) => break,
                _ = ping.tick() => if !link.ping() {
                    link.condemn("its process did not answer");
                    break;
                },
            }
        }
        self.kill().await
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// Never ends: the end of what is printed is not the end of the process.
async fn print(printed: &mut Option<ChildStderr>, line: &mut Vec<u8>, asks: &Arc<HostAsks>) {
    while let Some(pipe) = printed {
        match pipe.read_buf(line).await {
            Ok(0) | Err(_) => *printed = None,
            Ok(_) => {
                let whole = line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let whole = if line.len() > LONGEST_LINE { line.len() } else { whole };
                let lines: Vec<u8> = line.drain(..whole).collect();
                say(&lines, asks);
            }
        }
    }
    std::future::pending::<()>().await;
}

fn say(bytes: &[u8], asks: &Arc<HostAsks>) {
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let line = line.get(..line.len().min(LONGEST_LINE)).unwrap_or_default();
        let message = String::from_utf8_lossy(line).into_owned();
        asks.line(&Line { call: 0, level: LOG_INFO, target: "printed".to_owned(), message, fields: String::new() });
    }
}

/// In words.
pub(super) fn ended(status: Option<ExitStatus>) -> String {
    match status.map(|status| (status.signal(), status.code())) {
        Some((Some(signal), _)) => format!("signal {signal}{}", name(signal)),
        Some((None, Some(code))) => format!("exit code {code}"),
        _ => "nobody knows how".to_owned(),
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        7 => " (SIGBUS)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        _ => "",
    }
}

impl Outside {
    /// Keeps processes going until it is ended.
    pub(super) fn keep(self: &Arc<Self>, first: Kept, runtime: &tokio::runtime::Handle) {
        let this = Arc::clone(self);
        self.asks.tasks().spawn_on(this.keep_on(first), runtime);
    }

    async fn keep_on(self: Arc<Self>, first: Kept) {
        let mut kept = first;
        loop {
            let status = kept.run(&self.asks, self.settings.ping).await;
            self.is_over(&kept.link, status);
            match self.next().await {
                Some(next) => kept = next,
                None => break,
            }
        }
        let mut state = self.lock();
        state.gone = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for (_, slot) in waiting {
            slot.fail(self.unavailable("it was stopped"));
        }
        self.gone.notify_waiters();
    }

    /// Tells everybody who waits for the process that ended.
    fn is_over(&self, link: &Arc<Link>, status: Option<ExitStatus>) {
        let mut state = self.lock();
        if state.link.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)) {
            state.link = None;
        }
        let stopped = state.ended;
        drop(state);
        let (key, how) = (&self.settings.key, ended(status));
        let (code, text, why) = match link.condemned.get() {
            Some(why) => {
                ("plugin_restarted", format!("plugin `{key}` was started anew because {why}"), format!(", for {why}"))
            }
            None => ("plugin_crashed", format!("plugin `{key}` crashed: {how}"), String::new()),
        };
        link.end_all(&|| CallError::host(code, text.clone(), true));
        if !stopped {
            tracing::warn!(plugin = key, "the plugin's process ended: {how}{why}");
        }
    }

    /// The next process, when there is to be one: at once after a single crash, later after several, much later when
    /// it does nothing but crash.
    async fn next(&self) -> Option<Kept> {
        let restart = self.settings.restart;
        loop {
            if self.lock().ended {
                return None;
            }
            let crashes = self.crashes.fetch_add(1, Ordering::Relaxed) + 1;
            if crashes > restart.max {
                self.give_up(crashes).await;
                self.crashes.store(0, Ordering::Relaxed);
                self.lock().down = None;
                continue;
            }
            if crashes > 1 {
                let pause = restart.backoff_min.saturating_mul(1 << (crashes - 2).min(16)).min(restart.backoff_max);
                self.pause(pause).await;
            }
            match self.spawn.start(&self.asks).await {
                Ok((kept, _)) => {
                    self.counters.restarts.fetch_add(1, Ordering::Relaxed);
                    if self.takes_over(&kept.link) {
                        return Some(kept);
                    }
                    let mut kept = kept;
                    kept.kill().await;
                }
                Err(refusal) => {
                    tracing::warn!(
                        plugin = self.settings.key,
                        hint = refusal.help,
                        "the plugin cannot be started anew: it {refusal}"
                    );
                }
            }
        }
    }

    /// The waiting calls go to the new process; false when it is not wanted any more.
    fn takes_over(&self, link: &Arc<Link>) -> bool {
        let mut state = self.lock();
        if state.ended {
            return false;
        }
        state.link = Some(Arc::clone(link));
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        for (work, slot) in waiting {
            // Nobody has said yet that it is over: that is said by who reads it, after this.
            link.call(&work, &slot);
        }
        true
    }

    /// Nothing is sent for a while.
    async fn give_up(&self, crashes: u32) {
        let window = self.settings.restart.window;
        let why = format!("it ended {crashes} times in a row; it is started again after {} s", window.as_secs());
        tracing::error!(plugin = self.settings.key, "{why}");
        let waiting = {
            let mut state = self.lock();
            state.down = Some((Instant::now() + window, why.clone()));
            std::mem::take(&mut state.waiting)
        };
        for (_, slot) in waiting {
            slot.fail(self.unavailable(&why));
        }
        self.pause(window).await;
    }

    async fn pause(&self, time: Duration) {
        tokio::select! {
            () = sleep(time) => {}
            () = self.ending.notified() => {}
        }
    }
}
