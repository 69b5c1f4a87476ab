//! A scripted reply.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::answer::{Answer, Call};
use super::dialect::{Form, ServerDialect};
use super::gate::Gate;
use super::script::Script;

/// What the server answers to one request. Clones are cheap and share what was rendered.
#[derive(Debug, Clone)]
pub struct Reply {
    plan: Arc<Plan>,
    rendered: Arc<[OnceLock<Arc<Script>>; Form::COUNT]>,
}

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
    pub(super) split: Option<usize>,
    /// A pause before each piece but the first.
    pub(super) every: Option<Duration>,
    /// A pause before the first byte.
    pub(super) delay: Option<Duration>,
    pub(super) holds: Vec<(Place, Gate)>,
    pub(super) ending: Ending,
}

#[derive(Debug, Clone)]
pub(super) enum Body {
    /// A model's answer: a stream or one body, as the request asks.
    Answer(Answer),
    /// A stream as it stands, whatever the request asks.
    Stream(Bytes),
    /// One body with its length.
    Whole(Bytes),
    /// Not even a head.
    Nothing,
}

/// Where an answer can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Head,
    Piece(usize),
    End,
}

/// How an answer ends; the numbers count bytes of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Whole, and the connection stays.
    Complete,
    /// A legal end of the HTTP body after so many bytes, and the connection stays.
    Short(usize),
    /// The connection is closed without an end of the HTTP body.
    Cut(usize),
    /// The connection is reset.
    Reset(usize),
}

impl Reply {
    fn of(body: Body) -> Self {
        let plan = Plan {
            status: 200,
            headers: Vec::new(),
            body,
            split: None,
            every: None,
            delay: None,
            holds: Vec::new(),
            ending: Ending::Complete,
        };
        Self { plan: Arc::new(plan), rendered: Arc::default() }
    }

    fn edit(mut self, change: impl FnOnce(&mut Plan)) -> Self {
        change(Arc::make_mut(&mut self.plan));
        self.rendered = Arc::default();
        self
    }

    fn edit_answer(self, change: impl FnOnce(&mut Answer)) -> Self {
        self.edit(|plan| {
            if let Body::Answer(answer) = &mut plan.body {
                change(answer);
            }
        })
    }

