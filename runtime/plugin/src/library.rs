//! Opening a library, once and for ever: nothing is ever unloaded, since code and thread-local data of a plugin may be in
//! use long after its last call.
#![expect(unsafe_code, reason = "dlopen, and the table that the library hands out")]

use std::path::Path;
use std::ptr;

use roster_abi::c::{ENTRY_SYMBOL, Entry, Host, MANIFEST_SYMBOL, PluginApi};

use crate::preflight::Manifest;
use crate::refusal::{Refusal, RefusalKind};

/// A library that is mapped until the process ends.
pub(crate) struct Library {
    entry: Entry,
}

impl Library {
    /// Opens a staged copy. All its symbols are bound now, so that a missing one is an error here and not in the middle
    /// of a call, and stay its own.
    pub(crate) fn open(path: &Path, manifest: &Manifest) -> Result<Self, Refusal> {
        // SAFETY: loading runs the library's initialisers. That is what an operator asks for who names it in the
        // configuration; it was checked to be whole and built for this machine and contract.
        let library = unsafe { open(path) }.map_err(|error| {
            let told = told(&error, path);
            let help = match told.contains("map segment") {
                true => {
                    "raise `limits.memory` of this plugin; or the folder for copies (`cache_dir`) is mounted noexec"
                }
                false => "build it on this system or an older one, and install the libraries it needs",
            };
            Refusal::new(RefusalKind::Open, format!("cannot be opened: {told}"), help)
        })?;
        // SAFETY: only the address is taken; it is read below, within the size that preflight found in the file.
        let mapped = unsafe { library.get::<*const u8>(MANIFEST_SYMBOL) }.ok().map(|found| found.as_raw_ptr());
        // SAFETY: the contract gives the symbol this type; preflight saw it exported.
        let entry = unsafe { library.get::<Entry>(ENTRY_SYMBOL) }.map(|found| *found);
        let (Some(mapped), Ok(entry)) = (mapped, entry) else {
            return Err(changed());
        };
        // SAFETY: preflight read as many bytes at the same symbol of the same file, which is mapped as it was staged.
        let bytes = unsafe { std::slice::from_raw_parts(mapped.cast::<u8>(), manifest.raw.len()) };
        if bytes != manifest.raw {
            return Err(changed());
        }
        Ok(Self { entry })
    }

    /// The library's table, as far as it goes; what is missing is `None`.
    pub(crate) fn api(&self, host: &'static Host) -> Result<PluginApi, Refusal> {
        let broken = |what: &str| {
            let message = format!("gives a table that cannot be used: {what}");
            Refusal::new(RefusalKind::Abi, message, "build it with roster-sdk, or after the C template")
        };
        // SAFETY: the contract's entry function does no work; `host` lives for ever.
        let table = unsafe { (self.entry)(ptr::from_ref(host)) };
        if table.is_null() {
            return Err(broken("there is none for this version of the contract"));
        }
        if !table.is_aligned() {
            return Err(broken("it is not aligned"));
        }
        // SAFETY: a table begins with its size; the pointer is aligned and the plugin's promise is that it is static.
        let size = unsafe { ptr::read(table.cast::<u32>()) } as usize;
        let mut api = PluginApi {
            struct_size: 0,
            reserved: 0,
            create: None,
            describe: None,
            call: None,
            destroy: None,
            cancel: None,
            writable: None,
            reply: None,
            quiesce: None,
            health: None,
        };
        let known = size.min(size_of::<PluginApi>());
        // SAFETY: `known` bytes are inside both tables; every bit pattern of an optional function is allowed that the
        // plugin's own table holds.
        unsafe { ptr::copy_nonoverlapping(table.cast::<u8>(), ptr::from_mut(&mut api).cast::<u8>(), known) };
        let mandatory = api.create.is_some() && api.describe.is_some() && api.call.is_some() && api.destroy.is_some();
        if !mandatory {
            return Err(broken("`create`, `describe`, `call` or `destroy` is missing"));
        }
        Ok(api)
    }
}

/// The loader's words without our path before them.
fn told(error: &libloading::Error, path: &Path) -> String {
    let mut text = error.to_string();
    if let Some(source) = std::error::Error::source(error) {
        text = source.to_string();
    }
    text.replace(&format!("{}: ", path.display()), "")
}

fn changed() -> Refusal {
    let message = "is not what was checked: the mapped manifest differs from the file's";
    Refusal::new(RefusalKind::Damaged, message, "load it again")
}

/// # Safety
/// As for `dlopen`: initialisers run.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "the one place where a library is opened")]
unsafe fn open(path: &Path) -> Result<std::mem::ManuallyDrop<libloading::os::unix::Library>, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
    #[cfg(target_os = "macos")]
    const NODELETE: i32 = 0x80;
    #[cfg(not(target_os = "macos"))]
    const NODELETE: i32 = 0x1000;
    // SAFETY: the caller's.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | NODELETE) }.map(std::mem::ManuallyDrop::new)
}

/// # Safety
/// As for `LoadLibrary`: initialisers run.
#[cfg(windows)]
#[expect(clippy::disallowed_methods, reason = "the one place where a library is opened")]
unsafe fn open(path: &Path) -> Result<std::mem::ManuallyDrop<libloading::os::windows::Library>, libloading::Error> {
    use libloading::os::windows::Library;
    // SAFETY: the caller's.
    let library = unsafe { Library::new(path) }?;
    library.pin()?;
    Ok(std::mem::ManuallyDrop::new(library))
}
