//! What people and programs are told.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthChar;

use super::judge::Fault;
use crate::error::HostError;

/// Columns of a line.
const WIDTH: usize = 80;
/// Lines of one value at most.
const MOST_LINES: usize = 12;

/// What came of a file.
#[derive(Debug, Serialize)]
pub(super) struct FileReport {
    /// The file, as it is shown.
    pub(super) file: String,
    pub(super) agent: String,
    pub(super) tests: Vec<TestReport>,
    /// What is wrong with no single test.
    pub(super) problems: Vec<Fault>,
    /// Recorded answers nobody asked for.
    pub(super) unused: usize,
    /// The cassette that was written, with how many answers.
    pub(super) recorded: Option<(String, usize)>,
}

/// What came of a test.
#[derive(Debug, Serialize)]
pub(super) struct TestReport {
    pub(super) name: String,
    /// Turns that ran.
    pub(super) turns: usize,
    pub(super) model_calls: usize,
    pub(super) tokens: u64,
    /// Empty: passed.
    pub(super) faults: Vec<Fault>,
    /// What was said in the turn that is not as expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) said: Option<String>,
}

impl TestReport {
    pub(super) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), turns: 0, model_calls: 0, tokens: 0, faults: Vec::new(), said: None }
    }

    fn passed(&self) -> bool {
        self.faults.is_empty()
    }
}

impl FileReport {
    pub(super) fn new(file: &str, agent: &str) -> Self {
        let (file, agent) = (file.to_owned(), agent.to_owned());
        Self { file, agent, tests: Vec::new(), problems: Vec::new(), unused: 0, recorded: None }
    }

    pub(super) fn with_problem(mut self, what: &str) -> Self {
        self.problems.push(Fault::new(what));
        self
    }

    pub(super) fn with_error(mut self, error: &HostError) -> Self {
        let hint = error.hint_text().map(str::to_owned);
        self.problems.push(Fault { hint, ..Fault::new(error.to_string()) });
        self
    }

    /// Whether all is as expected.
    pub(super) fn passed(&self) -> bool {
        self.problems.is_empty() && self.tests.iter().all(TestReport::passed)
    }

    /// For people, in lines of 80 columns.
    pub(super) fn text(&self) -> String {
        let mut out = format!("{}\n", self.file);
        for problem in &self.problems {
            line(&mut out, "  FAIL  ", &problem.what);
            told(&mut out, problem);
        }
        for test in &self.tests {
            let word = if test.passed() { "  ok    " } else { "  FAIL  " };
            line(&mut out, word, &test.name);
            if let Some(said) = &test.said {
                line(&mut out, &format!("        turn {}: ", test.turns), said);
            }
            for fault in &test.faults {
                line(&mut out, "        ", &fault.what);
                told(&mut out, fault);
            }
        }
        if self.unused > 0 {
            let what = format!(
                "note: {} recorded answers were not asked for; `roster test --record {}` drops them",
                self.unused, self.file
            );
            line(&mut out, "  ", &what);
        }
        if let Some((file, count)) = &self.recorded {
            line(&mut out, "  ", &format!("recorded {count} answers in {file}"));
        }
        out
    }
}

/// All files, for programs.
pub(super) fn json(reports: &[FileReport]) -> Value {
    let (passed, failed) = counts(reports);
    json!({"passed": passed, "failed": failed, "files": reports})
}

/// The last line, for people.
pub(super) fn summary(reports: &[FileReport]) -> String {
    let (passed, failed) = counts(reports);
    format!("{passed} passed, {failed} failed\n")
}

/// A file with problems of its own counts as one more that failed.
fn counts(reports: &[FileReport]) -> (usize, usize) {
    let tests = || reports.iter().flat_map(|report| &report.tests);
    let passed = tests().filter(|test| test.passed()).count();
    let broken = reports.iter().filter(|report| !report.problems.is_empty()).count();
    (passed, tests().count() - passed + broken)
}

/// `-` what was expected, `+` what came.
fn told(out: &mut String, fault: &Fault) {
    for (mark, value) in [("          - ", &fault.expected), ("          + ", &fault.got)] {
        let Some(value) = value else { continue };
        if value.is_empty() {
            line(out, mark, "(nothing)");
        }
        for (at, text) in value.lines().enumerate() {
            if at == MOST_LINES {
                line(out, "            ", "…");
                break;
            }
            line(out, mark, text);
        }
    }
    if let Some(hint) = &fault.hint {
        line(out, "          ", hint);
    }
}

/// A text behind its head, cut into lines of the width; at most [`MOST_LINES`] of them.
fn line(out: &mut String, head: &str, text: &str) {
    let room = WIDTH - head.len();
    let indent = " ".repeat(head.len());
    let mut lines = text.lines().flat_map(|text| pieces(text, room));
    let first = lines.next().unwrap_or_default();
    let _ = writeln!(out, "{}", format!("{head}{first}").trim_end());
    for (at, piece) in lines.enumerate() {
        if at == MOST_LINES {
            let _ = writeln!(out, "{indent}…");
            break;
        }
        let _ = writeln!(out, "{}", format!("{indent}{piece}").trim_end());
    }
}

/// The text in pieces of so many columns, broken at spaces where there are any; control characters are left out.
fn pieces(text: &str, room: usize) -> Vec<String> {
    let (mut done, mut open, mut used) = (Vec::new(), String::new(), 0);
    for c in text.chars().filter(|c| !c.is_control()) {
        let columns = c.width().unwrap_or_default();
        if used + columns > room {
            let rest = match open.rfind(' ') {
                Some(at) if at > room / 2 => open.split_off(at + 1),
                _ => String::new(),
            };
            used = rest.chars().map(|c| c.width().unwrap_or_default()).sum();
            done.push(std::mem::replace(&mut open, rest));
        }
        open.push(c);
        used += columns;
    }
    done.push(open);
    done
}
