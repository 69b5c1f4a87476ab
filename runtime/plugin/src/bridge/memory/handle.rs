//! An opened memory: which of the plugin's it is, opened again when the instance that knew it is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roster_abi::contract::{
    Append, CallContext, Closed, Messages, NewThread, Of, Open, Opened, Save, SetWorking, Tail, Threads, UpdateThread,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::sync::Mutex;

use crate::call::{CallError, Payload};
use crate::plugin::{Ask, Plugin};

/// Gives the plugin by its key, whichever stands under it now; `None` when it is not configured any more.
pub type Finder = Arc<dyn Fn() -> Option<Arc<Plugin>> + Send + Sync>;

/// How often a call is made again when the plugin's process died under it, or its instance knows the handle no more.
const AGAIN: u32 = 2;

/// A memory of a plugin, by what opens it.
pub(super) struct Handle {
    /// `plugin:component`, for people.
    pub(super) name: String,
    find: Finder,
    component: String,
    config: Map<String, Value>,
    current: Mutex<Slot>,
    /// Openings that ended, well or not.
    openings: AtomicU64,
}

/// The memory as it is open, or why it is not.
#[derive(Default)]
struct Slot {
    current: Option<Current>,
    /// The newest opening that failed, by its number.
    failed: Option<(u64, CallError)>,
}

/// What the instance at hand calls it.
#[derive(Clone)]
struct Current {
    handle: String,
    plugin: Arc<Plugin>,
    /// Generation and restarts: another pair is another instance, whose handles mean other memories.
    instance: (u64, u64),
}

/// Takes the handle it is to be sent with.
pub(super) trait Named: Serialize + Send + Sync {
    fn name(&mut self, handle: &str);
}

macro_rules! named {
    ($($input:ty)*) => { $(
        impl Named for $input {
            fn name(&mut self, handle: &str) {
                handle.clone_into(&mut self.handle);
            }
        }
    )* };
}

named!(Append Messages NewThread Of Save SetWorking Tail Threads UpdateThread);

impl Handle {
    pub(super) fn new(find: Finder, key: &str, component: &str, config: Map<String, Value>) -> Self {
        let name = format!("{key}:{component}");
        Self {
            name,
            find,
            component: component.to_owned(),
            config,
            current: Mutex::default(),
            openings: AtomicU64::new(0),
        }
    }

    /// The plugin now.
    ///
    /// # Errors
    /// `plugin_unavailable` when it left the configuration.
    pub(super) fn plugin(&self) -> Result<Arc<Plugin>, CallError> {
        (self.find)().ok_or_else(|| {
            let text = format!("the plugin of `{}` is not in config/runtime.toml any more", self.name);
            CallError::host("plugin_unavailable", text, true)
        })
    }

    /// Opens it, unless it is open.
    ///
    /// # Errors
    /// The plugin's own, or the host's.
    pub(super) async fn open(&self) -> Result<(), CallError> {
        self.current().await.map(|_| ())
    }

    async fn current(&self) -> Result<Current, CallError> {
        let plugin = self.plugin()?;
        let ended = self.openings.load(Ordering::SeqCst);
        let mut slot = self.current.lock().await;
        let instance = instance_of(&plugin);
        let serves = |one: &&Current| one.instance == instance && Arc::ptr_eq(&one.plugin, &plugin);
        if let Some(current) = slot.current.as_ref().filter(serves) {
            return Ok(current.clone());
        }
        // Who waited for an opening that failed does not try once more, one after the other.
        if let Some((_, error)) = slot.failed.as_ref().filter(|(number, _)| *number > ended) {
            return Err(error.clone());
        }
        let input = Payload::json(&Open { config: Value::Object(self.config.clone()) });
        let opened = ask::<Opened>(&plugin, &self.component, "open", input).await;
        let number = self.openings.fetch_add(1, Ordering::SeqCst) + 1;
        let Opened { handle } = opened.inspect_err(|error| slot.failed = Some((number, error.clone())))?;
        // The call may have waited for the next instance. A handle of one that is gone already is not known there.
        let instance = instance_of(&plugin);
        Ok(slot.current.insert(Current { handle, plugin, instance }).clone())
    }

    /// Makes a call, again where the instance it was meant for is gone: every method of the contract may be made twice.
    ///
    /// # Errors
    /// The plugin's own, or the host's.
    pub(super) async fn ask<T: DeserializeOwned>(&self, method: &str, input: impl Named) -> Result<T, CallError> {
        self.ask_told(method, input).await.0
    }

    /// The same, and whether it was made again.
    pub(super) async fn ask_told<T: DeserializeOwned>(
        &self,
        method: &str,
        mut input: impl Named,
    ) -> (Result<T, CallError>, bool) {
        let mut left = AGAIN;
        loop {
            let current = match self.current().await {
                Ok(current) => current,
                Err(error) => return (Err(error), left < AGAIN),
            };
            input.name(&current.handle);
            match ask(&current.plugin, &self.component, method, Payload::json(&input)).await {
                Err(error) if left > 0 && is_gone(&error) => {
                    left -= 1;
                    self.forget(&current).await;
                }
                outcome => return (outcome, left < AGAIN),
            }
        }
    }

    /// The instance does not know it any more.
    async fn forget(&self, gone: &Current) {
        let mut slot = self.current.lock().await;
        if slot.current.as_ref().is_some_and(|one| one.handle == gone.handle && one.instance == gone.instance) {
            slot.current = None;
        }
    }
}

fn instance_of(plugin: &Plugin) -> (u64, u64) {
    let generation = plugin.generation().map_or(0, |generation| generation.number);
    (generation, plugin.counters.restarts.load(Ordering::SeqCst))
}

fn is_gone(error: &CallError) -> bool {
    matches!(error.code.as_str(), "no_such_handle" | "plugin_restarted" | "plugin_crashed")
}

async fn ask<T: DeserializeOwned>(
    plugin: &Arc<Plugin>,
    component: &str,
    method: &str,
    input: Payload,
) -> Result<T, CallError> {
    let context = CallContext::default();
    let ask = Ask { component, method, input, context: &context, chunks: false, timeout: None };
    let read = plugin.ask(ask, false).await?.read();
    read.inspect_err(|error| plugin.counters.error(&error.code))
}

impl Drop for Handle {
    /// Nobody has it any more: the plugin is told, if the instance that knows it still serves.
    fn drop(&mut self) {
        let Some(Current { handle, plugin, instance }) = self.current.get_mut().current.take() else { return };
        if instance_of(&plugin) != instance {
            return;
        }
        let component = std::mem::take(&mut self.component);
        let (tasks, runtime) = (plugin.around.tasks.clone(), plugin.around.runtime.clone());
        let close = async move {
            let closed = ask::<Closed>(&plugin, &component, "close", Payload::json(&Opened { handle })).await;
            if let Err(error) = closed {
                tracing::debug!(plugin = plugin.key(), %error, "a memory was not closed");
            }
        };
        tasks.spawn_on(close, &runtime);
    }
}
