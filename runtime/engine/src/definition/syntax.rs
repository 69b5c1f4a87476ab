//! From text to the spanned tree: depth is bounded before anything recurses, and duplicate keys are problems of which
//! the first counts.

mod words;

use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;
use toml_parser::lexer::TokenKind;

use super::problem::{MOST_PROBLEMS, Problem};

/// How deep lists, inline tables and dotted keys may go, together.
pub const MAX_NESTING: usize = 64;

/// The code of a key that stands twice.
pub const DUPLICATE_KEY: &str = "duplicate_key";

/// A file's tree, as far as it could be read.
#[derive(Debug)]
pub struct Parsed<'t> {
    /// The root table; after problems it holds what could be recovered.
    pub root: Spanned<DeTable<'t>>,
    /// Where the first table header is; keys of the top level stand before it.
    pub first_header: Option<Range<usize>>,
    /// What is wrong with the syntax.
    pub problems: Vec<Problem>,
    /// Whether the tree may lack keys that the file holds.
    pub incomplete: bool,
    /// The byte after which the tree is not believed: something open swallowed what follows.
    pub believed_to: usize,
}

/// Parses `text`. Duplicate keys are problems; the first counts.
#[must_use]
pub fn parse<'t>(file: &str, text: &'t str) -> Parsed<'t> {
    let scan = scan(text);
    let mut parsed = Parsed {
        root: Spanned::new(0..0, DeTable::new()),
        first_header: scan.first_header.clone(),
        problems: merge_marks(file, text),
        incomplete: true,
        believed_to: usize::MAX,
    };
    if !parsed.problems.is_empty() {
        return parsed;
    }
    if let Some(at) = scan.too_deep {
        let message = format!("lists, tables and dotted keys are nested more than {MAX_NESTING} levels deep");
        let problem = Problem::error("nested_too_deep", file, message).at(text, at..at + 1);
        parsed.problems.push(problem.help("nothing in this file needs more than a few levels"));
        return parsed;
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    parsed.root = root;
    // Each is placed by counting lines from the top: a bound, so that a large file of noise costs no minutes.
    let errors = errors.iter().take(4 * MOST_PROBLEMS);
    parsed.problems = errors.map(|error| words::explain(file, text, error, &scan)).collect();
    parsed.incomplete = parsed.problems.iter().any(|problem| problem.code != DUPLICATE_KEY);
    parsed.believed_to = one_a_line(&mut parsed.problems);
    parsed
}

/// One mistake often makes the parser stumble several times; the first of a line says it best. An open bracket
/// swallows what follows, so nothing after it is believed. Gives the byte up to which the rest may be.
fn one_a_line(problems: &mut Vec<Problem>) -> usize {
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems.dedup_by_key(|problem| problem.line);
    let swallows = |problem: &Problem| matches!(problem.code, "unclosed_list" | "unclosed_table" | "unclosed_header");
    let Some(end) = problems.iter().position(swallows) else { return usize::MAX };
    if problems[end].code != "unclosed_header" {
        problems.truncate(end + 1);
    }
    problems[end].span.as_ref().map_or(usize::MAX, |span| span.start)
}

/// What the tokens tell before anything is parsed.
#[derive(Debug, Default)]
struct Scan {
    first_header: Option<Range<usize>>,
    too_deep: Option<usize>,
    /// Where brackets begin that nothing closes, outermost first.
    unclosed: Vec<usize>,
    /// Strings over several lines, as a whole.
    long_strings: Vec<Range<usize>>,
}

/// Walks the tokens without recursion. Dotted keys count as depth, since each dot makes a table in a table.
fn scan(text: &str) -> Scan {
    let mut found = Scan::default();
    // Of each open bracket: where it is, and how many levels it and the key before it add.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let (mut outer, mut dots, mut header, mut line_is_empty) = (0_usize, 0_usize, None, true);
    for token in toml_parser::Source::new(text).lex() {
        let span = token.span().start()..token.span().end();
        match token.kind() {
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                if open.is_empty() && line_is_empty && token.kind() == TokenKind::LeftSquareBracket {
                    header = header.or(Some(span.start));
                }
                open.push((span.start, dots + 1));
                outer += dots + 1;
                dots = 0;
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                outer -= open.pop().map_or(0, |(_, levels)| levels);
                dots = 0;
                if let (Some(start), None) = (header, &found.first_header) {
                    found.first_header = Some(start..span.end);
                }
            }
            TokenKind::Dot => dots += 1,
            TokenKind::Comma => dots = 0,
            TokenKind::Newline => dots = 0,
            TokenKind::MlBasicString | TokenKind::MlLiteralString => found.long_strings.push(span.clone()),
            _ => {}
        }
        line_is_empty = match token.kind() {
            TokenKind::Newline => true,
            TokenKind::Whitespace => line_is_empty,
            _ => false,
        };
        if outer + dots > MAX_NESTING {
            found.too_deep = Some(span.start);
            return found;
        }
    }
    found.unclosed = open.into_iter().map(|(start, _)| start).collect();
    found
}

/// What a version control system leaves in a file when two people changed the same lines.
fn merge_marks(file: &str, text: &str) -> Vec<Problem> {
    if !text.contains("<<<<<<<") && !text.contains(">>>>>>>") {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim_end();
        let is_mark = |mark: &str| bare.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        if problems.len() > MOST_PROBLEMS {
            break;
        }
        if is_mark("<<<<<<<") || is_mark(">>>>>>>") {
            let mark = bare.get(..7).unwrap_or_default();
            let message = format!("a mark of an unfinished merge, `{mark}`, stands in the file");
            let help = "choose one of the two versions and delete the marks; if they belong to a text, indent them";
            problems
                .push(Problem::error("merge_conflict", file, message).at(text, offset..offset + bare.len()).help(help));
        }
        offset += line.len();
    }
    problems
}
