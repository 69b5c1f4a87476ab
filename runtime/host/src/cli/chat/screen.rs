//! A turn as a person reads it: words as they come, thinking and tools marked so that they can be told apart without
//! colour too.

use std::collections::HashMap;
use std::io::{self, Write};

use roster_engine::turn::TurnEvent;
use roster_model::message::ToolResult;
use serde_json::Value;

/// A tool's result is cut after so many characters; the thread holds all of it.
const LONGEST_RESULT: usize = 300;
const DIM: &str = "\u{1b}[2m";
const PLAIN: &str = "\u{1b}[0m";

/// How the terminal is spoken to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Style {
    /// Thinking and tools may be dimmed.
    pub(super) colour: bool,
    /// A person's terminal reads it: what a model says must not steer it.
    pub(super) terminal: bool,
}

/// What was written last, so that kinds do not run into one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Words,
    Thinking,
    Line,
}

/// Writes the events of turns: the answer, and beside it thinking and tools, either in one place or apart.
pub(super) struct Screen<W, A> {
    answer: Channel<W>,
    /// Where thinking and tools go; `None`: where the answer goes.
    aside: Option<Channel<A>>,
    last: Last,
    /// Names of the calls under way, by id.
    calls: HashMap<String, String>,
}

impl<W: Write, A: Write> Screen<W, A> {
    /// Everything in one place.
    pub(super) fn new(out: W, style: Style) -> Self {
        Self { answer: Channel::new(out, style), aside: None, last: Last::Nothing, calls: HashMap::new() }
    }

    /// The answer alone in `out`, the rest in `aside`.
    pub(super) fn apart(out: W, style: Style, aside: A, aside_style: Style) -> Self {
        Self { aside: Some(Channel::new(aside, aside_style)), ..Self::new(out, style) }
    }

    /// Writes one event; the ends of a turn only finish the line.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub(super) fn show(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Text(words) => self.words(words)?,
            TurnEvent::Reasoning(words) => self.thinking(words)?,
            TurnEvent::ToolCalled { id, name, arguments, .. } => {
                self.calls.insert(id.clone(), name.clone());
                self.line(&format!("-> {name} {}", Value::Object(arguments.clone())))?;
            }
            TurnEvent::ToolFinished(result) => {
                let name = self.calls.remove(&result.call_id).unwrap_or_else(|| result.name.clone());
                self.line(&result_line(&name, result))?;
            }
            TurnEvent::Finished { .. } | TurnEvent::Failed(_) => self.end()?,
            TurnEvent::Started { .. }
            | TurnEvent::ToolStarted { .. }
            | TurnEvent::ToolArguments { .. }
            | TurnEvent::StepFinished { .. } => {}
        }
        self.flush()
    }

    /// Ends the lines that are open.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.leave_thinking()?;
        self.answer.fresh_line()?;
        self.last = Last::Nothing;
        self.flush()
    }

    fn words(&mut self, words: &str) -> io::Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        if self.last != Last::Words {
            self.leave_thinking()?;
            self.answer.fresh_line()?;
            self.last = Last::Words;
        }
        self.answer.put(words)
    }

    fn thinking(&mut self, words: &str) -> io::Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        let begins = self.last != Last::Thinking;
        self.last = Last::Thinking;
        self.beside(|out| {
            if begins {
                out.fresh_line()?;
                out.style_with(DIM)?;
                out.put("(thinking) ")?;
            }
            out.put(words)
        })
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.leave_thinking()?;
        self.last = Last::Line;
        self.beside(|out| {
            out.fresh_line()?;
            out.style_with(DIM)?;
            out.put(text)?;
            out.style_with(PLAIN)?;
            out.put("\n")
        })
    }

    fn leave_thinking(&mut self) -> io::Result<()> {
        if self.last != Last::Thinking {
            return Ok(());
        }
        self.last = Last::Nothing;
        self.beside(|out| {
            out.style_with(PLAIN)?;
            out.fresh_line()
        })
    }

    /// Writes what is not the answer.
    fn beside(&mut self, write: impl FnOnce(&mut dyn Lines) -> io::Result<()>) -> io::Result<()> {
        match &mut self.aside {
            // Nobody reading it is no failure: the answer is what was asked for.
            Some(aside) => {
                let _ = write(aside);
                Ok(())
            }
            None => write(&mut self.answer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if let Some(aside) = &mut self.aside {
            let _ = aside.out.flush();
        }
        self.answer.out.flush()
    }
}

/// What can be written line by line, whichever of the two places it is.
trait Lines {
    /// Ends the line that is open, if one is.
    fn fresh_line(&mut self) -> io::Result<()>;
    /// Changes how the terminal shows what follows.
    fn style_with(&mut self, code: &str) -> io::Result<()>;
    /// Writes a text.
    fn put(&mut self, text: &str) -> io::Result<()>;
}

/// One place written to.
struct Channel<W> {
    out: W,
    style: Style,
    /// Whether the last character written ended a line.
    at_start: bool,
}

impl<W> Channel<W> {
    fn new(out: W, style: Style) -> Self {
        Self { out, style, at_start: true }
    }
}

impl<W: Write> Lines for Channel<W> {
    fn fresh_line(&mut self) -> io::Result<()> {
        if self.at_start { Ok(()) } else { self.put("\n") }
    }

    fn style_with(&mut self, code: &str) -> io::Result<()> {
        if self.style.colour { self.out.write_all(code.as_bytes()) } else { Ok(()) }
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        if let Some(last) = text.chars().next_back() {
            self.at_start = last == '\n';
        }
        if !self.style.terminal || !text.chars().any(steers) {
            return self.out.write_all(text.as_bytes());
        }
        let tame: String = text.chars().map(|c| if steers(c) { char::REPLACEMENT_CHARACTER } else { c }).collect();
        self.out.write_all(tame.as_bytes())
    }
}

/// Whether a terminal would act on this character instead of showing it.
fn steers(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
}

fn result_line(name: &str, result: &ToolResult) -> String {
    let text = match &result.output {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let text = shortened(&text.replace('\n', " "));
    if result.is_error { format!("<- {name} failed: {text}") } else { format!("<- {name} {text}") }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST_RESULT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
