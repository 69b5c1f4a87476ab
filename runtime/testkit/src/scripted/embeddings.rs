//! Vectors, as a model server answers them on `/embeddings`.

use serde_json::{Value, json};

use super::recorded::RecordedRequest;
use super::reply::Reply;

/// Length of the vectors that are made up.
const DIMENSIONS: usize = 8;

impl Reply {
    /// These vectors, one for each text of the request.
    #[must_use]
    pub fn embeddings(vectors: &[Vec<f32>]) -> Self {
        let data: Vec<Value> = (0..)
            .zip(vectors)
            .map(|(index, vector): (usize, _)| json!({"object": "embedding", "index": index, "embedding": vector}))
            .collect();
        let usage = json!({"prompt_tokens": 7, "total_tokens": 7});
        Self::json(200, &json!({"object": "list", "data": data, "model": "scripted-1", "usage": usage}))
    }

    /// A vector of 8 numbers and length 1 for each text of the request: equal texts have equal ones, others rarely.
    #[must_use]
    pub fn embeddings_of(request: &RecordedRequest) -> Self {
        let vectors: Vec<_> = request.inputs().iter().map(|text| made_up(text)).collect();
        Self::embeddings(&vectors)
    }
}

impl RecordedRequest {
    /// The texts of the body's `input`, be it one or a list; empty when there are none.
    #[must_use]
    pub fn inputs(&self) -> Vec<String> {
        match self.json().map(|body| &body["input"]) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(texts)) => texts.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}

/// Letters pushed into buckets by a small multiplicative hash.
fn made_up(text: &str) -> Vec<f32> {
    let mut vector = [0.0_f32; DIMENSIONS];
    let mut state: u32 = 1;
    for byte in text.bytes().chain([0]) {
        state = (state ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        let [bucket, amount, ..] = state.to_be_bytes();
        vector[usize::from(bucket) % DIMENSIONS] += f32::from(amount) - 127.5;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    vector.iter().map(|value| value / length).collect()
}
