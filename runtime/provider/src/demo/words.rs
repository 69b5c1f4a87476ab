//! Words and languages, as far as a script needs them.

/// The language an answer is given in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    English,
    Chinese,
}

impl Language {
    /// Chinese when a Han character stands in the text.
    pub(super) fn of(text: &str) -> Self {
        if text.chars().any(is_han) { Self::Chinese } else { Self::English }
    }

    /// The one of two texts in this language.
    pub(super) fn choose<T>(self, english: T, chinese: T) -> T {
        match self {
            Self::English => english,
            Self::Chinese => chinese,
        }
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// Cuts a text into what is streamed at once: words with the blank after them, and of scripts without blanks a few
/// characters. Joined, the pieces are the text.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace).flat_map(|word| {
        let mut rest = word;
        std::iter::from_fn(move || {
            let (piece, after) = rest.split_at(piece_length(rest));
            rest = after;
            (!piece.is_empty()).then_some(piece)
        })
    })
}

/// A run without Han characters stays whole; of a run with them, three characters.
fn piece_length(text: &str) -> usize {
    if !text.chars().any(is_han) {
        return text.len();
    }
    text.char_indices().nth(3).map_or(text.len(), |(place, _)| place)
}

/// The first `most` characters, with a mark when there were more.
pub(super) fn clipped(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let mut short: String = line.chars().take(most).collect();
    short.push('…');
    short
}

/// True when one of these stands in the text as a word of its own; in any case.
pub(super) fn has_word(text: &str, words: &[&str]) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '\'')
        .any(|found| words.iter().any(|word| found.eq_ignore_ascii_case(word)))
}

/// True when one of these stands anywhere in the text; in any case of ASCII letters.
pub(super) fn has_any(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    phrases.iter().any(|phrase| text.contains(phrase))
}
