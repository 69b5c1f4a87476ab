//! What a text is counted by: words, pieces of words, and two-letter steps where a script writes no blanks.

/// Weight of a whole word, and of a two-letter step.
const WORD: f32 = 1.0;
/// Weight of one piece of a word: enough that inflected forms meet, less than the word itself.
const PIECE: f32 = 0.25;
/// Weight of a single letter of a script without blanks: a help for texts of one letter.
const LETTER: f32 = 0.25;
/// Letters of a piece of a word.
const PIECE_LETTERS: usize = 3;

/// Calls `found` with each feature's bytes and weight. The first byte says what it is, so that a word of three letters
/// and a piece of three letters are not the same.
pub(super) fn each_feature(text: &str, found: &mut impl FnMut(&[u8], f32)) {
    let mut words = Words { found, word: Vec::new(), before: None, bytes: Vec::new() };
    for letter in text.chars().map(narrow).flat_map(char::to_lowercase) {
        words.take(letter);
    }
    words.end_word();
}

/// The run of letters being read.
struct Words<'a, F> {
    found: &'a mut F,
    /// Letters of the word so far; empty between words and in scripts without blanks.
    word: Vec<char>,
    /// The letter before, in a script without blanks.
    before: Option<char>,
    bytes: Vec<u8>,
}

impl<F: FnMut(&[u8], f32)> Words<'_, F> {
    fn take(&mut self, letter: char) {
        if writes_no_blanks(letter) {
            self.end_word();
            self.tell(b'l', &[letter], LETTER);
            if let Some(before) = self.before.replace(letter) {
                self.tell(b's', &[before, letter], WORD);
            }
        } else if letter.is_alphanumeric() {
            self.before = None;
            self.word.push(letter);
        } else {
            self.before = None;
            self.end_word();
        }
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.tell(b'w', &word, WORD);
        // Blanks at both ends: a piece at a border differs from the same letters inside.
        let mut framed = vec![' '];
        framed.extend(&word);
        framed.push(' ');
        // Pieces follow the script: a Korean word is cut in twos, since a syllable is two or three letters already.
        let letters = if word.iter().any(|letter| is_hangul(*letter)) { 2 } else { PIECE_LETTERS };
        for piece in framed.windows(letters) {
            self.tell(b'p', piece, PIECE);
        }
        self.word = word;
        self.word.clear();
    }

    fn tell(&mut self, kind: u8, letters: &[char], weight: f32) {
        self.bytes.clear();
        self.bytes.push(kind);
        let mut buffer = [0; 4];
        for letter in letters {
            self.bytes.extend_from_slice(letter.encode_utf8(&mut buffer).as_bytes());
        }
        (self.found)(&self.bytes, weight);
    }
}

/// Full-width forms of ASCII as the plain letters.
fn narrow(letter: char) -> char {
    match u32::from(letter) {
        code @ 0xFF01..=0xFF5E => char::from_u32(code - 0xFF01 + 0x21).unwrap_or(letter),
        0x3000 => ' ',
        _ => letter,
    }
}

/// Han, Kana, Bopomofo, Thai, Lao, Khmer, Burmese: words stand without blanks between them.
fn writes_no_blanks(letter: char) -> bool {
    matches!(
        u32::from(letter),
        0x0E01..=0x0EDF // Thai, Lao
            | 0x1000..=0x109F // Burmese
            | 0x1780..=0x17DD // Khmer
            | 0x3005..=0x3007 | 0x3041..=0x3096 | 0x3099..=0x309F | 0x30A1..=0x30FA | 0x30FC..=0x312F // signs, Kana, Bopomofo
            | 0x31F0..=0x31FF // small Katakana
            | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF // Han
            | 0xFF66..=0xFF9F // half-width Katakana
            | 0x20000..=0x3FFFD // Han, rare
    )
}

fn is_hangul(letter: char) -> bool {
    matches!(u32::from(letter), 0x1100..=0x11FF | 0x3131..=0x318E | 0xAC00..=0xD7A3)
}
