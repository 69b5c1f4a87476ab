//! What a child says on its standard error, into the log: masked, and no more than a person could read.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Duration, Instant};

use super::secrets::Secrets;

/// The longest line shown; the rest of it is dropped.
const LONGEST: usize = 1_000;
/// Lines at once, and how often one more is allowed.
const BURST: u32 = 40;
const EVERY: Duration = Duration::from_millis(100);

/// Reads until the child closes its end.
pub(super) async fn log(server: String, secrets: Arc<Secrets>, mut from: impl AsyncRead + Unpin) {
    let mut gate = Gate::new(Instant::now());
    let (mut buffer, mut line) = ([0_u8; 4096], Vec::new());
    let mut say = |line: &mut Vec<u8>| {
        let text = secrets.shown(&String::from_utf8_lossy(line), LONGEST);
        line.clear();
        if text.is_empty() {
            return;
        }
        if let Some(dropped) = gate.pass(Instant::now()) {
            if dropped > 0 {
                tracing::info!(server, dropped, "MCP server says too much; lines were left out");
            }
            tracing::info!(server, "MCP server: {text}");
        }
    };
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        for byte in &buffer[..read] {
            match byte {
                b'\n' => say(&mut line),
                byte if line.len() < LONGEST * 4 => line.push(*byte),
                _ => {}
            }
        }
    }
    say(&mut line);
}

/// Lets so many lines through and counts the others.
struct Gate {
    left: u32,
    last: Instant,
    dropped: u64,
}

impl Gate {
    fn new(now: Instant) -> Self {
        Self { left: BURST, last: now, dropped: 0 }
    }

    /// How many were dropped before this one; `None`: this one is dropped too.
    fn pass(&mut self, now: Instant) -> Option<u64> {
        let earned = now.duration_since(self.last).as_millis() / EVERY.as_millis();
        if earned > 0 {
            self.left = BURST.min(self.left.saturating_add(u32::try_from(earned).unwrap_or(u32::MAX)));
            self.last = now;
        }
        if self.left == 0 {
            self.dropped += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.dropped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_told_later() {
        let start = Instant::now();
        let mut gate = Gate::new(start);
        let passed = (0..1_000).filter(|_| gate.pass(start).is_some()).count();
        assert_eq!(passed, BURST as usize);
        assert_eq!(gate.pass(start + EVERY), Some(1_000 - u64::from(BURST)));
        assert_eq!(gate.pass(start + EVERY), None);
    }
}
