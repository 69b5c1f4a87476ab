//! How a request for vectors and its answer look.

use roster_model::provider::{ProviderError, ProviderErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::refusal::Refusal;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
    /// Said aloud: some servers answer in base64 unless told.
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

#[derive(Deserialize)]
struct Answer {
    data: Option<Vec<Item>>,
    /// Some servers report failures with status 200.
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Item {
    /// Which text it belongs to; without it, the place in the list.
    index: Option<usize>,
    embedding: Vec<f32>,
}

/// The request's body.
///
/// # Errors
/// `BadRequest` for what cannot be written, which no text can cause.
pub(super) fn encode(model: &str, texts: &[&str], dimensions: Option<usize>) -> Result<Vec<u8>, ProviderError> {
    serde_json::to_vec(&Request { model, input: texts, encoding_format: "float", dimensions })
        .map_err(|error| ProviderError::new(ProviderErrorKind::BadRequest, error.to_string()))
}

/// The vectors in the order of the texts, each at length 1, all with as many numbers.
///
/// # Errors
/// What the provider reports, or `Protocol` for an answer that does not fit so many texts.
pub(super) fn decode(body: &[u8], texts: usize) -> Result<Vec<Vec<f32>>, ProviderError> {
    let answer: Answer =
        serde_json::from_slice(body).map_err(|error| misfit(format!("the answer cannot be read: {error}")))?;
    if let Some(error) = answer.error.filter(|error| !error.is_null()) {
        return Err(Refusal::from_value(&error).into_error());
    }
    let items = answer.data.ok_or_else(|| misfit("the answer holds no `data`"))?;
    if items.len() != texts {
        return Err(misfit(format!("{} vectors came for {texts} texts", items.len())));
    }
    let mut vectors = vec![Vec::new(); texts];
    for (place, item) in items.into_iter().enumerate() {
        let slot = vectors.get_mut(item.index.unwrap_or(place)).filter(|slot| slot.is_empty());
        *slot.ok_or_else(|| misfit("the answer's `index` values are no order"))? = normalised(item.embedding)?;
    }
    let length = vectors.first().map_or(0, Vec::len);
    if vectors.iter().any(|vector| vector.len() != length) {
        return Err(misfit("the answer's vectors have different lengths"));
    }
    Ok(vectors)
}

/// The vector at length 1; one of zeros stays.
fn normalised(mut vector: Vec<f32>) -> Result<Vec<f32>, ProviderError> {
    if vector.is_empty() {
        return Err(misfit("a vector of the answer is empty"));
    }
    // In 64 bits, so that the squares of any finite numbers are finite.
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err(misfit("a vector of the answer holds a number out of range"));
    }
    if length > 0.0 {
        for value in &mut vector {
            #[expect(clippy::cast_possible_truncation, reason = "at most 1, rounded to 32 bits")]
            let scaled = (f64::from(*value) / length) as f32;
            *value = scaled;
        }
    }
    Ok(vector)
}

fn misfit(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Protocol, message)
}
