//! The manifest: fields read from checked slices, versions compared.

use roster_abi::c::{Host, Manifest as Raw, PluginApi};
use roster_abi::code::{
    ABI_MAJOR, ABI_MINOR, MAGIC, MF_BLOCKING, MF_CONCURRENT, MF_CRITICAL, MF_PANIC_ABORT, MF_WANTS_PROCESS,
};

use crate::refusal::{Refusal, RefusalKind};

/// What a library says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Reverse-DNS id: letters, digits, `.`, `_`, `-`.
    pub id: String,
    /// Its version, informative.
    pub version: String,
    /// What it was built with, informative.
    pub toolchain: String,
    /// The minor version of the contract it was built for.
    pub abi_minor: u16,
    flags: u32,
    /// The bytes as they stand in the file, to compare with what is mapped.
    pub(crate) raw: Vec<u8>,
}

/// The manifest's frozen part, the same in every major.
const FROZEN: usize = 32;
/// The least size that holds an id.
const WITH_ID: usize = 96;
/// A table up to `destroy`.
const LEAST_API: u32 = std::mem::offset_of!(PluginApi, cancel) as u32;

impl Manifest {
    /// The one whose bytes these are, as they stand in the file.
    ///
    /// # Errors
    /// As preflight.
    pub(crate) fn of(raw: &[u8]) -> Result<Self, Refusal> {
        check(raw)
    }

    /// Whether `call` may block.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.flags & MF_BLOCKING != 0
    }

    /// Whether several threads may enter `call` at once.
    #[must_use]
    pub fn is_concurrent(&self) -> bool {
        self.flags & MF_CONCURRENT != 0
    }

    /// Whether a panic ends its process.
    #[must_use]
    pub fn panics_abort(&self) -> bool {
        self.flags & MF_PANIC_ABORT != 0
    }

    /// Whether its author asks for a process of its own.
    #[must_use]
    pub fn wants_process(&self) -> bool {
        self.flags & MF_WANTS_PROCESS != 0
    }
}

/// Reads and checks what begins at the exported address.
pub(super) fn check(bytes: &[u8]) -> Result<Manifest, Refusal> {
    let frozen = bytes.get(..FROZEN).ok_or_else(|| not_readable("it ends in its first bytes"))?;
    if number::<8>(frozen, 0) != MAGIC {
        return Err(not_readable("it does not begin with the mark of a plugin"));
    }
    let major = number::<2>(frozen, 16) as u16;
    versions(major, number::<2>(frozen, 18) as u16, number::<2>(frozen, 20) as u16)?;
    if number::<2>(frozen, 22) != u64::from(usize::BITS) {
        return Err(abi(
            format!("was built for {}-bit pointers", number::<2>(frozen, 22)),
            "build it for a 64-bit target",
        ));
    }
    let flags = number::<4>(frozen, 12) as u32;
    let unknown = flags & MF_CRITICAL;
    if unknown != 0 {
        return Err(abi(format!("asks for something this runtime does not know (flags {unknown:#x})"), UPGRADE));
    }
    sizes(number::<4>(frozen, 24) as u32, number::<4>(frozen, 28) as u32)?;
    let size = usize::try_from(number::<4>(frozen, 8)).unwrap_or(usize::MAX);
    if size < WITH_ID {
        return Err(not_readable(&format!("it has {size} bytes, fewer than an id needs")));
    }
    let known = size.min(size_of::<Raw>());
    let raw = bytes.get(..known).ok_or_else(|| not_readable("it ends before its last field"))?;
    let id = text(raw, 32, 64)?;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if id.is_empty() || !id.chars().all(legal) || id.starts_with('.') {
        return Err(not_readable("its id is no reverse-DNS name such as com.example.weather"));
    }
    let (version, toolchain) = (text(raw, 96, 32)?, text(raw, 128, 64)?);
    Ok(Manifest { id, version, toolchain, abi_minor: number::<2>(frozen, 18) as u16, flags, raw: raw.to_vec() })
}

const UPGRADE: &str = "upgrade the runtime, or build the plugin with an older SDK";

fn versions(major: u16, minor: u16, least: u16) -> Result<(), Refusal> {
    if major != ABI_MAJOR {
        let help = if major > ABI_MAJOR { UPGRADE } else { "build the plugin with a newer SDK" };
        let message = format!(
            "was built for version {major}.{minor} of the plugin contract, and this runtime speaks {ABI_MAJOR}.{ABI_MINOR}"
        );
        return Err(abi(message, help));
    }
    if least > ABI_MINOR {
        let message = format!(
            "needs at least version {major}.{least} of the plugin contract, and this runtime speaks {ABI_MAJOR}.{ABI_MINOR}"
        );
        return Err(abi(message, UPGRADE));
    }
    Ok(())
}

fn sizes(api: u32, host: u32) -> Result<(), Refusal> {
    let ours = size_of::<Host>() as u32;
    if host > ours {
        return Err(abi(format!("needs a host table of {host} bytes, and this runtime's has {ours}"), UPGRADE));
    }
    if api < LEAST_API {
        let message = format!("offers a table of {api} bytes, and the mandatory functions take {LEAST_API}");
        return Err(abi(message, "build it with a complete table"));
    }
    Ok(())
}

/// A little- or big-endian number, as this machine has them; the slice was checked to hold it.
fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut wide = [0; 8];
    for (to, from) in wide.iter_mut().zip(bytes.iter().skip(at).take(N)) {
        *to = *from;
    }
    // Only little-endian machines pass the check of the processor.
    u64::from_le_bytes(wide)
}

/// A zero-padded text; a field beyond the end is empty.
fn text(raw: &[u8], at: usize, length: usize) -> Result<String, Refusal> {
    let field = raw.get(at..raw.len().min(at + length)).unwrap_or_default();
    let text = field.split(|byte| *byte == 0).next().unwrap_or_default();
    let text = std::str::from_utf8(text).map_err(|_| not_readable("a text in it is not UTF-8"))?;
    if text.chars().any(char::is_control) {
        return Err(not_readable("a text in it holds control characters"));
    }
    Ok(text.to_owned())
}

fn abi(message: impl Into<String>, help: &str) -> Refusal {
    Refusal::new(RefusalKind::Abi, message, help)
}

fn not_readable(what: &str) -> Refusal {
    let message = format!("has a manifest that cannot be read: {what}");
    Refusal::new(RefusalKind::NotAPlugin, message, "build it with roster-sdk, or after the C template")
}
