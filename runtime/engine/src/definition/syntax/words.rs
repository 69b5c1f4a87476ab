//! What the TOML parser says, in the words of somebody who wants to repair a file.

use std::ops::Range;

use super::{DUPLICATE_KEY, Scan};
use crate::definition::problem::Problem;

type Words = (&'static str, String, Option<String>);

/// The parser's error as a problem.
pub(super) fn explain(file: &str, text: &str, error: &toml::de::Error, scan: &Scan) -> Problem {
    let end = error.span().map_or(0, |span| span.end.min(text.len()));
    let mut span = error.span().map_or(0, |span| span.start.min(end))..end;
    let (code, message, help) = words(text, &span, error.message());
    match code {
        // The parser stops where something else begins; what a person looks for is what was opened.
        "unclosed_list" | "unclosed_table" => {
            span = scan.unclosed.last().map_or(span, |start| *start..start + 1);
        }
        "unclosed_string" => {
            let start = opening_quote(text, &span, scan);
            span = start..start + 1;
        }
        _ => {}
    }
    let problem = Problem::error(code, file, message).at(text, span);
    match help {
        Some(help) => problem.help(help),
        None => problem,
    }
}

/// Where an unclosed string begins: a long one where it opens, another after the last `=`, `,` or `[` of its line.
fn opening_quote(text: &str, span: &Range<usize>, scan: &Scan) -> usize {
    if let Some(long) = scan.long_strings.iter().find(|long| long.contains(&span.start) || long.end == span.start) {
        return long.start;
    }
    let line = line_start(text, span.start);
    let before = text.get(line..span.start).unwrap_or_default();
    before.find(['"', '\'']).map_or(span.start, |at| line + at)
}

fn line_start(text: &str, offset: usize) -> usize {
    text.get(..offset).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1)
}

fn line_of<'t>(text: &'t str, span: &Range<usize>) -> &'t str {
    text.get(line_start(text, span.start)..).and_then(|rest| rest.lines().next()).unwrap_or_default()
}

fn said(code: &'static str, message: &str, help: &str) -> Words {
    (code, message.to_owned(), Some(help.to_owned()))
}

fn words(text: &str, span: &Range<usize>, message: &str) -> Words {
    let what = message.split_once(", expected").map_or(message, |(what, _)| what);
    match what {
        "duplicate key" => {
            let key = text.get(span.clone()).unwrap_or_default();
            said(DUPLICATE_KEY, &format!("`{key}` stands twice"), "keep one of the two")
        }
        "missing escaped value" => said("bad_escape", "a backslash begins an escape that does not exist", LITERAL),
        "too few unicode value digits" | "invalid value" => {
            said("bad_escape", "the escape names no Unicode character", LITERAL)
        }
        "string values must be quoted" => unquoted(text, span),
        "invalid basic string"
        | "invalid multi-line basic string"
        | "invalid literal string"
        | "invalid multi-line literal string" => unclosed_string(text, span),
        "key with no value" | "missing value for key" | "invalid unquoted key" => key_alone(text, span),
        "missing value" => missing_value(),
        "extra `=`" => said("syntax", "an `=` too many", "write `key = value`"),
        "unclosed array" | "unexpected `=` in array" => {
            said("unclosed_list", "a list that is not closed", "close it with `]`")
        }
        "unclosed inline table" => said("unclosed_table", "a table that is not closed", "close it with `}`"),
        "unclosed table" | "unclosed array table" => {
            said("unclosed_header", "a table header that is not closed", "write it as `[name]`, alone on its line")
        }
        "missing comma between array elements" => in_list(text, span),
        _ => rarer(text, span, what),
    }
}

fn rarer(text: &str, span: &Range<usize>, what: &str) -> Words {
    match what {
        "missing comma between key-value pairs" => {
            said("syntax", "a comma is missing between two keys", "separate them with `,`")
        }
        "unexpected key or value" => after_value(text, span),
        "carriage return must be followed by newline" => {
            said("syntax", "a carriage return without a line feed", "save the file with the line ends LF or CRLF")
        }
        "unexpected leading zero" => said("syntax", "a number that begins with 0", "leave the zero out"),
        "unquoted keys cannot be empty" => {
            said("syntax", "a key is missing before the `=` or `.`", "write `key = value`")
        }
        "invalid comment character" => said("syntax", "a control character stands in a comment", "delete it"),
        "invalid boolean" => {
            said("syntax", "not `true` or `false`", "write them in small letters, without quotation marks")
        }
        "invalid key-value pair" if line_of(text, span).trim_start().starts_with('{') => said(
            "syntax",
            "a file that begins with `{`",
            "this is TOML, not JSON: write id = \"…\" and instructions = \"…\", a key a line",
        ),
        other => {
            let mut message = other.to_owned();
            if let Some(first) = message.get_mut(..1) {
                first.make_ascii_lowercase();
            }
            ("syntax", message, Some("write `key = value`, one a line".to_owned()))
        }
    }
}

