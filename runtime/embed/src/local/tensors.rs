//! A file of named tensors, in the form of safetensors: the length of a JSON header in 8 bytes, the header with type,
//! shape and place of each tensor, then the numbers, little endian.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::{Deserialize, Serialize};

/// Longest header that is read; ours have 5 KB.
const MAX_HEADER: u64 = 1 << 20;
/// The header's length is a multiple of it, so that the numbers are aligned in the file.
const ALIGNMENT: usize = 8;
/// Bytes read at a time while numbers are decoded.
const BLOCK: usize = 64 * 1024;

/// Types that are used here; the format has more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Type {
    /// A byte.
    U8,
    /// A float of 32 bits.
    F32,
}

impl Type {
    fn bytes(self) -> u64 {
        match self {
            Self::U8 => 1,
            Self::F32 => 4,
        }
    }
}

/// Where a tensor stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tensor {
    pub(super) dtype: Type,
    pub(super) shape: Vec<u64>,
    /// First byte and the one after the last, counted from the end of the header.
    pub(super) data_offsets: (u64, u64),
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    #[serde(rename = "__metadata__", default)]
    metadata: BTreeMap<String, String>,
    #[serde(flatten)]
    tensors: BTreeMap<String, Tensor>,
}

/// Why tensors cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum TensorError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("its header cannot be read: {0}")]
    Header(String),
    #[error("`{0}` is not in it")]
    Missing(String),
    #[error("`{name}` is {found} instead of {expected}")]
    Shape { name: String, found: String, expected: String },
}

/// An open file of tensors.
pub(super) struct TensorFile<R> {
    reader: R,
    header: Header,
    /// Where the numbers begin.
    start: u64,
    length: u64,
}

impl<R: Read + Seek> TensorFile<R> {
    /// Reads the header.
    pub(super) fn open(mut reader: R) -> Result<Self, TensorError> {
        let length = reader.seek(SeekFrom::End(0))?;
        reader.rewind()?;
        let mut size = [0; 8];
        reader.read_exact(&mut size)?;
        let size = u64::from_le_bytes(size);
        if size > MAX_HEADER || size.saturating_add(8) > length {
            return Err(TensorError::Header("its length is impossible".to_owned()));
        }
        let mut text = vec![0; usize::try_from(size).unwrap_or_default()];
        reader.read_exact(&mut text)?;
        let header = serde_json::from_slice(&text).map_err(|error| TensorError::Header(error.to_string()))?;
        Ok(Self { reader, header, start: 8 + size, length })
    }

    /// What is said about the file as a whole.
    pub(super) fn note(&self, key: &str) -> Option<&str> {
        self.header.metadata.get(key).map(String::as_str)
    }

    /// The shape of a tensor.
    pub(super) fn shape(&self, name: &str) -> Result<&[u64], TensorError> {
        let tensor = self.header.tensors.get(name);
        tensor.map(|tensor| tensor.shape.as_slice()).ok_or_else(|| TensorError::Missing(name.to_owned()))
    }

    /// The bytes of a tensor of bytes.
    pub(super) fn bytes(&mut self, name: &str) -> Result<Vec<u8>, TensorError> {
        let count = self.seek_to(name, Type::U8, None)?;
        let mut bytes = vec![0; count];
        self.reader.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// The numbers of a tensor of exactly this shape.
    pub(super) fn floats(&mut self, name: &str, shape: &[u64]) -> Result<Vec<f32>, TensorError> {
        let count = self.seek_to(name, Type::F32, Some(shape))?;
        let mut numbers = Vec::with_capacity(count);
        let mut block = vec![0; BLOCK.min(count * 4)];
        while numbers.len() < count {
            let some = block.len().min((count - numbers.len()) * 4);
            self.reader.read_exact(&mut block[..some])?;
            numbers.extend(
                block[..some].chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])),
            );
        }
        Ok(numbers)
    }

    /// Goes to a tensor's first byte; gives how many numbers it has. Nothing is reserved for a tensor that is not
    /// whole in the file.
    fn seek_to(&mut self, name: &str, dtype: Type, shape: Option<&[u64]>) -> Result<usize, TensorError> {
        let tensor = self.header.tensors.get(name).ok_or_else(|| TensorError::Missing(name.to_owned()))?;
        let shape = shape.unwrap_or(&tensor.shape);
        if tensor.dtype != dtype || tensor.shape != shape {
            let found = format!("{:?} {:?}", tensor.dtype, tensor.shape);
            let expected = format!("{dtype:?} {shape:?}");
            return Err(TensorError::Shape { name: name.to_owned(), found, expected });
        }
        let (begin, end) = tensor.data_offsets;
        let count = shape.iter().try_fold(1_u64, |count, side| count.checked_mul(*side));
        let bytes = count.and_then(|count| count.checked_mul(dtype.bytes()));
        let is_whole = self.start.checked_add(end).is_some_and(|end| end <= self.length);
        if !is_whole || bytes.is_none() || bytes != end.checked_sub(begin) {
            return Err(TensorError::Header(format!("the place of `{name}` is impossible")));
        }
        self.reader.seek(SeekFrom::Start(self.start + begin))?;
        Ok(count.and_then(|count| usize::try_from(count).ok()).unwrap_or_default())
    }
}

/// Plans a file: tensors in the order their numbers will be written.
#[derive(Debug, Default)]
pub(super) struct TensorPlan {
    metadata: BTreeMap<String, String>,
    tensors: BTreeMap<String, Tensor>,
    end: u64,
}

impl TensorPlan {
    /// Says something about the file as a whole.
    pub(super) fn note(&mut self, key: &str, value: &str) {
        self.metadata.insert(key.to_owned(), value.to_owned());
    }

    /// Adds a tensor; its bytes follow those of the one before.
    pub(super) fn add(&mut self, name: &str, dtype: Type, shape: &[u64]) {
        let bytes = shape.iter().product::<u64>() * dtype.bytes();
        let data_offsets = (self.end, self.end + bytes);
        self.end += bytes;
        self.tensors.insert(name.to_owned(), Tensor { dtype, shape: shape.to_vec(), data_offsets });
    }

    /// How many bytes of numbers have to follow the header.
    pub(super) fn data_bytes(&self) -> u64 {
        self.end
    }

    /// Writes everything before the numbers.
    pub(super) fn write_header(self, to: &mut impl Write) -> io::Result<()> {
        let mut text = serde_json::to_vec(&Header { metadata: self.metadata, tensors: self.tensors })?;
        text.resize(text.len().next_multiple_of(ALIGNMENT), b' ');
        to.write_all(&(text.len() as u64).to_le_bytes())?;
        to.write_all(&text)
    }
}

#[cfg(test)]
mod tests;
