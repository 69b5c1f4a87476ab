//! How much of an unfinished text may go on: what could be the beginning of something that is masked stays.

use crate::find::{Letters, is_joint, is_local};

/// Nothing that is masked is longer; a longer run of letters is no address and goes on.
const LONGEST: usize = 320;

/// A letter that a found thing can contain, but for the spaces within numbers.
fn is_inner(letter: char) -> bool {
    is_local(letter) || matches!(letter, '@' | '(' | ')')
}

/// Digits and what joins them, but for spaces.
fn is_numeric(letter: char) -> bool {
    letter.is_ascii_digit() || letter == '+' || (is_joint(letter) && letter != ' ')
}

/// How many bytes from the beginning may go on.
pub(crate) fn ready(text: &str) -> usize {
    let letters = Letters::of(text);
    let chars = &letters.chars;
    let run_back = |end: usize, belongs: fn(char) -> bool| {
        end - chars[..end].iter().rev().take_while(|letter| belongs(**letter)).count()
    };
    // The last word, unfinished.
    let mut start = run_back(chars.len(), is_inner);
    // Groups of digits before it, with one space between each.
    while start > 0 && chars[start - 1] == ' ' {
        let group = run_back(start - 1, is_numeric);
        if group == start - 1 || group.checked_sub(1).is_some_and(|before| is_inner(chars[before])) {
            break;
        }
        start = group;
    }
    if chars.len() - start > LONGEST { letters.byte(chars.len() - LONGEST) } else { letters.byte(start) }
}
