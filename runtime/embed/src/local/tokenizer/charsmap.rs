//! Brings text to the form the vocabulary was made on.
//!
//! The model carries a table of letters (and short runs of letters) with what each is replaced by: compatibility forms
//! by plain ones, control characters by nothing, all kinds of blanks by one. The table is a double array, a trie in
//! one array of 32-bit units, followed by the replacements, each ended by a zero byte.

use super::model::ModelError;

/// Stands for a blank in pieces.
const BLANK: char = '▁';

/// The table.
#[derive(Debug)]
pub(super) struct Charsmap {
    units: Vec<u32>,
    replacements: String,
}

impl Charsmap {
    /// Reads the table; none at all is one without replacements.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, ModelError> {
        if bytes.is_empty() {
            return Ok(Self { units: Vec::new(), replacements: String::new() });
        }
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or(ModelError::Charsmap)?;
        let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| ModelError::Charsmap)?;
        let (units, replacements) = rest.split_at_checked(size).ok_or(ModelError::Charsmap)?;
        let (units, odd) = units.as_chunks::<4>();
        if !odd.is_empty() {
            return Err(ModelError::Charsmap);
        }
        let replacements = std::str::from_utf8(replacements).map_err(|_| ModelError::Charsmap)?;
        let units = units.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        Ok(Self { units, replacements: replacements.to_owned() })
    }

    /// The text with letters replaced, blanks at both ends dropped, runs of blanks made one, one blank put before it,
    /// and each written as `▁`. A text of which nothing is left is empty.
    pub(super) fn normalise(&self, text: &str) -> String {
        let mut rest = text;
        while let Some((" ", length)) = self.first(rest) {
            rest = &rest[length..];
        }
        let mut normal = String::with_capacity(text.len() + BLANK.len_utf8());
        if !rest.is_empty() {
            normal.push(BLANK);
        }
        let mut after_blank = true;
        while let Some((mut replaced, length)) = self.first(rest) {
            rest = &rest[length..];
            if after_blank {
                replaced = replaced.trim_start_matches(' ');
            }
            if replaced.is_empty() {
                continue;
            }
            normal.extend(replaced.chars().map(|letter| if letter == ' ' { BLANK } else { letter }));
            after_blank = replaced.ends_with(' ');
        }
        normal.truncate(normal.trim_end_matches(BLANK).len());
        normal
    }

    /// What the beginning of the text becomes, and how many bytes of it that takes: the longest run of letters in the
    /// table, else one letter as it is. `None` at the end of the text.
    fn first<'a>(&'a self, text: &'a str) -> Option<(&'a str, usize)> {
        let letter = text.chars().next()?.len_utf8();
        let replaced = self.longest(text.as_bytes()).filter(|(length, _)| text.is_char_boundary(*length));
        let replaced = replaced.and_then(|(length, place)| Some((self.replacement(place)?, length)));
        Some(replaced.unwrap_or((&text[..letter], letter)))
    }

    /// The longest beginning of the text that is in the table: its length, and the place of its replacement.
    fn longest(&self, text: &[u8]) -> Option<(usize, u32)> {
        let mut longest = None;
        let mut place = offset(*self.units.first()?);
        for (length, byte) in (1..).zip(text) {
            place ^= u32::from(*byte);
            let Some(unit) = self.unit(place).filter(|unit| label(*unit) == u32::from(*byte)) else { break };
            place ^= offset(unit);
            if has_leaf(unit) {
                longest = self.unit(place).map(|leaf| (length, leaf & !LEAF_MARK));
            }
        }
        longest
    }

    fn unit(&self, place: u32) -> Option<u32> {
        self.units.get(usize::try_from(place).ok()?).copied()
    }

    fn replacement(&self, place: u32) -> Option<&str> {
        let from = self.replacements.get(usize::try_from(place).ok()?..)?;
        from.split('\0').next().filter(|_| !from.is_empty())
    }
}

// A unit: the label in bits 0 to 7, whether a leaf follows in bit 8, whether the offset is counted in 256s in bit 9, the
// offset above. Leaves have the highest bit set, so that no byte equals their label.
const LEAF_MARK: u32 = 1 << 31;

fn label(unit: u32) -> u32 {
    unit & (LEAF_MARK | 0xff)
}

fn has_leaf(unit: u32) -> bool {
    unit & 0x100 != 0
}

fn offset(unit: u32) -> u32 {
    (unit >> 10) << ((unit & 0x200) >> 6)
}
