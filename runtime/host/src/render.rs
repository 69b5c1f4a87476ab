//! Problems for people and for programs.

mod line;
mod wrap;

use std::fmt::{Display, Write as _};

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};
use roster_engine::definition::{Problem, Severity};

use line::Excerpt;
use wrap::wrapped;

use crate::config::secret::without_credentials;

/// How problems are shown to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Whether the terminal shows colours.
    pub colour: bool,
    /// Its width in columns; long lines of files are cut, long words are not.
    pub width: usize,
    /// Whether messages are broken into lines of that width. Only for terminals: what searches a log wants them whole.
    pub wrap: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { colour: false, width: 80, wrap: false }
    }
}

impl Style {
    /// Columns left for a message beside `taken` ones.
    fn room(self, taken: usize) -> usize {
        if self.wrap { self.width.saturating_sub(taken) } else { usize::MAX }
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
    let mut sorted: Vec<Problem> = problems.iter().map(shown).collect();
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
    let mut sorted: Vec<Problem> = problems.iter().map(shown).collect();
    sort(&mut sorted);
    serde_json::to_string_pretty(&sorted)
}

/// A problem as it may be shown: its words may quote an address with credentials in it.
pub(crate) fn shown(problem: &Problem) -> Problem {
    let masked = |text: &str| without_credentials(text).into_owned();
    Problem { message: masked(&problem.message), help: problem.help.as_deref().map(masked), ..problem.clone() }
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

/// `1 thread`, `2 threads`.
#[must_use]
pub fn many<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn one(problem: &Problem, source: Option<&str>, style: Style) -> String {
    let level = match problem.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let number_width = problem.line.map_or(1, |line| line.to_string().len());
    let head = "warning[]: ".len() + problem.code.len();
    let title = level.primary_title(wrapped(&problem.message, style.room(head))).id(problem.code);
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
        let room = style.room(number_width + "  = help: ".len());
        group = group.element(Element::from(Level::HELP.message(wrapped(help, room))));
    }
    let renderer = if style.colour { Renderer::styled() } else { Renderer::plain() };
    let shown = renderer.term_width(usize::from(u16::MAX)).render(&[group]);
    match &excerpt {
        // The excerpt may be a part of its line; the place is that of the whole.
        Some(excerpt) => excerpt.corrected(&shown, problem),
        None => with_margin(&shown),
    }
}

/// Without a line of a file there is no margin for its number; with one all problems stand alike.
fn with_margin(shown: &str) -> String {
    let mut text = String::with_capacity(shown.len() + 4);
    let mut below_title = false;
    for (index, line) in shown.split('\n').enumerate() {
        below_title = index > 0 && (below_title || line.contains("--> "));
        text.push_str(if index > 0 { "\n" } else { "" });
        text.push_str(if below_title { " " } else { "" });
        text.push_str(line);
    }
    text
}

fn origin(problem: &Problem) -> Origin<'_> {
    let origin = Origin::path(problem.file.as_str());
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => origin.line(line).char_column(column),
        _ => origin,
    }
}

/// On one line, without whatever would move a terminal's cursor.
pub(crate) fn one_line(words: &str, most: usize) -> String {
    let clean: String = words.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let line = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests;
