//! Runs a plugin inside `cargo test`, without a host and without a library file: through the very C functions the
//! runtime calls, against a small host of its own.
//!
//! ```ignore
//! let harness = Harness::<Weather>::new(json!({ "units": "metric" }))?;
//! let answer = harness.tool("get_forecast", json!({ "city": "Rome" }))?;
//! ```

mod fake;

use std::ffi::c_void;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use roster_abi::c::{Call, Out, Payload, PluginApi, Slice};
use roster_abi::code;
use roster_abi::contract::{Description, Progress};
use serde_json::Value;

use crate::boundary::entry;
use crate::error::{Error, Result};
use crate::plugin::Plugin;
use fake::FakeHost;

/// How long the harness waits for an answer before it says that none came.
const PATIENCE: Duration = Duration::from_secs(30);

/// One instance of a plugin with its host.
pub struct Harness<P: Plugin> {
    instance: Arc<Instance>,
    plugin: PhantomData<fn() -> P>,
}

/// An instance as a host holds it. Quiesced and destroyed when the last user lets go.
struct Instance {
    api: &'static PluginApi,
    pointer: *mut c_void,
    host: &'static FakeHost,
}

// SAFETY: the contract lets the host call an instance from any thread; the harness keeps the rules of `destroy`.
unsafe impl Send for Instance {}
// SAFETY: as above; the plugin says itself that it may be entered by several threads.
unsafe impl Sync for Instance {}

/// A line the plugin logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `LOG_*`.
    pub level: u32,
    /// The message.
    pub message: String,
}

/// A call under way.
pub struct Started {
    instance: Arc<Instance>,
    call: u64,
}

/// A call's end, and what came before it.
#[derive(Debug)]
pub struct Answer {
    /// The value, or the failure.
    pub result: Result<Value>,
    /// Encoding and bytes of a good answer.
    pub bytes: (u32, Vec<u8>),
    /// What was told on the way.
    pub progress: Vec<Progress>,
    /// The pieces not yet taken by [`Started::next_chunk`].
    pub chunks: Vec<Value>,
}

fn api<P: Plugin>() -> Result<&'static PluginApi> {
    // SAFETY: the entry gives NULL or a table that lives for ever.
    let api = unsafe { entry::<P>(std::ptr::null()).as_ref() };
    api.ok_or_else(|| Error::new("no_table", "the entry function gave no table"))
}

fn missing(name: &str) -> Error {
    Error::new("no_function", format!("the plugin's table has no `{name}`"))
}

impl<P: Plugin> Harness<P> {
    /// Makes an instance.
    ///
    /// # Errors
    /// What `create` fails with.
    pub fn new(config: impl Into<Value>) -> Result<Self> {
        let (api, host) = (api::<P>()?, FakeHost::leaked());
        let config = config.into().to_string();
        let mut pointer = std::ptr::null_mut();
        let create = api.create.ok_or_else(|| missing("create"))?;
        fake::answered(|out| {
            // SAFETY: the table lives for ever, the rest until the function returns.
            unsafe { create(host.table(), Slice::of(config.as_bytes()), out, &raw mut pointer) }
        })?;
        let instance = Arc::new(Instance { api, pointer, host });
        host.bind(&instance);
        Ok(Self { instance, plugin: PhantomData })
    }

    /// What the plugin says of itself, without an instance.
    ///
    /// # Errors
    /// Components that cannot be told apart, or a panic in `register`.
    pub fn describe() -> Result<Description> {
        let describe = api::<P>()?.describe.ok_or_else(|| missing("describe"))?;
        // SAFETY: no instance is asked for; `out` lives until the function returns.
        let json = fake::answered(|out| unsafe { describe(std::ptr::null_mut(), out) })?;
        Ok(serde_json::from_slice(&json)?)
    }

    /// Answers a host service from now on; a service without an answer is denied.
    pub fn service(&self, name: &str, answer: impl Fn(Value) -> Result<Value> + Send + Sync + 'static) {
        self.instance.host.serve(name, Arc::new(answer));
    }

    /// Room for so many chunks per call; without this there is no bound.
    pub fn room(&self, chunks: usize) {
        self.instance.host.narrow(chunks);
    }

