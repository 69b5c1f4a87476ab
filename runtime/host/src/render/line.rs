//! The line a problem stands in, cut to what fits the terminal.

use std::ops::Range;

use roster_engine::definition::Problem;
use unicode_width::UnicodeWidthChar;

use crate::config::secret::without_credentials;

/// A part of a line round a caret.
pub(super) struct Excerpt {
    /// The text shown.
    pub(super) text: String,
    /// The line's number.
    pub(super) line: usize,
    /// What the caret stands under, in bytes of `text`.
    pub(super) caret: Range<usize>,
}

/// What is shown for a part that was cut away.
const CUT: &str = "…";
/// Columns a tab takes; as many as the renderer draws.
const TAB: usize = 4;

impl Excerpt {
    /// The line of `problem` in `source`, in at most `width` columns; `None` when the problem has no place there.
    pub(super) fn of(problem: &Problem, source: &str, width: usize) -> Option<Self> {
        let span = problem.span.clone()?;
        let before = source.get(..span.start)?;
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = &without_credentials(source.get(start..)?.lines().next().unwrap_or_default());
        let begin = span.start - start;
        if begin > line.len() {
            return None;
        }
        let end = (span.end - start).clamp(begin, line.len());
        let caret = begin..end;
        let (text, caret) = if columns(line) > width { cut(line, caret, width) } else { (line.to_string(), caret) };
        Some(Self { text, line: problem.line?, caret })
    }

    /// `shown` with the column of the whole line instead of that of the excerpt.
    pub(super) fn corrected(&self, shown: &str, problem: &Problem) -> String {
        let column = self.text.get(..self.caret.start).map_or(0, |before| before.chars().count()) + 1;
        let (Some(line), Some(true_column)) = (problem.line, problem.column) else { return shown.to_owned() };
        let wrong = format!("{}:{line}:{column}", problem.file);
        shown.replacen(&wrong, &format!("{}:{line}:{true_column}", problem.file), 1)
    }
}

/// Columns a text takes in a terminal.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(c: char) -> usize {
    if c == '\t' { TAB } else { c.width().unwrap_or(0) }
}

/// Keeps the beginning, or a third of the room before the caret, and the rest from it on.
fn cut(line: &str, caret: Range<usize>, width: usize) -> (String, Range<usize>) {
    let room = width.saturating_sub(2 * CUT.chars().count()).max(8);
    let prefix = line.get(..caret.start).unwrap_or_default();
    let marked = columns(line.get(caret.clone()).unwrap_or_default()).min(room / 2);
    // From the line's beginning, where the caret is near enough to it.
    let lead_room = if columns(prefix) + marked <= room { room } else { room / 3 };
    let lead: usize = prefix.chars().rev().scan(0, within(lead_room)).map(char::len_utf8).sum();
    let lead = prefix.get(prefix.len() - lead..).unwrap_or_default();
    let lead_start = caret.start - lead.len();
    let rest_room = room - columns(lead);
    let tail: String = line.get(caret.start..).unwrap_or_default().chars().scan(0, within(rest_room)).collect();
    let tail_end = caret.start + tail.len();
    let before = if lead_start > 0 { CUT } else { "" };
    let after = if tail_end < line.len() { CUT } else { "" };
    let kept = line.get(lead_start..tail_end).unwrap_or_default();
    let begin = before.len() + lead.len();
    let end = (begin + caret.len()).min(before.len() + kept.len());
    (format!("{before}{kept}{after}"), begin..end)
}

/// Takes characters as long as they fit.
fn within(room: usize) -> impl FnMut(&mut usize, char) -> Option<char> {
    move |used, c| {
        *used += width_of(c);
        (*used <= room).then_some(c)
    }
}
