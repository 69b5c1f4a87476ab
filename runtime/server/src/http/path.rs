//! Ids in paths, percent-decoded exactly once. They are keys and nothing else.

use axum::extract::{FromRequestParts, Path};
use http::request::Parts;
use roster_model::id::ThreadId;

use crate::http::error::ApiError;

/// The `{id}` of a path as text.
pub(crate) struct IdText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for IdText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        match Path::<String>::from_request_parts(parts, state).await {
            Ok(Path(text)) => Ok(Self(text)),
            Err(_) => Err(ApiError::invalid("the id in the path is no legal UTF-8").param("id")),
        }
    }
}

/// The `{id}` of a path as a thread's id.
pub(crate) struct ThreadInPath(pub(crate) ThreadId);

impl<S: Send + Sync> FromRequestParts<S> for ThreadInPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Self::Rejection> {
        let IdText(text) = IdText::from_request_parts(parts, state).await?;
        ThreadId::new(text).map(Self).map_err(|error| ApiError::invalid(error.to_string()).param("id"))
    }
}
