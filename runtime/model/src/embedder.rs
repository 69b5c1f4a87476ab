//! Text embedders: texts in, vectors out. What compares vectors is not here.

use crate::BoxFuture;

/// What kind of failure an embedder had; decides whether to try again and what the operator is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbedErrorKind {
    /// The weights are not there; the hint says how to get them.
    MissingWeights,
    /// The weights are there and cannot be read or do not fit together.
    DamagedWeights,
    /// The variable that should hold the provider's key is not set.
    KeyMissing,
    /// No answer in time, overload, too many requests, or a broken server: the same call may succeed later.
    Unreachable,
    /// The provider said no: the key, the model's name or the request. The same call will not succeed later.
    Refused,
    /// A text is longer than the model takes.
    TooLong,
    /// An answer that cannot be read, or whose vectors do not fit the texts.
    BadAnswer,
    /// The embedder's own thread ended without an answer.
    Stopped,
}

impl EmbedErrorKind {
    /// Machine code shown to clients and in problems.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::MissingWeights => "embedder_weights_missing",
            Self::DamagedWeights => "embedder_weights_damaged",
            Self::KeyMissing => "embedder_key_missing",
            Self::Unreachable => "embedder_unreachable",
            Self::Refused => "embedder_refused",
            Self::TooLong => "embedder_text_too_long",
            Self::BadAnswer => "embedder_bad_answer",
            Self::Stopped => "embedder_stopped",
        }
    }

    /// Whether the same call may succeed a moment later with nothing changed by a person.
    #[must_use]
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Unreachable | Self::BadAnswer | Self::Stopped)
    }
}

/// An embedder's failure. The whole call failed: there are no vectors for some of its texts only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct EmbedError {
    /// What kind.
    pub kind: EmbedErrorKind,
    /// For people: what failed; no key, no text that was to be embedded, no path.
    pub message: String,
    /// What a person can do about it, where there is something.
    pub hint: Option<String>,
}

impl EmbedError {
    /// A failure of this kind with this message and no hint.
    #[must_use]
    pub fn new(kind: EmbedErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }
}

/// An embedder of texts.
pub trait Embedder: Send + Sync {
    /// Identifies model, version and dimensions: vectors are comparable if and only if their spaces are equal strings.
    /// Stored beside every vector. Never changes while the object lives.
    fn space(&self) -> &str;
    /// How long every vector is; `0` while that is not known before the first answer (a remote model whose
    /// configuration does not say).
    fn dimensions(&self) -> usize;
    /// One vector for each text, in order. A vector has length 1 by the Euclidean norm, so that a dot product is the
    /// cosine; a text in which there is nothing to compare may get the zero vector, whose cosine with everything is 0.
    /// Texts longer than the embedder takes are cut where its documentation says so, else they are an error. Dropping
    /// the future gives up the call. It never blocks the thread that polls it for long.
    ///
    /// # Errors
    /// [`EmbedError`]; its kind says whether trying again makes sense.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>>;
}
