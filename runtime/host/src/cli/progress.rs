//! How far long work is, on stderr: one line that is written over on a terminal, a few lines elsewhere.

use std::io::{IsTerminal, Write, stderr};

/// What was told so far.
pub(super) struct Told {
    /// What is being done.
    what: &'static str,
    terminal: bool,
    /// The share told last, in hundredths.
    last: Option<u64>,
}

impl Told {
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, terminal: stderr().is_terminal(), last: None }
    }

    pub(super) fn tell(&mut self, done: u64, total: u64) {
        let Some(share) = self.due(done, total) else { return };
        let what = self.what;
        // Nobody reading it is no failure.
        let _ = match self.terminal {
            true => write!(stderr(), "\r{what}: {share} %"),
            false => writeln!(stderr(), "{what}: {share} %"),
        };
    }

    /// The share in hundredths, when it is time to tell it: each one on a terminal, each quarter elsewhere.
    fn due(&mut self, done: u64, total: u64) -> Option<u64> {
        let step = if self.terminal { 1 } else { 25 };
        let share = (done * 100).checked_div(total).unwrap_or(100).min(100) / step * step;
        let is_new = self.last != Some(share);
        self.last = Some(share);
        is_new.then_some(share)
    }
}

/// Ends the line that is written over.
impl Drop for Told {
    fn drop(&mut self) {
        if self.terminal && self.last.is_some() {
            let _ = writeln!(stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(terminal: bool, done: &[u64], expected: &[u64]) {
        let mut told = Told { what: "working", terminal, last: None };
        let shares: Vec<u64> = done.iter().filter_map(|done| told.due(*done, 200)).collect();
        assert_eq!(shares, expected);
    }

    #[test]
    fn a_share_is_told_once() {
        check(true, &[0, 1, 2, 3, 100, 200, 200], &[0, 1, 50, 100]);
        check(false, &[0, 1, 49, 50, 60, 199, 200], &[0, 25, 75, 100]);
        assert_eq!(Told { what: "working", terminal: true, last: None }.due(0, 0), Some(100));
    }
}
