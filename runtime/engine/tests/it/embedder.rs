//! An embedder by hand: each different word is a direction, so texts with the same words are near one another.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use roster_model::BoxFuture;
use roster_model::embedder::{EmbedError, EmbedErrorKind, Embedder};
use tokio::sync::Notify;

const DIMENSIONS: usize = 64;

/// Counts its calls and the texts it was given; fails when told.
pub struct Words {
    space: &'static str,
    pub fails: AtomicBool,
    pub calls: AtomicUsize,
    /// So many calls get no answer.
    pub lost: AtomicUsize,
    /// Longer texts are refused.
    pub longest: AtomicUsize,
    pub texts: Mutex<Vec<String>>,
    /// Texts that wait until the test opens their gate.
    pub gates: Mutex<Vec<(String, Arc<Notify>)>>,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            space: "words-1/64",
            fails: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            longest: AtomicUsize::new(usize::MAX),
            texts: Mutex::default(),
            gates: Mutex::default(),
        }
    }
}

impl Words {
    pub fn other() -> Self {
        Self { space: "words-2/64", ..Self::default() }
    }
}

fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in text.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = word.bytes().fold(7_usize, |hash, byte| hash.wrapping_mul(31).wrapping_add(usize::from(byte)));
        vector[hash % DIMENSIONS] += 1.0;
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

impl Embedder for Words {
    fn space(&self) -> &str {
        self.space
    }

    fn dimensions(&self) -> usize {
        DIMENSIONS
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.texts.lock().unwrap().extend(texts.iter().cloned());
        let less = |lost: usize| lost.checked_sub(1);
        let lost = self.lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        let longest = self.longest.load(Ordering::SeqCst);
        let failed = self.fails.load(Ordering::SeqCst);
        let gate =
            self.gates.lock().unwrap().iter().find(|(text, _)| texts.contains(text)).map(|(_, gate)| gate.clone());
        Box::pin(async move {
            if let Some(gate) = gate {
                gate.notified().await;
            }
            if lost {
                return Err(EmbedError::new(EmbedErrorKind::Unreachable, "not now"));
            }
            if texts.iter().any(|text| text.len() > longest) {
                return Err(EmbedError::new(EmbedErrorKind::TooLong, "too long"));
            }
            if failed {
                return Err(EmbedError::new(EmbedErrorKind::Refused, "no"));
            }
            Ok(texts.iter().map(|text| vector(text)).collect())
        })
    }
}
