//! Lines typed by a person or sent through a pipe.

use std::io::{self, BufRead, IsTerminal, Write, stderr, stdin};
use std::thread;

use tokio::signal;
use tokio::sync::mpsc;

/// What came.
pub(super) enum Line {
    /// A line without its end.
    Text(String),
    /// No more: Ctrl-D, the end of the pipe, or Ctrl-C with no turn running.
    End,
}

/// Reads stdin on a thread of its own, so that a turn can run while nobody types.
pub(super) struct Lines {
    lines: mpsc::Receiver<io::Result<String>>,
    prompt: bool,
}

impl Lines {
    /// Begins to read.
    pub(super) fn read() -> Self {
        // One line ahead at most: the rest of a pipe waits in the pipe.
        let (sender, lines) = mpsc::channel(1);
        // Never joined: it ends with its input or with the process.
        thread::spawn(move || {
            for line in stdin().lock().lines() {
                if sender.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { lines, prompt: stdin().is_terminal() && stderr().is_terminal() }
    }

    /// The next line; a prompt is shown only where a person sees it.
    ///
    /// # Errors
    /// When the input cannot be read, for example because it is no text.
    pub(super) async fn next(&mut self) -> io::Result<Line> {
        if self.prompt {
            let mut out = stderr().lock();
            write!(out, "> ")?;
            out.flush()?;
        }
        tokio::select! {
            line = self.lines.recv() => match line {
                Some(line) => Ok(Line::Text(line?)),
                None => Ok(self.finished()),
            },
            _ = signal::ctrl_c() => Ok(self.finished()),
        }
    }

    fn finished(&self) -> Line {
        if self.prompt {
            let _ = writeln!(stderr().lock());
        }
        Line::End
    }
}
