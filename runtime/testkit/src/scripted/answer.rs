//! A model's answer in the form of each dialect, as frames of a stream and as one body.

mod chat;
mod contents;
mod messages;
mod responses;

pub(super) use messages::SIGNATURE;
pub(super) use responses::ENCRYPTED;

use bytes::Bytes;
use serde_json::Value;

use super::dialect::ServerDialect;

/// One call of a tool in an answer.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
}

/// What a model says, before it is put in a form.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) model: String,
    pub(super) reasoning: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
    /// `None`: by what the answer holds.
    pub(super) finish: Option<String>,
    /// Tokens of prompt and answer; `None`: the server never tells.
    pub(super) usage: Option<(u64, u64)>,
    pub(super) done_mark: bool,
}

impl Answer {
    pub(super) fn new() -> Self {
        Self {
            model: "scripted-1".to_owned(),
            reasoning: String::new(),
            text: String::new(),
            calls: Vec::new(),
            finish: None,
            usage: Some((7, 3)),
            done_mark: true,
        }
    }

    /// The frames of a stream.
    pub(super) fn frames(&self, dialect: ServerDialect, with_usage: bool) -> Vec<Bytes> {
        match dialect {
            ServerDialect::Chat => self.chat_frames(with_usage),
            ServerDialect::Responses => self.responses_frames(),
            ServerDialect::Messages => self.messages_frames(),
            ServerDialect::Contents => self.contents_frames(),
        }
    }

    /// The whole answer as one JSON body.
    pub(super) fn body(&self, dialect: ServerDialect) -> Bytes {
        let body = match dialect {
            ServerDialect::Chat => self.chat_body(),
            ServerDialect::Responses => self.responses_body(),
            ServerDialect::Messages => self.messages_body(),
            ServerDialect::Contents => self.contents_body(),
        };
        Bytes::from(body.to_string())
    }

    /// The finish reason scripted, else the word that fits.
    fn finish_or<'a>(&'a self, stop: &'a str, calls: &'a str) -> &'a str {
        match &self.finish {
            Some(finish) => finish,
            None if self.calls.is_empty() => stop,
            None => calls,
        }
    }
}

/// The arguments of a call as the object they should be; a text that is none stays one.
fn object(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| Value::from(arguments))
}

fn frame(value: &Value) -> Bytes {
    Bytes::from(format!("data: {value}\n\n"))
}

/// A frame whose event has the name of its type.
fn named_frame(value: &Value) -> Bytes {
    Bytes::from(format!("event: {}\ndata: {value}\n\n", value["type"].as_str().unwrap_or_default()))
}

/// Cuts after each run of blanks, so that the pieces joined are the text again.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ').filter(|word| !word.is_empty())
}
