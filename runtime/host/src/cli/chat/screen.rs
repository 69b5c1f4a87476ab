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

/// Writes the events of turns.
pub(super) struct Screen<W> {
    out: W,
    style: Style,
    last: Last,
    /// Whether the last character written ended a line.
    at_start: bool,
    /// Names of the calls under way, by id.
    calls: HashMap<String, String>,
}

impl<W: Write> Screen<W> {
    pub(super) fn new(out: W, style: Style) -> Self {
        Self { out, style, last: Last::Nothing, at_start: true, calls: HashMap::new() }
    }

    /// Writes one event; the ends of a turn only finish the line.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub(super) fn show(&mut self, event: &TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Text(words) => self.words(words)?,
            TurnEvent::Reasoning(words) => self.thinking(words)?,
            TurnEvent::ToolCalled { id, name, arguments } => {
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
        self.out.flush()
    }

    /// Ends the line that is open, if one is.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.leave_thinking()?;
        if !self.at_start {
            self.put("\n")?;
        }
        self.last = Last::Nothing;
        self.out.flush()
    }

    fn words(&mut self, words: &str) -> io::Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        if self.last != Last::Words {
            self.fresh_line()?;
            self.last = Last::Words;
        }
        self.put(words)
    }

    fn thinking(&mut self, words: &str) -> io::Result<()> {
        if words.is_empty() {
            return Ok(());
        }
        if self.last != Last::Thinking {
            self.fresh_line()?;
            self.style_with(DIM)?;
            self.put("(thinking) ")?;
            self.last = Last::Thinking;
        }
        self.put(words)
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.fresh_line()?;
        self.style_with(DIM)?;
        self.put(text)?;
        self.style_with(PLAIN)?;
        self.put("\n")?;
        self.last = Last::Line;
        Ok(())
    }

    fn fresh_line(&mut self) -> io::Result<()> {
        self.leave_thinking()?;
        if self.at_start { Ok(()) } else { self.put("\n") }
    }

    fn leave_thinking(&mut self) -> io::Result<()> {
        if self.last == Last::Thinking {
            self.style_with(PLAIN)?;
            self.last = Last::Nothing;
        }
        Ok(())
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