    /// The model says this, a word a frame when the request streams.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::of(Body::Answer(Answer { text: text.into(), ..Answer::new() }))
    }

    /// The model calls tools: `(id, name, arguments as JSON text)`.
    #[must_use]
    pub fn tool_calls<'a>(calls: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>) -> Self {
        let calls = calls.into_iter().map(|(id, name, arguments)| Call {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        });
        Self::of(Body::Answer(Answer { calls: calls.collect(), ..Answer::new() }))
    }

    /// A `text/event-stream` of exactly these bytes, whatever the request asks; one piece unless split.
    #[must_use]
    pub fn raw_sse(bytes: impl Into<Bytes>) -> Self {
        Self::of(Body::Stream(bytes.into())).header("content-type", "text/event-stream")
    }

    /// A JSON body with this status.
    #[must_use]
    pub fn json(status: u16, body: &Value) -> Self {
        Self::raw(status, body.to_string()).header("content-type", "application/json")
    }

    /// A body of exactly these bytes with its length; no content type unless set.
    #[must_use]
    pub fn raw(status: u16, body: impl Into<Bytes>) -> Self {
        Self::of(Body::Whole(body.into())).status(status)
    }

    /// A refusal in the form the real providers use.
    #[must_use]
    pub fn error(status: u16, kind: &str, code: Option<&str>, message: &str) -> Self {
        Self::json(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
    }

    /// A refusal in the form of a dialect: what the status means there.
    #[must_use]
    pub fn refusal(dialect: ServerDialect, status: u16, message: &str) -> Self {
        let kind = match status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..=499 => "invalid_request_error",
            _ => "api_error",
        };
        let google = match status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 | 529 => "UNAVAILABLE",
            400..=499 => "INVALID_ARGUMENT",
            _ => "INTERNAL",
        };
        match dialect {
            ServerDialect::Chat | ServerDialect::Responses => Self::error(status, kind, None, message),
            ServerDialect::Messages => {
                Self::json(status, &json!({"type": "error", "error": {"type": kind, "message": message}}))
            }
            ServerDialect::Contents => {
                Self::json(status, &json!({"error": {"code": status, "message": message, "status": google}}))
            }
        }
    }

    /// Reads the request and closes the connection without a byte.
    #[must_use]
    pub fn nothing() -> Self {
        Self::of(Body::Nothing)
    }

    /// Another status.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        self.edit(|plan| plan.status = status)
    }

    /// A header more; a name set before is replaced.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        self.edit(|plan| {
            plan.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
            plan.headers.push((name.to_owned(), value.to_owned()));
        })
    }

    /// Thinking before the answer.
    #[must_use]
    pub fn reasoning(self, text: &str) -> Self {
        self.edit_answer(|answer| text.clone_into(&mut answer.reasoning))
    }

    /// Words before the tool calls.
    #[must_use]
    pub fn and_text(self, text: &str) -> Self {
        self.edit_answer(|answer| text.clone_into(&mut answer.text))
    }

    /// Another model name than `scripted-1`.
    #[must_use]
    pub fn model(self, model: &str) -> Self {
        self.edit_answer(|answer| model.clone_into(&mut answer.model))
    }

    /// Another finish reason than the one that fits.
    #[must_use]
    pub fn finish(self, reason: &str) -> Self {
        self.edit_answer(|answer| answer.finish = Some(reason.to_owned()))
    }

    /// Other tokens than 7 and 3. A stream tells them only when the request asks.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.edit_answer(|answer| answer.usage = Some((input, output)))
    }

    /// Never tells tokens.
    #[must_use]
    pub fn no_usage(self) -> Self {
        self.edit_answer(|answer| answer.usage = None)
    }

    /// Leaves out `data: [DONE]`.
    #[must_use]
    pub fn without_done(self) -> Self {
        self.edit_answer(|answer| answer.done_mark = false)
    }

    /// Cuts the body into pieces of so many bytes; each is one HTTP chunk and one write.
    #[must_use]
    pub fn split_every(self, bytes: usize) -> Self {
        self.edit(|plan| plan.split = Some(bytes.max(1)))
    }

    /// A pause between the pieces (frames, or what [`Reply::split_every`] made).
    #[must_use]
    pub fn words_every(self, pause: Duration) -> Self {
        self.edit(|plan| plan.every = Some(pause))
    }

    /// A pause before the first byte.
    #[must_use]
    pub fn delay(self, pause: Duration) -> Self {
        self.edit(|plan| plan.delay = Some(pause))
    }

    /// Sends nothing until the gate is open.
    #[must_use]
    pub fn hold(self, gate: &Gate) -> Self {
        self.edit(|plan| plan.holds.push((Place::Head, gate.clone())))
    }

    /// Sends the head and the pieces before number `piece` (from 0), then waits. Of a text answer piece 0 is the role,
    /// piece 1 the first word.
    #[must_use]
    pub fn hold_before(self, piece: usize, gate: &Gate) -> Self {
        self.edit(|plan| plan.holds.push((Place::Piece(piece), gate.clone())))
    }

    /// Sends everything, then waits before the end of the body.
    #[must_use]
    pub fn hold_end(self, gate: &Gate) -> Self {
        self.edit(|plan| plan.holds.push((Place::End, gate.clone())))
    }

    /// Ends the body cleanly after so many bytes of it.
    #[must_use]
    pub fn end_after(self, bytes: usize) -> Self {
        self.edit(|plan| plan.ending = Ending::Short(bytes))
    }

    /// Closes the connection after so many bytes of the body, without ending the body.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        self.edit(|plan| plan.ending = Ending::Cut(bytes))
    }

    /// Resets the connection after so many bytes of the body.
    #[must_use]
    pub fn reset_after(self, bytes: usize) -> Self {
        self.edit(|plan| plan.ending = Ending::Reset(bytes))
    }

    /// The script for a request of this form; rendered once.
    pub(super) fn script(&self, form: Form) -> Arc<Script> {
        let slot = &self.rendered[form.slot()];
        Arc::clone(slot.get_or_init(|| Arc::new(Script::render(&self.plan, form))))
    }
}
