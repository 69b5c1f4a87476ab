//! Where the lines of a text begin: for files with thousands of problems, each of which would otherwise count lines
//! from the top.

use std::ops::Range;

use super::problem::Problem;

/// The beginnings of a text's lines.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Of `source`.
    #[must_use]
    pub fn new(source: &'a str) -> Self {
        let after = source.match_indices('\n').map(|(at, _)| at + 1);
        Self { source, starts: std::iter::once(0).chain(after).collect() }
    }

    /// Puts `problem` at bytes `span` of the text, as [`Problem::at`] would.
    #[must_use]
    pub fn place(&self, mut problem: Problem, span: Range<usize>) -> Problem {
        let line = self.starts.partition_point(|start| *start <= span.start).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let before = self.source.get(start..span.start.min(self.source.len())).unwrap_or_default();
        problem.line = Some(line);
        problem.column = Some(before.chars().count() + 1);
        problem.span = Some(span);
        problem
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_problems() {
        for source in ["", "a", "a\n漢b\n\nc", "\n"] {
            let lines = Lines::new(source);
            for at in (0..=source.len()).filter(|at| source.is_char_boundary(*at)) {
                let problem = Problem::error("x", "f", "m");
                assert_eq!(lines.place(problem.clone(), at..at), problem.at(source, at..at), "{source:?} {at}");
            }
        }
    }
}
