//! JSON bodies: the right content type, not too large, in time, and of the door's own form.

mod form;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::limits::BODY_TIMEOUT;

/// A request's body, read and checked.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Json<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        check_type(request.headers())?;
        parse(&read(request, app.config.load().body_limit).await?).map(Self)
    }
}

/// A body that may be left out; then all its fields are absent.
pub(crate) struct OptionalJson<T>(pub(crate) T);

impl<T: DeserializeOwned + Default> FromRequest<Arc<App>> for OptionalJson<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, ApiError> {
        let typed = check_type(request.headers());
        let body = read(request, app.config.load().body_limit).await?;
        if body.is_empty() {
            return Ok(Self(T::default()));
        }
        typed?;
        parse(&body).map(Self)
    }
}

/// Only JSON, with or without parameters: a page of another site can send anything else without asking first.
fn check_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = value.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    let message = "the body must be sent with `content-type: application/json`";
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

fn too_large(limit: usize) -> ApiError {
    let message = format!("the body is larger than the limit of {limit} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message).detail("limit", limit.into())
}

pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, ApiError> {
    let (parts, body) = request.into_parts();
    let length = parts.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let length = length.and_then(|length| usize::try_from(length).ok());
    let far_too_large = length.is_some_and(|length| length > limit.saturating_mul(DRAINED));
    if far_too_large || (parts.headers.contains_key(EXPECT) && length.is_some_and(|length| length > limit)) {
        return Err(too_large(limit));
    }
    match tokio::time::timeout(BODY_TIMEOUT, collect(body, limit, length)).await {
        Ok(read) => read,
        Err(_) => {
            let message = format!("the body was not there after {} s", BODY_TIMEOUT.as_secs());
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", message))
        }
    }
}

/// A body too large is read on (and thrown away) up to this many times the limit: most clients read the answer only
/// after they have sent everything.
const DRAINED: usize = 4;

async fn collect(mut body: Body, limit: usize, length: Option<usize>) -> Result<Bytes, ApiError> {
    let mut kept = BytesMut::with_capacity(length.unwrap_or(0).min(limit).min(64 * 1024));
    let mut seen = 0_usize;
    while let Some(frame) = body.frame().await {
        let broken = |_| ApiError::invalid("the body broke off");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        seen = seen.saturating_add(data.len());
        if seen <= limit {
            kept.extend_from_slice(&data);
        } else {
            kept = BytesMut::new();
            if seen > limit.saturating_mul(DRAINED) {
                break;
            }
        }
    }
    if seen > limit { Err(too_large(limit)) } else { Ok(kept.freeze()) }
}

/// Messages name the field, or line and column; nesting is bounded by the parser.
fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        Category::Data => form::fault::<T>(body),
        Category::Syntax | Category::Eof | Category::Io => {
            ApiError::new(StatusCode::BAD_REQUEST, "invalid_json", format!("the body is no legal JSON: {error}"))
        }
    })
}

/// An answer in JSON.
pub(crate) fn answer(status: StatusCode, body: &impl Serialize) -> Response {
    match serde_json::to_vec(body) {
        Ok(bytes) => {
            let mut response = Response::new(Body::from(bytes));
            *response.status_mut() = status;
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the answer cannot be written").into_response()
        }
    }
}

/// 200 in JSON.
pub(crate) fn ok(body: &impl Serialize) -> Response {
    answer(StatusCode::OK, body)
}
