//! The form of the file: kind, processor, completeness, exported names.

use object::read::{ExportTarget, NameOrOrdinal, Object, ObjectSection, ObjectSegment};
use object::{Architecture, FileKind, ObjectKind};
use roster_abi::c::{ENTRY_SYMBOL, MANIFEST_SYMBOL};

use crate::refusal::{Refusal, RefusalKind};

/// What a plugin's file is called here, and the processor it is to be built for.
const KIND: &str = if cfg!(target_os = "macos") {
    "Mach-O"
} else if cfg!(windows) {
    "PE"
} else {
    "ELF"
};
const REBUILD: &str = "build it for this machine, or copy it whole from where it was built";
const COPY: &str = "copy the file again, under another name first, and rename it";

/// The manifest's bytes as they stand in the file.
pub(super) fn read(bytes: &[u8]) -> Result<&[u8], Refusal> {
    kind(bytes)?;
    let file = object::File::parse(bytes).map_err(|error| damaged(&format!("its headers cannot be read ({error})")))?;
    let machine = file.architecture();
    if machine != here() {
        let message = format!("is built for {}, and this machine is {}", name(machine), name(here()));
        return Err(Refusal::new(RefusalKind::Platform, message, REBUILD));
    }
    if file.kind() != ObjectKind::Dynamic {
        let message = format!("is no dynamic library but {}", what(file.kind()));
        return Err(Refusal::new(
            RefusalKind::NotAPlugin,
            message,
            "a plugin is a crate with crate-type = [\"cdylib\"]",
        ));
    }
    complete(&file, bytes.len() as u64)?;
    let manifest = exported(&file, MANIFEST_SYMBOL)?;
    let Some(manifest) = manifest else { return Err(no_symbol(MANIFEST_SYMBOL)) };
    if exported(&file, ENTRY_SYMBOL)?.is_none() {
        return Err(no_symbol(ENTRY_SYMBOL));
    }
    file.segments()
        .find_map(|segment| {
            let offset = manifest.checked_sub(segment.address())?;
            let data = segment.data().ok()?;
            data.get(usize::try_from(offset).ok()?..).filter(|rest| !rest.is_empty())
        })
        .ok_or_else(|| damaged(&format!("`{MANIFEST_SYMBOL}` points outside of it")))
}

fn kind(bytes: &[u8]) -> Result<(), Refusal> {
    let not = |what: &str| {
        let help = format!("a plugin for this machine is a 64-bit {KIND} library");
        Refusal::new(RefusalKind::NotAPlugin, format!("is {what}"), help)
    };
    if bytes.is_empty() {
        return Err(damaged("it is empty"));
    }
    let kind = match FileKind::parse(bytes) {
        Ok(kind) => kind,
        Err(_) if std::str::from_utf8(bytes.get(..256).unwrap_or(bytes)).is_ok() => return Err(not("a text")),
        Err(_) => return Err(not("no library")),
    };
    let right = match kind {
        FileKind::Elf64 => KIND == "ELF",
        FileKind::MachO64 => KIND == "Mach-O",
        FileKind::Pe64 => KIND == "PE",
        FileKind::Elf32 | FileKind::MachO32 | FileKind::Pe32 => return Err(not("a 32-bit file")),
        FileKind::MachOFat32 | FileKind::MachOFat64 => return Err(not("a library for several processors")),
        _ => return Err(not("no dynamic library")),
    };
    if right {
        return Ok(());
    }
    let message = format!("is a library of another system, and this one takes {KIND}");
    Err(Refusal::new(RefusalKind::Platform, message, REBUILD))
}

/// Whether everything the headers speak of is inside the file.
fn complete(file: &object::File<'_>, length: u64) -> Result<(), Refusal> {
    let inside = |(offset, size): (u64, u64)| offset.checked_add(size).is_some_and(|end| end <= length);
    let segments = file.segments().map(|segment| segment.file_range());
    let sections = file.sections().filter_map(|section| section.file_range());
    if segments.chain(sections).all(inside) {
        return Ok(());
    }
    Err(damaged("it is cut short: its headers speak of more bytes than there are"))
}

/// The address of an exported name.
fn exported(file: &object::File<'_>, name: &str) -> Result<Option<u64>, Refusal> {
    let unreadable = |error: object::Error| damaged(&format!("its exported names cannot be read ({error})"));
    let plain = |found: &[u8]| found == name.as_bytes();
    // Mach-O puts an underscore before every C name.
    let is = |found: &[u8]| plain(found) || KIND == "Mach-O" && found.strip_prefix(b"_").is_some_and(plain);
    for export in file.exports().map_err(unreadable)? {
        let export = export.map_err(unreadable)?;
        if let (NameOrOrdinal::Name(found), ExportTarget::Address { address }) = (export.name(), export.target())
            && is(found)
        {
            return Ok(Some(address));
        }
    }
    Ok(None)
}

fn no_symbol(name: &str) -> Refusal {
    let message = format!("is a library, but no plugin: it does not export `{name}`");
    Refusal::new(
        RefusalKind::NotAPlugin,
        message,
        "a plugin ends with `export_plugin!` of roster-sdk, or the C header's macro",
    )
}

fn damaged(what: &str) -> Refusal {
    Refusal::new(RefusalKind::Damaged, format!("is damaged: {what}"), COPY)
}

fn what(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Executable => "a program",
        ObjectKind::Relocatable => "an object file that was not linked",
        ObjectKind::Core => "a core dump",
        _ => "something else",
    }
}

fn here() -> Architecture {
    if cfg!(target_arch = "aarch64") {
        Architecture::Aarch64
    } else if cfg!(target_arch = "riscv64") {
        Architecture::Riscv64
    } else {
        Architecture::X86_64
    }
}

fn name(machine: Architecture) -> String {
    match machine {
        Architecture::X86_64 => "x86_64".to_owned(),
        Architecture::Aarch64 => "aarch64".to_owned(),
        Architecture::Unknown => "an unknown processor".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}
