//! The table of piece vectors: 128,000 rows of 512 values, kept in 6 bits a value (49 MB) and spread out when needed.
//!
//! Pieces are dealt out to chunks in turn, piece 0 to chunk 0, piece 1 to chunk 1 and so on; each chunk has its own scale
//! and lowest value. The chunks stand one after another.

/// Values per group, and the bytes a group takes.
const GROUP: usize = 4;
const GROUP_BYTES: usize = 3;
/// What fits in 6 bits.
const LARGEST: u8 = 63;

/// The table.
#[derive(Debug)]
pub(super) struct Table {
    packed: Vec<u8>,
    width: usize,
    rows_per_chunk: usize,
    scale: Vec<f32>,
    lowest: Vec<f32>,
}

impl Table {
    /// `None` unless the parts fit together.
    pub(super) fn new(packed: Vec<u8>, width: usize, scale: Vec<f32>, lowest: Vec<f32>) -> Option<Self> {
        let row_bytes = packed_bytes(width)?;
        let chunks = scale.len();
        let rows = packed.len().checked_div(row_bytes)?;
        let rows_per_chunk = rows.checked_div(chunks)?;
        let fits = rows_per_chunk > 0 && packed.len() == rows_per_chunk * chunks * row_bytes && lowest.len() == chunks;
        fits.then_some(Self { packed, width, rows_per_chunk, scale, lowest })
    }

    /// How many pieces have a row.
    pub(super) fn rows(&self) -> usize {
        self.rows_per_chunk * self.scale.len()
    }

    /// Length of a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Writes the row of a piece; a piece that has none counts as piece 0, the unknown one.
    pub(super) fn read(&self, piece: u32, into: &mut [f32]) {
        let piece = usize::try_from(piece).ok().filter(|piece| *piece < self.rows()).unwrap_or(0);
        let chunk = piece % self.scale.len();
        let row = chunk * self.rows_per_chunk + piece / self.scale.len();
        let (scale, lowest) = (self.scale[chunk], self.lowest[chunk]);
        let bytes = self.width / GROUP * GROUP_BYTES;
        let (groups, _) = self.packed[row * bytes..][..bytes].as_chunks::<GROUP_BYTES>();
        let (values, _) = into.as_chunks_mut::<GROUP>();
        for (group, values) in groups.iter().zip(values) {
            *values = unpack(*group).map(|value| f32::from(value) * scale + lowest);
        }
    }
}

/// Bytes of a row of so many values; `None` when they do not fill whole groups.
pub(super) fn packed_bytes(width: usize) -> Option<usize> {
    (width > 0 && width.is_multiple_of(GROUP)).then_some(width / GROUP * GROUP_BYTES)
}

/// Packs values, four in three bytes, lowest bits first; `None` when one does not fit or a group is not full.
pub(super) fn pack(values: &[u8]) -> Option<Vec<u8>> {
    let (groups, rest) = values.as_chunks::<GROUP>();
    if !rest.is_empty() || values.iter().any(|value| *value > LARGEST) {
        return None;
    }
    let bits = |[a, b, c, d]: [u8; GROUP]| [a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2];
    Some(groups.iter().flat_map(|group| bits(*group)).collect())
}

fn unpack([a, b, c]: [u8; GROUP_BYTES]) -> [u8; GROUP] {
    [a & LARGEST, (a >> 6 | b << 2) & LARGEST, (b >> 4 | c << 4) & LARGEST, c >> 2]
}

#[cfg(test)]
mod tests;
