//! Reads the file of a SentencePiece model, which is a protocol buffer.

/// A piece of the vocabulary; its id is its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// The logarithm of its probability.
    pub(super) score: f32,
    /// False for marks (unknown, beginning, end) and for places kept free, which no text turns into.
    pub(super) is_text: bool,
}

/// What is needed of a model.
#[derive(Debug)]
pub(super) struct Model<'a> {
    pub(super) pieces: Vec<Piece<'a>>,
    pub(super) charsmap: &'a [u8],
}

/// Why a model cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ModelError {
    #[error("it is broken off or no protocol buffer")]
    Broken,
    #[error("it has no pieces")]
    Empty,
    #[error("a piece is no UTF-8")]
    Encoding,
    #[error("its kind of segmentation is not unigram")]
    NotUnigram,
    #[error("its treatment of blanks is another one")]
    Blanks,
    #[error("its map of letters is broken")]
    Charsmap,
}

// Field numbers of SentencePiece's model file.
const PIECES: u32 = 1;
const TRAINER: u32 = 2;
const NORMALIZER: u32 = 3;
const PIECE_TEXT: u32 = 1;
const PIECE_SCORE: u32 = 2;
const PIECE_TYPE: u32 = 3;
const TRAINER_KIND: u32 = 3;
const NORMALIZER_CHARSMAP: u32 = 2;
/// A blank before the text, runs of blanks made one, blanks written as `▁`: all three on unless said otherwise.
const NORMALIZER_BLANKS: [u32; 3] = [3, 4, 5];

const NORMAL: u64 = 1;
const USER_DEFINED: u64 = 4;
const UNIGRAM: u64 = 1;

impl<'a> Model<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let mut model = Self { pieces: Vec::new(), charsmap: &[] };
        for field in Fields(bytes) {
            match field? {
                (PIECES, Value::Bytes(bytes)) => model.pieces.push(piece(bytes)?),
                (TRAINER, Value::Bytes(bytes)) => check_trainer(bytes)?,
                (NORMALIZER, Value::Bytes(bytes)) => model.charsmap = charsmap(bytes)?,
                _ => {}
            }
        }
        if model.pieces.is_empty() { Err(ModelError::Empty) } else { Ok(model) }
    }
}

fn piece(bytes: &[u8]) -> Result<Piece<'_>, ModelError> {
    let mut piece = Piece { text: "", score: 0.0, is_text: true };
    for field in Fields(bytes) {
        match field? {
            (PIECE_TEXT, Value::Bytes(text)) => {
                piece.text = std::str::from_utf8(text).map_err(|_| ModelError::Encoding)?;
            }
            (PIECE_SCORE, Value::Four(score)) => piece.score = f32::from_le_bytes(score),
            (PIECE_TYPE, Value::Number(kind)) => piece.is_text = matches!(kind, NORMAL | USER_DEFINED),
            _ => {}
        }
    }
    Ok(piece)
}

fn check_trainer(bytes: &[u8]) -> Result<(), ModelError> {
    for field in Fields(bytes) {
        if let (TRAINER_KIND, Value::Number(kind)) = field?
            && kind != UNIGRAM
        {
            return Err(ModelError::NotUnigram);
        }
    }
    Ok(())
}

fn charsmap(bytes: &[u8]) -> Result<&[u8], ModelError> {
    let mut charsmap: &[u8] = &[];
    for field in Fields(bytes) {
        match field? {
            (NORMALIZER_CHARSMAP, Value::Bytes(bytes)) => charsmap = bytes,
            (number, Value::Number(0)) if NORMALIZER_BLANKS.contains(&number) => return Err(ModelError::Blanks),
            _ => {}
        }
    }
    Ok(charsmap)
}

/// A field's value by its wire type.
#[derive(Debug, PartialEq)]
enum Value<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Four([u8; 4]),
    Eight,
}

/// The fields of a message, in order; ends after the first error.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), ModelError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field().ok_or(ModelError::Broken);
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u32, Value<'a>)> {
        let tag = self.number()?;
        let value = match tag & 7 {
            0 => Value::Number(self.number()?),
            1 => self.take(8).map(|_| Value::Eight)?,
            2 => {
                let length = usize::try_from(self.number()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            5 => Value::Four(self.take(4)?.try_into().ok()?),
            _ => return None,
        };
        Some((u32::try_from(tag >> 3).ok()?, value))
    }

    /// Seven bits a byte, lowest first; the highest bit says that more follow.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}
