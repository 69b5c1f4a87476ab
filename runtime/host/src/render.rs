//! Problems for people and for programs.

mod line;

use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use roster_engine::definition::{Problem, Severity};

use line::Excerpt;

/// How problems are shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether the terminal shows colours.
    pub colour: bool,
    /// Its width in columns; long lines are cut, long words are not.
    pub width: usize,
}

impl Default for Style {
    fn default() -> Self {
        Self { colour: false, width: 80 }
    }
}

/// Sorts by file, line and column; problems of a whole file come first.
pub fn sort(problems: &mut [Problem]) {
    problems.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
}

/// The problems with their lines, sorted, and a closing line that counts them; empty for none. `source` gives the text
/// of a file, when it is known.
#[must_use]
pub fn to_text<'s>(problems: &[Problem], source: &dyn Fn(&str) -> Option<&'s str>, style: Style) -> String {
    if problems.is_empty() {
        return String::new();
    }
    let mut sorted = problems.to_vec();
    sort(&mut sorted);
    let mut text = String::new();
    for problem in &sorted {
        text.push_str(&one(problem, source(&problem.file), style));
        text.push_str("\n\n");
    }
    text.push_str(&count(&sorted));
    text.push('\n');
    text
}

/// The problems as a JSON array, sorted.
///
/// # Errors
/// Never in practice: a problem is made of texts and numbers.
pub fn to_json(problems: &[Problem]) -> Result<String, serde_json::Error> {
    let mut sorted = problems.to_vec();
    sort(&mut sorted);
    serde_json::to_string_pretty(&sorted)
}

/// `2 errors and 1 warning in 2 files`.
#[must_use]
pub fn count(problems: &[Problem]) -> String {
    let errors = problems.iter().filter(|problem| problem.is_error()).count();
    let mut files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let mut words = String::new();
    if errors > 0 {
        let _ = write!(words, "{}", many(errors, "error"));
    }
    if problems.len() > errors {
        let joint = if errors > 0 { " and " } else { "" };
        let _ = write!(words, "{joint}{}", many(problems.len() - errors, "warning"));
    }
    let _ = write!(words, " in {}", many(files.len(), "file"));
    words
}

fn many(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn one(problem: &Problem, source: Option<&str>, style: Style) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let number_width = problem.line.map_or(1, |line| line.to_string().len());
    let head = "warning[]: ".len() + problem.code.len();
    let title = level.primary_title(wrapped(&problem.message, style.width.saturating_sub(head))).id(problem.code);
    let excerpt = source
        .filter(|source| !source.is_empty())
        .and_then(|source| Excerpt::of(problem, source, style.width.saturating_sub(number_width + 3)));
    let mut group = Group::with_title(title);
    group = match &excerpt {
        Some(excerpt) => group.element(
            Snippet::source(excerpt.text.as_str())
                .path(problem.file.as_str())
                .line_start(excerpt.line)
                .annotation(AnnotationKind::Primary.span(excerpt.caret.clone())),
        ),
        None => group.element(origin(problem)),
    };
    if let Some(help) = &problem.help {
        let room = style.width.saturating_sub(number_width + "  = help: ".len());
        group = group.element(Element::from(Level::HELP.message(wrapped(help, room))));
    }
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    let shown = renderer.term_width(usize::from(u16::MAX)).render(&[group]);
    match &excerpt {
        // The excerpt may be a part of its line; the place is that of the whole.
        Some(excerpt) => excerpt.corrected(&shown, problem),
        // Without a line there is no margin; with one all problems stand alike.
        None => shown.replace("\n--> ", "\n --> ").replace("\n = ", "\n  = ").replace("\n         ", "\n          "),
    }
}

fn origin(problem: &Problem) -> Origin<'_> {
    let origin = Origin::path(problem.file.as_str());
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => origin.line(line).char_column(column),
        _ => origin,
    }
}

/// Breaks at spaces so that no line has more than `width` characters, where words allow it.
fn wrapped(text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = line::columns(word);
        if used > 0 && used + 1 + length > width {
            lines.push('\n');
            used = 0;
        } else if used > 0 {
            lines.push(' ');
            used += 1;
        }
        lines.push_str(word);
        used += length;
    }
    lines
}

#[cfg(test)]
mod tests;
