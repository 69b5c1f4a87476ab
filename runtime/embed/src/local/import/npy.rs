//! Reads numpy's arrays: a header written as a Python dictionary, then the numbers, little endian, row by row.

use std::io::{self, Read};

const MAGIC: &[u8] = b"\x93NUMPY";
/// Longest header that is read; ours have 128 bytes.
const MAX_HEADER: usize = 64 * 1024;

/// Types that the package uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    U8,
    I8,
    F32,
    F64,
}

/// What an array's header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) shape: Vec<u64>,
}

/// Why an array cannot be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum NpyError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is no numpy array")]
    Magic,
    #[error("its header `{0}` is of another kind")]
    Header(String),
    #[error("its numbers are of another type")]
    Kind,
    #[error("bytes follow its last number")]
    TooLong,
}

/// Reads the header; the numbers follow.
pub(super) fn header(from: &mut impl Read) -> Result<Header, NpyError> {
    let mut start = [0; 8];
    from.read_exact(&mut start)?;
    let [magic @ .., major, _minor] = start;
    if magic != MAGIC {
        return Err(NpyError::Magic);
    }
    let length = if major == 1 {
        let mut length = [0; 2];
        from.read_exact(&mut length)?;
        usize::from(u16::from_le_bytes(length))
    } else {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX)
    };
    if length > MAX_HEADER {
        return Err(NpyError::Magic);
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text).trim().to_owned();
    parse(&text).ok_or(NpyError::Header(text))
}

/// `{'descr': '<f4', 'fortran_order': False, 'shape': (512, 256), }`
fn parse(text: &str) -> Option<Header> {
    let value = |key: &str| Some(text.split_once(&format!("'{key}':"))?.1.trim_start());
    let kind = match value("descr")?.strip_prefix('\'')?.split('\'').next()? {
        "|u1" => Kind::U8,
        "|i1" => Kind::I8,
        "<f4" => Kind::F32,
        "<f8" => Kind::F64,
        _ => return None,
    };
    // Numbers column by column would need another reader; the package has none.
    value("fortran_order")?.strip_prefix("False")?;
    let sides = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let sides = sides.split(',').map(str::trim).filter(|side| !side.is_empty());
    let shape = sides.map(|side| side.parse().ok()).collect::<Option<Vec<u64>>>()?;
    Some(Header { kind, shape })
}

/// The bytes of an array of bytes.
pub(super) fn bytes(header: &Header, from: &mut impl Read) -> Result<Vec<u8>, NpyError> {
    if !matches!(header.kind, Kind::U8 | Kind::I8) {
        return Err(NpyError::Kind);
    }
    numbers::<1>(header, from).map(|bytes| bytes.into_iter().map(|[byte]| byte).collect())
}

/// The numbers of an array of floats; longer ones are rounded.
pub(super) fn floats(header: &Header, from: &mut impl Read) -> Result<Vec<f32>, NpyError> {
    match header.kind {
        Kind::F32 => Ok(numbers::<4>(header, from)?.into_iter().map(f32::from_le_bytes).collect()),
        #[expect(clippy::cast_possible_truncation, reason = "rounding to 32 bits is what is wanted")]
        Kind::F64 => {
            Ok(numbers::<8>(header, from)?.into_iter().map(|eight| f64::from_le_bytes(eight) as f32).collect())
        }
        Kind::U8 | Kind::I8 => Err(NpyError::Kind),
    }
}

/// Everything that follows the header, which must be as many numbers as the shape says.
fn numbers<const BYTES: usize>(header: &Header, from: &mut impl Read) -> Result<Vec<[u8; BYTES]>, NpyError> {
    let mut all = Vec::new();
    from.read_to_end(&mut all)?;
    let (numbers, rest) = all.as_chunks::<BYTES>();
    let count = header.shape.iter().try_fold(1_u64, |count, side| count.checked_mul(*side));
    match count {
        Some(count) if count == numbers.len() as u64 && rest.is_empty() => Ok(numbers.to_vec()),
        Some(count) if count > numbers.len() as u64 => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        _ => Err(NpyError::TooLong),
    }
}

#[cfg(test)]
mod tests;
