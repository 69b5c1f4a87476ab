//! The C functions of a plugin, over any [`Plugin`]. Every one is guarded: no panic leaves the library. One of the
//! places with `unsafe`.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use roster_abi::c::{Call, Host as CHost, Out, Payload, PluginApi, Slice};
use roster_abi::code;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::host::{Host, Shared};
use crate::panics::{self, guard};
use crate::plugin::Plugin;
use crate::registry::{Invocation, Registry};
use crate::responder::Responder;
use crate::table::Table;

/// What `create` makes and the host holds as an opaque pointer.
struct Instance<P> {
    plugin: Arc<P>,
    registry: Registry<P>,
    shared: Arc<Shared>,
    #[cfg(feature = "tokio")]
    tasks: Arc<crate::component::Tasks>,
}

struct Api<P>(std::marker::PhantomData<P>);

impl<P: Plugin> Api<P> {
    const TABLE: &'static PluginApi = &PluginApi {
        struct_size: size_of::<PluginApi>() as u32,
        reserved: 0,
        create: Some(create::<P>),
        describe: Some(describe::<P>),
        call: Some(call::<P>),
        destroy: Some(destroy::<P>),
        cancel: Some(cancel::<P>),
        writable: Some(writable::<P>),
        reply: Some(reply::<P>),
        quiesce: Some(quiesce::<P>),
        health: Some(health::<P>),
    };
}

/// What `arp_plugin_entry_v1` gives.
#[must_use]
pub fn entry<P: Plugin>(_host: *const CHost) -> *const PluginApi {
    Api::<P>::TABLE
}

/// The manifest's flags from what was written in `export_plugin!`.
///
/// # Panics
/// While compiling, for an unknown word.
#[must_use]
pub const fn flags(words: &[(&str, bool)]) -> u32 {
    let (mut blocking, mut concurrent, mut process) = (false, true, false);
    let mut at = 0;
    while at < words.len() {
        let (word, value) = words[at];
        match word.as_bytes() {
            b"blocking" => blocking = value,
            b"concurrent" => concurrent = value,
            b"process" => process = value,
            _ => panic!("export_plugin! knows `blocking`, `concurrent` and `process`"),
        }
        at += 1;
    }
    let mut flags = if cfg!(panic = "abort") { code::MF_PANIC_ABORT } else { 0 };
    if blocking {
        flags |= code::MF_BLOCKING;
    }
    if concurrent {
        flags |= code::MF_CONCURRENT;
    }
    if process {
        flags |= code::MF_WANTS_PROCESS;
    }
    flags
}

/// What built this library, for people.
#[must_use]
pub const fn toolchain() -> &'static str {
    concat!("roster-sdk ", env!("CARGO_PKG_VERSION"), ", rust >= ", env!("CARGO_PKG_RUST_VERSION"))
}

/// Writes a value (`OUT_VALUE`) or a failure (`OUT_ERROR`), and gives the status.
///
/// # Safety
/// `out` is NULL or points to an `Out` whose function may be called.
unsafe fn written(out: *const Out, result: Result<Vec<u8>>) -> i32 {
    let (status, kind, bytes) = match result {
        Ok(bytes) => (code::OK, code::OUT_VALUE, bytes),
        Err(error) => (error.status(), code::OUT_ERROR, serde_json::to_vec(error.fault()).unwrap_or_default()),
    };
    if !out.is_null() && !bytes.is_empty() {
        // SAFETY: the caller's promise; the bytes live until the function returns.
        unsafe { ((*out).write)((*out).ctx, kind, Slice::of(&bytes)) };
    }
    status
}

fn make<P: Plugin>(table: Table, config: &[u8]) -> Result<Arc<Instance<P>>> {
    let config = if config.is_empty() { b"{}" } else { config };
    let config = serde_json::from_slice(config)
        .map_err(|error| Error::invalid(format!("the configuration does not fit: {error}")))?;
    let registry = Registry::of_plugin();
    let shared = Arc::new(Shared::new(table));
    let plugin = Arc::new(P::create(Host::new(Arc::clone(&shared), 0), config)?);
    let instance = Instance {
        plugin,
        registry,
        shared,
        #[cfg(feature = "tokio")]
        tasks: Arc::default(),
    };
    Ok(Arc::new(instance))
}

unsafe extern "C" fn create<P: Plugin>(
    host: *const CHost,
    config: Slice,
    out: *const Out,
    instance: *mut *mut c_void,
) -> i32 {
    // SAFETY: the host's table lives for ever; a NULL one is refused.
    let Some(table) = (unsafe { Table::new(host) }) else { return code::E_INVALID };
    panics::watch(table);
    #[cfg(feature = "log")]
    crate::logger::install(table);
    // SAFETY: the slice lives until this function returns.
    let config = unsafe { config.bytes() };
    match guard(|| make::<P>(table, config)).and_then(|made| made) {
        Ok(made) => {
            made.shared.serve();
            // SAFETY: the host gives a place for one pointer.
            unsafe { instance.write(Arc::into_raw(made).cast_mut().cast()) };
            code::OK
        }
        Err(error) => {
            panics::leave(table);
            // SAFETY: the host's `out` lives until this function returns.
            unsafe { written(out, Err(error)) }
        }
    }
}

