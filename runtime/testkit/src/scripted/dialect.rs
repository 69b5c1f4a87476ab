//! In which form a request is put, and is answered.

use super::recorded::RecordedRequest;

/// A form of requests and answers, told by the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerDialect {
    /// Chat completions, at `/chat/completions`; also taken where the path tells nothing.
    Chat,
    /// OpenAI's responses, at `/responses`.
    Responses,
    /// Anthropic's messages, at `/messages`.
    Messages,
    /// Gemini's contents, at `…:generateContent` and `…:streamGenerateContent`.
    Contents,
}

impl ServerDialect {
    /// How many there are.
    pub(super) const COUNT: usize = 4;

    /// The form of requests to this path.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/responses") {
            Self::Responses
        } else if path.ends_with("/messages") {
            Self::Messages
        } else if path.ends_with("enerateContent") {
            Self::Contents
        } else {
            Self::Chat
        }
    }

    pub(super) fn slot(self) -> usize {
        match self {
            Self::Chat => 0,
            Self::Responses => 1,
            Self::Messages => 2,
            Self::Contents => 3,
        }
    }
}

/// What an answer is rendered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) dialect: ServerDialect,
    pub(super) kind: Kind,
}

/// As which the request wants its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Whole,
    Stream,
    StreamWithUsage,
}

impl Form {
    pub(super) const COUNT: usize = 3 * ServerDialect::COUNT;

    pub(super) fn of(request: &RecordedRequest) -> Self {
        let dialect = ServerDialect::of(request.path());
        let asked = |body: &serde_json::Value| {
            (body["stream"].as_bool() == Some(true), body["stream_options"]["include_usage"].as_bool() == Some(true))
        };
        let (streams, with_usage) = request.json().map(asked).unwrap_or_default();
        let streams = if dialect == ServerDialect::Contents {
            request.path().contains(":streamGenerateContent")
        } else {
            streams
        };
        let kind = match (streams, with_usage) {
            (false, _) => Kind::Whole,
            (true, false) => Kind::Stream,
            (true, true) => Kind::StreamWithUsage,
        };
        Self { dialect, kind }
    }

    pub(super) fn slot(self) -> usize {
        let kind = match self.kind {
            Kind::Whole => 0,
            Kind::Stream => 1,
            Kind::StreamWithUsage => 2,
        };
        3 * self.dialect.slot() + kind
    }
}
