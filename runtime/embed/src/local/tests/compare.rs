//! Expected ids and vectors, one JSON object a line.

use serde::Deserialize;

use crate::local::network::Network;
use crate::local::tokenizer::Tokenizer;
use crate::local::worker::encode;

/// How near to the original package's vectors ours have to be.
const LEAST_COSINE: f64 = 0.999_999;

#[derive(Deserialize)]
pub(super) struct Expected {
    pub(super) text: String,
    pub(super) ids: Vec<u32>,
    pub(super) vector: Option<Vec<f32>>,
}

pub(super) fn read(lines: &str) -> Vec<Expected> {
    lines.lines().map(|line| serde_json::from_str(line).expect("a line of expectations")).collect()
}

/// Checks every text's ids, and the vectors of those that have one: alone, and together with the others.
pub(super) fn check(tokenizer: &Tokenizer, network: &Network, expected: &[Expected]) {
    let wrong: Vec<_> = expected
        .iter()
        .filter(|expected| tokenizer.encode(&expected.text) != expected.ids)
        .map(|expected| (&expected.text, tokenizer.encode(&expected.text), &expected.ids))
        .collect();
    assert!(wrong.is_empty(), "{} of {} texts have other ids: {wrong:?}", wrong.len(), expected.len());
    let with_vectors: Vec<_> = expected.iter().filter(|expected| expected.vector.is_some()).collect();
    assert!(with_vectors.len() >= 20, "only {} texts have a vector", with_vectors.len());
    let all: Vec<Vec<u32>> = with_vectors.iter().map(|expected| expected.ids.clone()).collect();
    let together = encode(network, &all);
    for (expected, together) in with_vectors.iter().zip(together) {
        let alone = encode(network, std::slice::from_ref(&expected.ids)).remove(0);
        let wanted = expected.vector.as_deref().unwrap_or_default();
        for (how, vector) in [("alone", alone), ("together", together)] {
            let cosine = cosine(&vector, wanted);
            assert!(cosine >= LEAST_COSINE, "{:?} {how}: {cosine}", expected.text);
            let length = cosine_parts(&vector, &vector);
            assert!((length - 1.0).abs() < 1e-5, "{:?} has length {length}", expected.text);
        }
    }
}

fn cosine_parts(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
}

pub(super) fn cosine(a: &[f32], b: &[f32]) -> f64 {
    cosine_parts(a, b) / (cosine_parts(a, a) * cosine_parts(b, b)).sqrt()
}
