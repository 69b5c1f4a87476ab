//! Query strings: the values that are there, each read with its own check. Unknown ones are ignored.

use axum::extract::{FromRequestParts, Query};
use http::request::Parts;

use crate::http::error::ApiError;

/// The decoded pairs of a query string.
#[derive(Debug, Default)]
pub(crate) struct Params(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        match Query::<Vec<(String, String)>>::try_from_uri(&parts.uri) {
            Ok(Query(pairs)) => Ok(Self(pairs)),
            Err(_) => Err(ApiError::invalid("the query string cannot be read")),
        }
    }
}

impl Params {
    /// The first value of this name; an empty one counts as absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// A number between `least` and `most`.
    ///
    /// # Errors
    /// 400 naming the parameter and the range.
    pub(crate) fn number(&self, name: &'static str, least: usize, most: usize) -> Result<Option<usize>, ApiError> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match text.parse::<usize>() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(ApiError::invalid(format!("`{name}` must be a number from {least} to {most}")).param(name)),
        }
    }
}