    /// Calls a tool and waits.
    ///
    /// # Errors
    /// What the tool fails with.
    pub fn tool(&self, id: &str, arguments: impl Into<Value>) -> Result<Value> {
        self.call(id, "invoke", arguments)
    }

    /// Calls a method and waits.
    ///
    /// # Errors
    /// What it fails with.
    pub fn call(&self, component: &str, method: &str, input: impl Into<Value>) -> Result<Value> {
        self.start(component, method, input).answer().result
    }

    /// Starts a call on a thread of its own.
    pub fn start(&self, component: &str, method: &str, input: impl Into<Value>) -> Started {
        let call = self.instance.host.open_call();
        let instance = Arc::clone(&self.instance);
        let (component, method, input) = (component.to_owned(), method.to_owned(), input.into().to_string());
        std::thread::spawn(move || instance.call(call, &component, &method, &input));
        Started { instance: Arc::clone(&self.instance), call }
    }

    /// What the plugin logged so far.
    #[must_use]
    pub fn log(&self) -> Vec<Line> {
        self.instance.host.lines()
    }

    /// Completions that belonged to no call, or to one that was done.
    #[must_use]
    pub fn stray_completions(&self) -> u64 {
        self.instance.host.strays()
    }

    /// Asks for health.
    ///
    /// # Errors
    /// Why the plugin is not well.
    pub fn health(&self) -> Result<()> {
        let Some(health) = self.instance.api.health else { return Ok(()) };
        // SAFETY: the instance lives; `out` lives until the function returns.
        fake::answered(|out: *const Out| unsafe { health(self.instance.pointer, out) }).map(|_| ())
    }
}

impl Instance {
    fn call(&self, id: u64, component: &str, method: &str, input: &str) {
        let Some(function) = self.api.call else { return };
        let call = Call {
            struct_size: size_of::<Call>() as u32,
            flags: code::CALL_WANTS_CHUNKS,
            id,
            deadline_ms: 0,
            component: Slice::of(component.as_bytes()),
            method: Slice::of(method.as_bytes()),
            input: Payload::of(code::ENC_JSON, input.as_bytes()),
            context: Slice::of(br#"{"run":"test","resource":"tester","thread":"t"}"#),
        };
        // SAFETY: the instance lives, and the call until the function returns.
        let status = unsafe { function(self.pointer, &raw const call) };
        if status != code::OK {
            let error = Error::with(status, "refused", format!("the call was refused ({status})"));
            self.host.end(id, status, code::ENC_JSON, serde_json::to_vec(error.fault()).unwrap_or_default());
        }
    }
}

impl Instance {
    fn reply(&self, req: u64, status: i32, json: &[u8]) {
        let payload = Payload::of(code::ENC_JSON, json);
        if let Some(reply) = self.api.reply {
            // SAFETY: the instance lives, and the payload until the function returns.
            unsafe { reply(self.pointer, req, status, &raw const payload) };
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the last user; no call is in a function of the plugin any more.
        unsafe {
            if let Some(quiesce) = self.api.quiesce {
                quiesce(self.pointer, 1000);
            }
            if let Some(destroy) = self.api.destroy {
                destroy(self.pointer);
            }
        }
    }
}

impl Started {
    /// Waits for the end.
    #[must_use]
    pub fn answer(self) -> Answer {
        self.instance.host.wait(self.call, PATIENCE)
    }

    /// Waits for the next piece and takes it, which makes room; `None` when the call ended without one.
    #[must_use]
    pub fn next_chunk(&self) -> Option<Value> {
        let (chunk, made_room) = self.instance.host.next_chunk(self.call, PATIENCE)?;
        if let (true, Some(writable)) = (made_room, self.instance.api.writable) {
            // SAFETY: the instance lives.
            unsafe { writable(self.instance.pointer, self.call) };
        }
        Some(chunk)
    }

    /// Waits until the plugin told progress.
    pub fn wait_for_progress(&self) {
        self.instance.host.wait_for_progress(self.call, PATIENCE);
    }

    /// Says that nobody waits any more.
    pub fn cancel(&self) {
        self.instance.host.cancel(self.call, code::CANCEL_CALLER);
        if let Some(cancel) = self.instance.api.cancel {
            // SAFETY: the instance lives.
            unsafe { cancel(self.instance.pointer, self.call, code::CANCEL_CALLER) };
        }
    }
}
