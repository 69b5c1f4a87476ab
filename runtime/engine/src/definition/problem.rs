//! Problems: what a person's file got wrong, where, and what to do about it.

use std::fmt;

use serde::Serialize;

/// Whether a problem stops something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// What it speaks of is not served.
    Error,
    /// It is served; somebody should look.
    Warning,
}

/// One problem of one file. Sorts by place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// How bad.
    pub severity: Severity,
    /// Machine code: `unknown_key`, `wrong_type`, `syntax` …
    pub code: &'static str,
    /// A lowercase fragment without a closing period, names in backticks.
    pub message: String,
    /// The file, relative to the project root.
    pub file: String,
    /// Line, from 1; absent when the problem is of the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The agent it concerns, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The bytes of the source the caret stands under; not part of the JSON form.
    #[serde(skip)]
    pub span: Option<std::ops::Range<usize>>,
}

impl Problem {
    /// An error of a whole file.
    #[must_use]
    pub fn error(code: &'static str, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            message: message.into(),
            file: file.into(),
            line: None,
            column: None,
            help: None,
            agent: None,
            span: None,
        }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(code: &'static str, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, file, message) }
    }

    /// Puts it at bytes `span` of `source`.
    #[must_use]
    pub fn at(mut self, source: &str, span: std::ops::Range<usize>) -> Self {
        let (line, column) = line_and_column(source, span.start);
        self.line = Some(line);
        self.column = Some(column);
        self.span = Some(span);
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Names the agent.
    #[must_use]
    pub fn of(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    /// Whether it stops something.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    /// `agents/keeper.toml:3:1: error[unknown_key]: unknown key …`, one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, ":{line}:{column}")?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, ": {severity}[{}]: {}", self.code, self.message)
    }
}

/// Problems listed of one file. A file of noise has one for each line; the first hundred tell as much.
pub const MOST_PROBLEMS: usize = 100;

/// Keeps the first [`MOST_PROBLEMS`] of a file's problems, in the order given, and says so when there are more.
pub fn keep_first(problems: &mut Vec<Problem>, file: &str) {
    if problems.len() <= MOST_PROBLEMS {
        return;
    }
    problems.truncate(MOST_PROBLEMS);
    let message = format!("the file has more problems; these are the first {MOST_PROBLEMS}");
    problems.push(Problem::error("more_problems", file, message).help("mend these, and check again"));
}

/// Line and column (both from 1, the column in characters) of a byte offset; an offset past the end is the end.
#[must_use]
pub fn line_and_column(source: &str, offset: usize) -> (usize, usize) {
    let mut end = offset.min(source.len());
    while !source.is_char_boundary(end) {
        end -= 1;
    }
    let before = &source[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("a\n漢b", 5), (2, 2));
        assert_eq!(line_and_column("a\n漢b", 3), (2, 1), "inside a character: its beginning");
        assert_eq!(line_and_column("", 9), (1, 1));
    }
}
