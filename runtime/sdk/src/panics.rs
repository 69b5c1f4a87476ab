//! Panics stay inside the plugin: caught at the boundary, with their message and place.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use roster_abi::code::LOG_ERROR;

use crate::error::Error;
use crate::table::Table;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
    static GUARDED: Cell<u32> = const { Cell::new(0) };
}

/// Sets the hook of this library's own `std`, once: the message would else be lost, and it is the plugin's copy that
/// panics. Panics of the plugin's own threads, which no guard sees, go to the host's log as well: to that of every
/// instance, for nobody knows whose thread it was.
pub(crate) fn watch(table: Table) {
    static HOOK: Once = Once::new();
    tables().push(table);
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = describe(info);
            if GUARDED.get() == 0 {
                before(info);
                let all = tables().clone();
                all.iter().for_each(|table| table.log(0, LOG_ERROR, "panic", &text, ""));
            }
            LAST.set(Some(text));
        }));
    });
}

/// An instance is no more: its host is not told any more.
pub(crate) fn leave(table: Table) {
    let mut all = tables();
    if let Some(at) = all.iter().position(|other| *other == table) {
        all.swap_remove(at);
    }
}

/// The hosts of the instances there are.
fn tables() -> MutexGuard<'static, Vec<Table>> {
    static TABLES: Mutex<Vec<Table>> = Mutex::new(Vec::new());
    TABLES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("a panic without a message");
    match info.location() {
        Some(place) => format!("panicked at {}:{}: {message}", place.file(), place.line()),
        None => format!("panicked: {message}"),
    }
}

/// What the last panic of this thread said.
pub(crate) fn last() -> Error {
    let text = LAST.take().unwrap_or_else(|| "panicked".to_owned());
    Error::with(roster_abi::code::E_PANIC, "panic", text)
}

/// Runs `work` as code whose panics somebody reports.
pub(crate) fn marked<T>(work: impl FnOnce() -> T) -> T {
    struct Depth;
    impl Drop for Depth {
        fn drop(&mut self) {
            GUARDED.set(GUARDED.get() - 1);
        }
    }
    GUARDED.set(GUARDED.get() + 1);
    let _depth = Depth;
    work()
}

/// Runs `work`; a panic becomes an error.
pub(crate) fn guard<T>(work: impl FnOnce() -> T) -> Result<T, Error> {
    // A value that a panic left half-changed is the author's: locks are poisoned, cells are not shared.
    catch_unwind(AssertUnwindSafe(|| marked(work))).map_err(|payload| {
        // The payload's own drop may panic; it is given up instead.
        std::mem::forget(payload);
        last()
    })
}
