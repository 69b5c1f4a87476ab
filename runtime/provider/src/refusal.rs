//! What a provider says when it refuses or fails, brought to one of the model's kinds.
//!
//! Error bodies come in many forms: `{"error":{"message","type","code"}}`, `{"error":"text"}`, `{"message","code"}`,
//! `{"detail":…}`, a list with one such object, plain text, an HTML page. The code decides first where it is exact,
//! then the HTTP status, then the broad type, then the words.

use std::time::Duration;

use reqwest::StatusCode;
use roster_model::provider::{ProviderError, ProviderErrorKind};
use serde_json::Value;

use crate::retry::span;

/// Most characters of a message that are handed on.
const MAX_MESSAGE: usize = 300;
/// A longer code or type is none, and is not shown.
const MAX_LABEL: usize = 64;

/// What a provider said about its failure.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The HTTP status, or what stands for one inside a stream.
    pub(crate) status: Option<u16>,
    /// The exact code.
    pub(crate) code: Option<String>,
    /// The broad type.
    pub(crate) family: Option<String>,
    /// The wait that stands in the body; Gemini puts it there.
    pub(crate) retry_after: Option<Duration>,
    /// The words, whole: they are shortened once the secrets in them are masked.
    pub(crate) message: String,
}

impl Refusal {
    /// Reads the body of an HTTP answer with an error status.
    pub(crate) fn from_body(status: StatusCode, body: &[u8]) -> Self {
        let mut refusal = match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(&value),
            Err(_) => Self { message: plain_text(body), ..Self::default() },
        };
        refusal.status = Some(status.as_u16());
        refusal
    }

    /// Reads an error object, with or without its envelope.
    pub(crate) fn from_value(value: &Value) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = match &value["error"] {
            Value::Null => value,
            error => error,
        };
        let message = [error, &error["message"], &error["detail"], &value["message"], &value["detail"], &error["msg"]]
            .into_iter()
            .find_map(Value::as_str)
            .map_or_else(|| error.to_string(), str::to_owned);
        let code = word(&error["code"]).or_else(|| word(&value["code"]));
        let family = word(&error["type"]).or_else(|| word(&error["status"]));
        // Some tell the exact code below their details only.
        let reason = error["details"].as_array().into_iter().flatten().find_map(|detail| word(&detail["reason"]));
        let wait = error["details"].as_array().into_iter().flatten().find_map(|detail| detail["retryDelay"].as_str());
        let retry_after = wait.and_then(span);
        let status = code.as_deref().and_then(as_status).or_else(|| family.as_deref().and_then(as_status));
        let code = code.filter(|code| as_status(code).is_none()).or(reason);
        Self { status, code, family, retry_after, message: message.trim().to_owned() }
    }

    /// The kind of failure this is.
    pub(crate) fn kind(&self) -> ProviderErrorKind {
        let words = [self.code.as_deref(), self.family.as_deref()];
        let exact = words.iter().flatten().find_map(|word| exact_kind(word));
        exact
            .or_else(|| self.too_long())
            .or_else(|| self.status.and_then(status_kind))
            .or_else(|| words.iter().flatten().find_map(|word| broad_kind(word)))
            .unwrap_or(ProviderErrorKind::Server)
    }

    /// The failure, with what it was called: `refused by the provider (429 rate_limit_exceeded): …`.
    pub(crate) fn into_error(self) -> ProviderError {
        let kind = self.kind();
        let status = self.status.map(|status| status.to_string());
        let named = self.code.as_deref().or(self.family.as_deref());
        let label: Vec<&str> = [status.as_deref(), named].into_iter().flatten().collect();
        let mut message = if label.is_empty() { "error".to_owned() } else { format!("error {}", label.join(" ")) };
        if !self.message.is_empty() {
            message.push_str(": ");
            message.push_str(&self.message);
        }
        ProviderError { status: self.status, retry_after: self.retry_after, ..ProviderError::new(kind, message) }
    }

    /// Some servers tell a prompt that is too long in words only.
    fn too_long(&self) -> Option<ProviderErrorKind> {
        if !self.status.is_none_or(|status| matches!(status, 400 | 413 | 422)) {
            return None;
        }
        let message = self.message.to_ascii_lowercase();
        let told = [
            "maximum context length",
            "context length exceeded",
            "context window",
            "prompt is too long",
            "exceed context limit",
            "exceeds the maximum number of tokens",
        ];
        told.iter().any(|words| message.contains(words)).then_some(ProviderErrorKind::ContextLength)
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() && text.chars().count() <= MAX_LABEL => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn as_status(code: &str) -> Option<u16> {
    code.parse().ok().filter(|status| (400..600).contains(status))
}

/// Codes that say more than the status they come with.
fn exact_kind(code: &str) -> Option<ProviderErrorKind> {
    use ProviderErrorKind as Kind;
    Some(match code {
        "context_length_exceeded" | "string_above_max_length" | "context_window_exceeded" => Kind::ContextLength,
        "model_not_found" | "model_not_exist" | "deployment_not_found" | "DeploymentNotFound" => Kind::NotFound,
        "content_filter" | "content_policy_violation" | "data_inspection_failed" | "DataInspectionFailed" => {
            Kind::ContentFilter
        }
        // An empty account does not fill while one waits: for the operator, as a refused key is.
        "insufficient_quota" | "billing_not_active" | "billing_hard_limit_reached" | "insufficient_balance" => {
            Kind::Auth
        }
        "invalid_api_key" | "API_KEY_INVALID" | "invalid_issuer" | "authentication_error" | "permission_error" => {
            Kind::Auth
        }
        _ => return None,
    })
}

/// What a status means by itself.
pub(crate) fn status_kind(status: u16) -> Option<ProviderErrorKind> {
    use ProviderErrorKind as Kind;
    Some(match status {
        401..=403 => Kind::Auth,
        404 => Kind::NotFound,
        408 | 504 => Kind::Timeout,
        429 => Kind::RateLimited,
        425 | 503 | 529 => Kind::Overloaded,
        400..=499 => Kind::BadRequest,
        500..=599 => Kind::Server,
        _ => return None,
    })
}

/// Types that name a class.
fn broad_kind(family: &str) -> Option<ProviderErrorKind> {
    use ProviderErrorKind as Kind;
    let family = family.to_ascii_lowercase();
    let has = |word: &str| family.contains(word);
    Some(if has("overloaded") || has("unavailable") || has("capacity") {
        Kind::Overloaded
    } else if has("rate_limit") || has("ratelimit") || has("too_many_requests") || has("resource_exhausted") {
        Kind::RateLimited
    } else if has("timeout") || has("deadline") {
        Kind::Timeout
    } else if has("server") || has("internal") || has("api_error") || has("upstream") {
        Kind::Server
    } else if has("authentication") || has("permission") || has("unauthorized") {
        Kind::Auth
    } else if has("not_found") || has("notfound") {
        Kind::NotFound
    } else if has("invalid") || has("bad_request") || has("badrequest") {
        Kind::BadRequest
    } else {
        return None;
    })
}

fn plain_text(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    if text.starts_with('<') { "an HTML page instead of an answer".to_owned() } else { text.to_owned() }
}

/// One line of at most [`MAX_MESSAGE`] characters, without the period at its end.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_end_matches('.');
    if line.chars().count() <= MAX_MESSAGE {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(MAX_MESSAGE - 1).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests;
