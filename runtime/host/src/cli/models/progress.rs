//! How far an import is, on stderr: one line that is written over on a terminal, a few lines elsewhere.

use std::io::{IsTerminal, Write, stderr};

use roster_embed::local::import::Progress;

/// What was told so far.
pub(super) struct Told {
    terminal: bool,
    /// The share told last, in hundredths.
    last: Option<u64>,
}

impl Told {
    pub(super) fn new() -> Self {
        Self { terminal: stderr().is_terminal(), last: None }
    }

    pub(super) fn tell(&mut self, progress: Progress) {
        let Some(share) = self.due(progress) else { return };
        // Nobody reading it is no failure.
        let _ = match self.terminal {
            true => write!(stderr(), "\runpacking the weights: {share} %"),
            false => writeln!(stderr(), "unpacking the weights: {share} %"),
        };
    }

    /// The share in hundredths, when it is time to tell it: each one on a terminal, each quarter elsewhere.
    fn due(&mut self, Progress { done, total }: Progress) -> Option<u64> {
        let step = if self.terminal { 1 } else { 25 };
        let share = (done * 100).checked_div(total).unwrap_or(100).min(100) / step * step;
        let is_new = self.last != Some(share);
        self.last = Some(share);
        is_new.then_some(share)
    }

    /// Ends the line that is written over.
    pub(super) fn end(&self) {
        if self.terminal && self.last.is_some() {
            let _ = writeln!(stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(terminal: bool, done: &[u64], expected: &[u64]) {
        let mut told = Told { terminal, last: None };
        let shares: Vec<u64> = done.iter().filter_map(|done| told.due(Progress { done: *done, total: 200 })).collect();
        assert_eq!(shares, expected);
    }

    #[test]
    fn a_share_is_told_once() {
        check(true, &[0, 1, 2, 3, 100, 200, 200], &[0, 1, 50, 100]);
        check(false, &[0, 1, 49, 50, 60, 199, 200], &[0, 25, 75, 100]);
        assert_eq!(Told { terminal: true, last: None }.due(Progress { done: 0, total: 0 }), Some(100));
    }
}
