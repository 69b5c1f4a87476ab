//! Where texts are cut into words, for the text index and for questions to it alike.
//!
//! A word is a run of letters and digits, in lower case. Scripts that are written without blanks (Chinese, Japanese
//! kana, Korean syllables, Thai) are cut into steps of two letters, each sharing a letter with the next, so that a name
//! of two letters is found; a letter that stands alone is a word by itself.

/// Bytes of a text that are cut; the rest is left out.
const LONGEST_TEXT: usize = 64 * 1024;
/// Longest word, in characters; the rest of it is left out.
const LONGEST_WORD: usize = 64;

/// The words of a text, in order, with repetitions.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    let text = &text[..text.floor_char_boundary(LONGEST_TEXT)];
    let mut cutter = Cutter::default();
    for c in text.chars() {
        if is_unspaced(c) {
            cutter.step(c);
        } else if c.is_alphanumeric() {
            cutter.letter(c);
        } else {
            cutter.end();
        }
    }
    cutter.end();
    cutter.words
}

/// The words of a text as the index keeps them: separated by blanks.
#[must_use]
pub fn terms(text: &str) -> String {
    words(text).join(" ")
}

/// The different words of a question, in order, at most `most`.
#[must_use]
pub fn distinct(text: &str, most: usize) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    words(text).into_iter().filter(|word| seen.insert(word.clone())).take(most).collect()
}

#[derive(Default)]
struct Cutter {
    words: Vec<String>,
    word: String,
    length: usize,
    /// The last letter of an unspaced run, and whether a step already ends with it.
    last: Option<(char, bool)>,
}

impl Cutter {
    fn letter(&mut self, c: char) {
        self.end_run();
        if self.length < LONGEST_WORD {
            self.word.extend(c.to_lowercase());
        }
        self.length += 1;
    }

    fn step(&mut self, c: char) {
        self.end_word();
        if let Some((before, _)) = self.last {
            self.words.push([before, c].iter().collect());
        }
        self.last = Some((c, self.last.is_some()));
    }

    fn end(&mut self) {
        self.end_word();
        self.end_run();
    }

    fn end_word(&mut self) {
        if !self.word.is_empty() {
            self.words.push(std::mem::take(&mut self.word));
        }
        self.length = 0;
    }

    fn end_run(&mut self) {
        if let Some((alone, false)) = self.last.take() {
            self.words.push(alone.to_string());
        }
    }
}

/// Letters of scripts that are written without blanks between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0e01}'..='\u{0e4e}' // Thai
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7a3}' // Hangul
        | '\u{20000}'..='\u{323af}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text), expected, "{text:?}");
    }

    #[test]
    fn words_are_runs_of_letters_and_digits_in_lower_case() {
        check("The locker word is ORCHID-7!", &["the", "locker", "word", "is", "orchid", "7"]);
        check("Ünïcode  äß", &["ünïcode", "äß"]);
        check("", &[]);
        check("?!…", &[]);
    }

    #[test]
    fn unspaced_scripts_are_cut_in_steps_of_two() {
        check("我的猫叫小花", &["我的", "的猫", "猫叫", "叫小", "小花"]);
        check("猫", &["猫"]);
        check("猫 a狗b", &["猫", "a", "狗", "b"]);
        check("北京2030年", &["北京", "2030", "年"]);
    }

    #[test]
    fn a_question_has_each_word_once_and_not_too_many() {
        assert_eq!(distinct("a b a c d", 3), ["a", "b", "c"]);
        assert_eq!(terms("A b, a"), "a b a");
    }

    #[test]
    fn long_texts_and_words_are_cut() {
        assert_eq!(words(&"x".repeat(200))[0].len(), LONGEST_WORD);
        assert!(words(&"猫".repeat(100_000)).len() < LONGEST_TEXT);
    }
}
