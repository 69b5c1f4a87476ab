//! The plugin's own runtime. A handle to the host's cannot cross: each library has its own copy of tokio.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use crate::panics;

/// Tasks under way, by call. The runtime starts with the first one.
#[derive(Default)]
pub(crate) struct Tasks {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    runtime: Option<Runtime>,
    running: HashMap<u64, AbortHandle>,
    ended: bool,
}

impl Tasks {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` for a call. When no runtime can be had, or it was shut down, `work` is dropped, and with it the duty
    /// to answer.
    pub(crate) fn spawn(self: &Arc<Self>, call: u64, work: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.state();
        if state.ended {
            return;
        }
        if state.runtime.is_none() {
            let built = Builder::new_multi_thread().worker_threads(1).thread_name("plugin-tasks").enable_all().build();
            state.runtime = built.ok();
        }
        let Some(runtime) = &state.runtime else { return };
        let tasks = Arc::downgrade(self);
        let handle = runtime.spawn(async move {
            let mut work = pin!(work);
            poll_fn(|cx| panics::marked(|| work.as_mut().poll(cx))).await;
            if let Some(tasks) = tasks.upgrade() {
                tasks.state().running.remove(&call);
            }
        });
        state.running.retain(|_, task| !task.is_finished());
        state.running.insert(call, handle.abort_handle());
    }

    /// Drops the task of a call where it waits.
    pub(crate) fn abort(&self, call: u64) {
        let task = self.state().running.remove(&call);
        if let Some(task) = task {
            task.abort();
        }
    }

    /// Joins the runtime's threads; what still runs is dropped.
    pub(crate) fn end(&self, limit: Duration) {
        let mut state = self.state();
        state.ended = true;
        state.running.clear();
        let runtime = state.runtime.take();
        drop(state);
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(limit);
        }
    }
}
