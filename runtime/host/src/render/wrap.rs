//! Messages in lines of a terminal's width. What a person may copy is never broken: code in backticks or quotation
//! marks, `key = value`, and any line after the first, which is a line to write into a file.

use super::line::columns;

/// Breaks the first line of `text` at spaces so that no line takes more than `width` columns, where its parts allow it.
pub(super) fn wrapped(text: &str, width: usize) -> String {
    let (first, exact) = match text.split_once('\n') {
        Some((first, exact)) => (first, Some(exact)),
        None => (text, None),
    };
    let mut lines = String::with_capacity(text.len());
    let mut used = 0;
    for part in parts(first) {
        let length = columns(part);
        if used > 0 && used + 1 + length > width {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(part);
        used += length;
    }
    if let Some(exact) = exact {
        lines.push('\n');
        lines.push_str(exact);
    }
    lines
}

/// The text cut at the spaces where it may be broken.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '`' | '"' | '[' | '{' => at = end_of_code(text, at, c),
            ' ' if may_break(text, at) => {
                parts.push(&text[begin..at]);
                begin = at + 1;
                at = begin;
            }
            _ => at += c.len_utf8(),
        }
    }
    parts.push(&text[begin..]);
    parts
}

/// Behind the code that `open` begins at byte `at`; behind `open` itself when nothing ends it.
fn end_of_code(text: &str, at: usize, open: char) -> usize {
    let close = match open {
        '[' => ']',
        '{' => '}',
        same => same,
    };
    let inside = at + open.len_utf8();
    text[inside..].find(close).map_or(inside, |length| inside + length + close.len_utf8())
}

/// A space beside an equals sign belongs to a line of TOML.
fn may_break(text: &str, at: usize) -> bool {
    !text[at..].starts_with(" = ") && !text[..at].ends_with(" =")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, width: usize, expected: &[&str]) {
        assert_eq!(wrapped(text, width).split('\n').collect::<Vec<_>>(), expected);
    }

    #[test]
    fn words_are_broken_where_they_fit_no_more() {
        check("one two three four", 9, &["one two", "three", "four"]);
        check("one", 2, &["one"]);
        check("", 9, &[""]);
        check("one two", usize::MAX, &["one two"]);
    }

    #[test]
    fn code_is_never_broken() {
        check("start it with `roster chat a` now", 16, &["start it with", "`roster chat a`", "now"]);
        check("write max_steps = 3 at the top", 14, &["write", "max_steps = 3", "at the top"]);
        check("add a = \"b c\", d", 8, &["add", "a = \"b c\",", "d"]);
        check("write a = [1, 2] or { b = 3 }", 10, &["write", "a = [1, 2]", "or", "{ b = 3 }"]);
        check("a lonely ` or \" is a sign", 9, &["a lonely", "` or \" is", "a sign"]);
    }

    #[test]
    fn a_line_to_write_into_a_file_stands_alone_and_whole() {
        check(
            "add this line:\na-long-id = \"a-long-id.toml\"",
            8,
            &["add this", "line:", "a-long-id = \"a-long-id.toml\""],
        );
    }
}
