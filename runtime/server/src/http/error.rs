//! Failures get their status here and nowhere else. Two faces: a machine code and a message for the client; the chain
//! stays in the log.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{StatusCode, Uri};
use roster_engine::registry::ControlError;
use roster_engine::turn::{Failure, FailureKind, TurnRefused};
use roster_model::provider::ProviderErrorKind;
use roster_model::storage::{StoreError, StoreErrorKind};
use serde::Serialize;
use serde_json::Value;

/// The OpenAI clients send a failed request again twice unless this header is `false`.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// A failure on its way to a client.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    /// The status.
    pub(crate) status: StatusCode,
    /// Machine code.
    pub(crate) code: &'static str,
    /// For people; no path, SQL, secret or stack.
    pub(crate) message: String,
    /// The field of the request at fault.
    pub(crate) param: Option<String>,
    /// How long to wait before trying again.
    pub(crate) retry_after: Option<Duration>,
    /// One more field of the plain form.
    pub(crate) detail: Option<(&'static str, Value)>,
    /// The question is stored: asking again would store it again.
    pub(crate) question_stored: bool,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, code, message, param: None, retry_after: None, detail: None, question_stored: false }
    }

    /// 400: the request is not what the door takes.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request", message)
    }

    /// 404.
    pub(crate) fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// Names the field at fault.
    pub(crate) fn param(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Says how long to wait.
    pub(crate) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Says whether the question is stored, unless that is known already.
    pub(crate) fn question_stored(mut self, stored: bool) -> Self {
        self.question_stored |= stored;
        self
    }

    /// Adds a field to the plain form.
    pub(crate) fn detail(mut self, name: &'static str, value: Value) -> Self {
        self.detail = Some((name, value));
        self
    }

    /// The OpenAI form's `error` object.
    pub(crate) fn openai(&self) -> OpenAiError<'_> {
        let kind = openai_type(self.status);
        OpenAiError {
            error: OpenAiFields { message: &self.message, kind, param: self.param.as_deref(), code: self.code },
        }
    }

    fn plain(&self) -> Vec<u8> {
        let mut body = serde_json::Map::new();
        body.insert("error".to_owned(), Value::from(self.message.as_str()));
        body.insert("code".to_owned(), Value::from(self.code));
        if let Some((name, value)) = &self.detail {
            body.insert((*name).to_owned(), value.clone());
        }
        Value::Object(body).to_string().into_bytes()
    }
}

/// `{"error":{"message","type","param","code"}}`.
#[derive(Debug, Serialize)]
pub(crate) struct OpenAiError<'a> {
    error: OpenAiFields<'a>,
}

#[derive(Debug, Serialize)]
struct OpenAiFields<'a> {
    message: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<&'a str>,
    code: &'static str,
}

fn openai_type(status: StatusCode) -> &'static str {
    match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        400..=499 => "invalid_request_error",
        _ => "server_error",
    }
}

impl IntoResponse for ApiError {
    /// The plain form; [`shape`] turns it into the OpenAI form on `/v1`.
    fn into_response(self) -> Response {
        let mut response = self.plain().into_response();
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        if self.question_stored {
            headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives an error the form of the door it leaves by.
pub(crate) fn shape(uri: &Uri, mut response: Response) -> Response {
    let path = uri.path();
    let is_openai = path == "/v1" || path.starts_with("/v1/");
    if let Some(error) = response.extensions_mut().remove::<ApiError>()
        && is_openai
        && let Ok(body) = serde_json::to_vec(&error.openai())
    {
        response.headers_mut().remove(http::header::CONTENT_LENGTH);
        *response.body_mut() = body.into();
    }
    response
}

/// How long a client should wait when a queue is full.
const A_MOMENT: Duration = Duration::from_secs(1);

impl From<TurnRefused> for ApiError {
    fn from(refused: TurnRefused) -> Self {
        let message = refused.to_string();
        match refused {
            TurnRefused::Busy => Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message).retry_after(A_MOMENT),
            TurnRefused::Draining => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "draining", message).retry_after(A_MOMENT)
            }
            TurnRefused::NoQuestion => Self::invalid(message).param("messages"),
        }
    }
}

impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let busy = failure.kind == FailureKind::Store(StoreErrorKind::Busy);
        let mut error = Self::new(status_of(failure.kind), failure.code, failure.message);
        error.retry_after = failure.retry_after.or(busy.then_some(A_MOMENT));
        error.question_stored(failure.question_stored)
    }
}

impl From<StoreError> for ApiError {
    /// The store's own words go to the log, once, here.
    fn from(error: StoreError) -> Self {
        match error.kind {
            StoreErrorKind::NotFound => Self::not_found("not_found", "there is no such conversation"),
            StoreErrorKind::Invalid => Self::invalid("the page cursor is none of this runtime's"),
            // Nothing failed: that memory has no way to do it.
            StoreErrorKind::Unsupported => Self::from(Failure::from(&error)),
            kind => {
                tracing::error!(?kind, %error, source = ?error.source, "sessions store failed");
                Self::from(Failure::from(&error))
            }
        }
    }
}

impl From<ControlError> for ApiError {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        match error {
            ControlError::UnknownAgent(_) => Self::not_found("agent_not_found", message),
            ControlError::UnknownVersion { .. } => Self::not_found("version_not_found", message).param("fingerprint"),
            ControlError::Unservable { .. } => {
                Self::new(StatusCode::CONFLICT, "version_unservable", message).param("fingerprint")
            }
            ControlError::Ledger(error) => {
                tracing::error!(kind = ?error.kind, %error, source = ?error.source, "the ledger failed");
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "ledger_unavailable", message).retry_after(A_MOMENT)
            }
            ControlError::UnknownPlugin(_) => Self::not_found("plugin_not_found", message),
            ControlError::PluginRefused { .. } => Self::new(StatusCode::CONFLICT, "plugin_refused", message),
            ControlError::Stopping => TurnRefused::Draining.into(),
        }
    }
}

fn status_of(kind: FailureKind) -> StatusCode {
    match kind {
        FailureKind::Provider(kind) => provider_status(kind),
        FailureKind::Store(kind) => store_status(kind),
        FailureKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        FailureKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        // The same request would end the same way: no 5xx, which clients try again.
        FailureKind::Budget | FailureKind::Blocked => StatusCode::UNPROCESSABLE_ENTITY,
        FailureKind::Processor => StatusCode::BAD_GATEWAY,
        FailureKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn provider_status(kind: ProviderErrorKind) -> StatusCode {
    use ProviderErrorKind as Kind;
    match kind {
        Kind::BadRequest | Kind::ContextLength | Kind::ContentFilter => StatusCode::BAD_REQUEST,
        Kind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Kind::KeyMissing | Kind::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
        Kind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        Kind::Connect | Kind::Auth | Kind::Server | Kind::NotFound | Kind::Truncated | Kind::Protocol | Kind::Empty => {
            StatusCode::BAD_GATEWAY
        }
    }
}

fn store_status(kind: StoreErrorKind) -> StatusCode {
    match kind {
        StoreErrorKind::NotFound => StatusCode::NOT_FOUND,
        StoreErrorKind::Conflict | StoreErrorKind::Elsewhere => StatusCode::CONFLICT,
        StoreErrorKind::Unsupported => StatusCode::NOT_IMPLEMENTED,
        StoreErrorKind::Unavailable | StoreErrorKind::Busy => StatusCode::SERVICE_UNAVAILABLE,
        StoreErrorKind::Full => StatusCode::INSUFFICIENT_STORAGE,
        StoreErrorKind::Invalid => StatusCode::BAD_REQUEST,
        StoreErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
