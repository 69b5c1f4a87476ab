//! Threads for the calls of one plugin, made when they are needed, never shared with anybody.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The stack of a thread, as the contract says.
const STACK: usize = 2 * 1024 * 1024;

type Job = Box<dyn FnOnce() + Send>;

/// The threads and what waits for them.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    name: String,
}

struct Shared {
    state: Mutex<State>,
    filled: Condvar,
}

struct State {
    jobs: VecDeque<(u64, Job)>,
    /// The calls that hold a thread now.
    running: Vec<u64>,
    threads: usize,
    idle: usize,
    most: usize,
    closed: bool,
}

/// No thread could be had.
pub(crate) struct NoThread {
    pub(crate) call: u64,
    pub(crate) message: String,
}

impl Pool {
    pub(crate) fn new(name: &str, most: usize) -> Self {
        let state =
            State { jobs: VecDeque::new(), running: Vec::new(), threads: 0, idle: 0, most: most.max(1), closed: false };
        let shared = Shared { state: Mutex::new(state), filled: Condvar::new() };
        // Linux shows 15 letters of it.
        Self { shared: Arc::new(shared), name: name.to_owned() }
    }

    /// Runs a job when a thread is free.
    pub(crate) fn run(&self, call: u64, job: impl FnOnce() + Send + 'static) -> Result<(), NoThread> {
        let mut state = self.shared.lock();
        if state.closed {
            return Err(NoThread { call, message: "the plugin is being stopped".to_owned() });
        }
        state.jobs.push_back((call, Box::new(job)));
        let wanted = state.jobs.len() > state.idle && state.threads < state.most;
        if wanted {
            state.threads += 1;
        }
        let alone = state.threads == 1 && wanted;
        drop(state);
        self.shared.filled.notify_one();
        if !wanted {
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let made = thread::Builder::new().name(self.name.clone()).stack_size(STACK).spawn(move || shared.work());
        let Err(error) = made else { return Ok(()) };
        let mut state = self.shared.lock();
        state.threads -= 1;
        // The threads there are will get to it.
        if !alone {
            return Ok(());
        }
        state.jobs.retain(|(waiting, _)| *waiting != call);
        Err(NoThread { call, message: format!("no thread: {error}") })
    }

    /// Gives up on the thread of a call: it ends when it comes back, and another may be made.
    pub(crate) fn write_off(&self, call: u64) {
        let mut state = self.shared.lock();
        if state.running.contains(&call) {
            state.most += 1;
        }
    }

    /// No more jobs; threads end when they are free.
    pub(crate) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.filled.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Shared {
    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some((call, job)) = state.jobs.pop_front() {
                state.running.push(call);
                drop(state);
                job();
                state = self.lock();
                state.running.retain(|running| *running != call);
            } else if state.closed {
                state.threads -= 1;
                return;
            } else {
                state.idle += 1;
                state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