/// The instance behind the pointer.
///
/// # Safety
/// `instance` came from `create::<P>` and was not destroyed yet, and is not within `'a`.
unsafe fn of<'a, P>(instance: *mut c_void) -> Option<&'a Instance<P>> {
    // SAFETY: the caller's promise; NULL gives `None`.
    unsafe { instance.cast::<Instance<P>>().as_ref() }
}

unsafe extern "C" fn describe<P: Plugin>(instance: *mut c_void, out: *const Out) -> i32 {
    // SAFETY: NULL, or an instance of ours that lives.
    let instance = unsafe { of::<P>(instance) };
    let description = guard(|| match instance {
        Some(instance) => instance.registry.description(),
        None => Registry::<P>::of_plugin().description(),
    });
    let json = description.and_then(|description| Ok(serde_json::to_vec(&description?)?));
    // SAFETY: the host's `out` lives until this function returns.
    unsafe { written(out, json) }
}

unsafe extern "C" fn call<P: Plugin>(instance: *mut c_void, call: *const Call) -> i32 {
    // SAFETY: an instance of ours that lives, and a call that lives until this function returns.
    let (Some(instance), false) = (unsafe { of::<P>(instance) }, call.is_null()) else { return code::E_INVALID };
    // SAFETY: the size is the first field of every version.
    if (unsafe { (*call).struct_size } as usize) < size_of::<Call>() {
        return code::E_INVALID;
    }
    // SAFETY: the call is as long as this struct.
    let call = unsafe { &*call };
    let responder = Responder::new(instance.shared.table, call.id);
    // From here on the call is accepted: whatever happens, the responder completes it.
    // SAFETY: the call lives until this function returns.
    let _ = guard(move || unsafe { accepted(instance, call, responder) });
    code::OK
}

/// Copies what a call carries and hands it to its component.
///
/// # Safety
/// The slices of `call` are readable until this function returns.
unsafe fn accepted<P: Plugin>(instance: &Instance<P>, call: &Call, responder: Responder) {
    // SAFETY: the caller's promise, for all four.
    let [component, method, input, context] =
        unsafe { [call.component, call.method, call.input.data, call.context].map(|slice| slice.bytes()) };
    let handler = match instance.registry.handler(&String::from_utf8_lossy(component)) {
        Ok(handler) => handler,
        Err(error) => return responder.fail(&error),
    };
    let host = Host::new(Arc::clone(&instance.shared), call.id);
    handler(Invocation {
        plugin: Arc::clone(&instance.plugin),
        method: String::from_utf8_lossy(method).into_owned(),
        encoding: call.input.encoding,
        input: input.to_vec(),
        cx: Context::new(host, call.id, call.flags, call.deadline_ms, context.to_vec()),
        responder,
        #[cfg(feature = "tokio")]
        tasks: Arc::clone(&instance.tasks),
    });
}

unsafe extern "C" fn destroy<P: Plugin>(instance: *mut c_void) {
    if !instance.is_null() {
        // SAFETY: the pointer `create` gave, handed back once; no other function of the instance runs.
        let instance = unsafe { Arc::from_raw(instance.cast::<Instance<P>>().cast_const()) };
        let table = instance.shared.table;
        let _ = guard(move || drop(instance));
        panics::leave(table);
    }
}

unsafe extern "C" fn cancel<P: Plugin>(instance: *mut c_void, call: u64, _reason: u32) {
    // SAFETY: an instance of ours that lives.
    if let Some(instance) = unsafe { of::<P>(instance) } {
        let _ = guard(|| {
            instance.shared.stir(call);
            #[cfg(feature = "tokio")]
            instance.tasks.abort(call);
        });
    }
}

unsafe extern "C" fn writable<P: Plugin>(instance: *mut c_void, call: u64) {
    // SAFETY: an instance of ours that lives.
    if let Some(instance) = unsafe { of::<P>(instance) } {
        let _ = guard(|| instance.shared.stir(call));
    }
}

unsafe extern "C" fn reply<P: Plugin>(instance: *mut c_void, req: u64, status: i32, payload: *const Payload) {
    // SAFETY: an instance of ours that lives; a payload that is NULL or lives until this function returns.
    let (instance, payload) = unsafe { (of::<P>(instance), payload.as_ref()) };
    if let Some(instance) = instance {
        // SAFETY: as above.
        let bytes = payload.map_or(&[][..], |payload| unsafe { payload.data.bytes() });
        let _ = guard(|| instance.shared.arrive(req, (status, bytes.to_vec())));
    }
}

unsafe extern "C" fn quiesce<P: Plugin>(instance: *mut c_void, timeout_ms: u32) -> i32 {
    // SAFETY: an instance of ours that lives.
    let Some(instance) = (unsafe { of::<P>(instance) }) else { return code::E_INVALID };
    let limit = Duration::from_millis(timeout_ms.into());
    let done = guard(|| {
        #[cfg(feature = "tokio")]
        instance.tasks.end(limit);
        instance.plugin.quiesce(limit);
    });
    done.map_or_else(|error| error.status(), |()| code::OK)
}

unsafe extern "C" fn health<P: Plugin>(instance: *mut c_void, out: *const Out) -> i32 {
    // SAFETY: an instance of ours that lives.
    let Some(instance) = (unsafe { of::<P>(instance) }) else { return code::E_INVALID };
    let health = guard(|| instance.plugin.health()).and_then(|health| health);
    // SAFETY: the host's `out` lives until this function returns.
    unsafe { written(out, health.map(|()| Vec::new())) }
}
