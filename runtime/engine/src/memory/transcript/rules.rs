//! What each dialect's providers refuse, as a checker: the property that every history built by the reader has, stated
//! apart from the code that builds it.

use std::collections::HashSet;

use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{PromptMessage, UserPart};

/// A dialect, by what its providers refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Chat completions: ids of at most 40 characters, results directly after their calls.
    OpenAi,
    /// Responses: likewise, ids of at most 64 characters.
    OpenAiResponses,
    /// Messages: the person speaks first, ids of `[A-Za-z0-9_-]`, no blank text.
    Anthropic,
    /// Contents: the person speaks first, a call follows a person's or a tool's turn, as many results as calls.
    Gemini,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    fn longest_id(self) -> usize {
        match self {
            Self::OpenAi => 40,
            _ => 64,
        }
    }
}

/// Whether a provider of this dialect would take these messages.
///
/// # Errors
/// The first thing it would refuse, with the number of the message.
pub fn check(dialect: Dialect, messages: &[PromptMessage]) -> Result<(), String> {
    let mut checker = Checker { dialect, seen: HashSet::new(), open: Vec::new(), before: None };
    for (number, message) in messages.iter().enumerate() {
        checker.message(message).map_err(|fault| format!("message {number}: {fault}"))?;
    }
    checker.end()
}

struct Checker<'a> {
    dialect: Dialect,
    seen: HashSet<&'a str>,
    /// Calls whose results must come next.
    open: Vec<(&'a str, &'a str)>,
    /// The last message that is no system text.
    before: Option<&'a PromptMessage>,
}

impl<'a> Checker<'a> {
    fn message(&mut self, message: &'a PromptMessage) -> Result<(), String> {
        if !self.open.is_empty() && !matches!(message, PromptMessage::Tool(_)) {
            return Err(format!("calls without results: {:?}", self.open));
        }
        match message {
            PromptMessage::System(text) if text.trim().is_empty() => return Err("a blank system text".into()),
            PromptMessage::System(_) if self.before.is_some() => return Err("a system text after the beginning".into()),
            PromptMessage::System(_) => return Ok(()),
            PromptMessage::User(parts) => user(parts)?,
            PromptMessage::Assistant { text, calls, .. } => self.assistant(text, calls)?,
            PromptMessage::Tool(results) => self.results(results)?,
        }
        self.before = Some(message);
        Ok(())
    }

    fn assistant(&mut self, text: &str, calls: &'a [ToolCall]) -> Result<(), String> {
        if self.before.is_none() {
            return Err("the person must speak first".into());
        }
        let says = !text.trim().is_empty();
        if !text.is_empty() && !says {
            return Err("a blank text".into());
        }
        if !says && calls.is_empty() {
            return Err("neither text nor call".into());
        }
        let after_an_answer = matches!(self.before, Some(PromptMessage::Assistant { .. }));
        if self.dialect == Dialect::Gemini && !calls.is_empty() && after_an_answer {
            return Err("a call that follows neither a person nor a tool".into());
        }
        for call in calls {
            self.call(call)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &'a ToolCall) -> Result<(), String> {
        named(&call.id, self.dialect.longest_id()).map_err(|fault| format!("id {:?} {fault}", call.id))?;
        named(&call.name, 64).map_err(|fault| format!("name {:?} {fault}", call.name))?;
        if !self.seen.insert(&call.id) {
            return Err(format!("id {:?} comes twice", call.id));
        }
        self.open.push((&call.id, &call.name));
        Ok(())
    }

    fn results(&mut self, results: &'a [ToolResult]) -> Result<(), String> {
        let answered: Vec<(&str, &str)> =
            results.iter().map(|result| (result.call_id.as_str(), result.name.as_str())).collect();
        if answered.is_empty() || answered != self.open {
            return Err(format!("results {answered:?} for calls {:?}", self.open));
        }
        self.open.clear();
        Ok(())
    }

    fn end(&self) -> Result<(), String> {
        if !self.open.is_empty() {
            return Err(format!("calls without results: {:?}", self.open));
        }
        match self.before {
            None => Err("no message but system texts".into()),
            Some(PromptMessage::Assistant { .. }) => Err("the last message is the model's own".into()),
            Some(_) => Ok(()),
        }
    }
}

fn user(parts: &[UserPart]) -> Result<(), String> {
    let blank = |part: &UserPart| matches!(part, UserPart::Text(text) if text.trim().is_empty());
    if parts.is_empty() || parts.iter().any(blank) { Err("a person's message without words".into()) } else { Ok(()) }
}

fn named(text: &str, longest: usize) -> Result<(), &'static str> {
    let legal = text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    match text.len() {
        0 => Err("is empty"),
        length if length > longest => Err("is too long"),
        _ if !legal => Err("has illegal letters"),
        _ => Ok(()),
    }
}