const LITERAL: &str =
    "write \\\\ for a backslash, or put the text between '''…''', where a backslash is only a backslash";

fn missing_value() -> Words {
    said("syntax", "a value is missing after `=`", "write the value, or delete the line")
}

fn shortened(word: &str) -> String {
    let word = word.trim();
    let cut: String = word.chars().take(40).collect();
    if cut.len() < word.len() { format!("{cut}…") } else { cut }
}

/// Words where a value should be: a string without its marks, or something that only looks like a value.
fn unquoted(text: &str, span: &Range<usize>) -> Words {
    let word = text.get(span.clone()).unwrap_or_default().trim();
    let after = text.get(span.end..).unwrap_or_default().trim_start_matches([' ', '\t']);
    let alone = line_of(text, span).trim_start().starts_with(word);
    if word.is_empty() {
        return missing_value();
    }
    if alone && after.starts_with('=') {
        return said("unclosed_list", "a list that is not closed", "close it with `]`");
    }
    if word.starts_with(['“', '”', '„', '‘', '’', '«']) {
        let inner = word.trim_matches(['“', '”', '„', '‘', '’', '«', '»']);
        let help = format!("write \"{}\": straight marks, as in a program", shortened(inner));
        return ("unquoted_string", "typographic quotation marks begin no string".to_owned(), Some(help));
    }
    if word.contains(';') {
        return said("syntax", "`;` ends no line here", "write one `key = value` a line, without `;`");
    }
    let help = format!("put quotation marks round it: \"{}\"", shortened(word));
    ("unquoted_string", "a string without quotation marks".to_owned(), Some(help))
}

/// A string that does not end, or one with a character in it that may not stand there.
fn unclosed_string(text: &str, span: &Range<usize>) -> Words {
    let found = text.get(span.start..).and_then(|rest| rest.chars().next());
    if let Some(control) = found.filter(|c| c.is_control() && *c != '\n') {
        let code = format!("{:04X}", u32::from(control));
        let message = format!("the control character U+{code} stands in a string");
        return ("syntax", message, Some(format!("delete it, or write it as an escape: \\u{code}")));
    }
    let help = "close it with the same marks; text over several lines stands between \"\"\"…\"\"\" or '''…'''";
    said("unclosed_string", "a string that is not closed", help)
}

/// A line that is no `key = value`.
fn key_alone(text: &str, span: &Range<usize>) -> Words {
    let line = line_of(text, span).trim();
    let (colon, equals) = (line.find(':'), line.find('='));
    match (colon, equals) {
        (Some(colon), equals) if equals.is_none_or(|equals| colon < equals) => {
            let key = line.get(..colon).unwrap_or_default().trim();
            let value = line.get(colon + 1..).unwrap_or_default().trim().trim_matches('"');
            let value =
                if value.is_empty() || value.starts_with(['|', '>']) { "…".to_owned() } else { shortened(value) };
            let help = format!("write {key} = \"{value}\"");
            ("syntax", "`:` does not separate key and value here".to_owned(), Some(help))
        }
        (_, Some(_)) => said(
            "syntax",
            "a key that would need quotation marks",
            "keys hold letters, digits, `_` and `-`, and no space",
        ),
        _ => said(
            "syntax",
            "`=` is missing after the key",
            "write `key = value`; text over several lines stands between '''…'''",
        ),
    }
}

/// Something after a value that was complete.
fn after_value(text: &str, span: &Range<usize>) -> Words {
    let before = text.get(line_start(text, span.start)..span.start).unwrap_or_default();
    let help = if before.contains('"') {
        "one `key = value` a line; text that holds quotation marks stands between '''…'''"
    } else {
        "write one `key = value` a line"
    };
    said("syntax", "something stands after the value", help)
}

/// A list in which something is missing: a comma, or its end when the next line is a key of its own.
fn in_list(text: &str, span: &Range<usize>) -> Words {
    let line = line_of(text, span);
    if line.trim_start().starts_with('[') || line.contains('=') && !line.contains('[') {
        return said("unclosed_list", "a list that is not closed", "close it with `]`");
    }
    said("syntax", "a comma is missing between two items of a list", "separate them with `,`")
}
