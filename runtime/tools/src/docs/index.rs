//! Passages ranked by the words of a question (BM25: rare words count more, long passages less).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use roster_model::words::{distinct, words};

use super::Found;
use super::passages::Passage;

/// How often a word may be said before saying it again adds little.
const SATURATION: f32 = 1.2;
/// How much a passage's length counts.
const BY_LENGTH: f32 = 0.75;
/// What a word in a heading or a file's name counts, in words of the text.
const IN_A_HEADING: f32 = 3.0;
/// Words of a question that are looked up.
const MOST_WORDS: usize = 32;

/// The passages of some files, and where each word stands.
#[derive(Default)]
pub(super) struct Index {
    /// Each with its file.
    passages: Vec<(Arc<str>, Passage)>,
    /// For each word the passages that hold it, and how often.
    places: HashMap<String, Vec<(usize, f32)>>,
    lengths: Vec<f32>,
    /// All of them together.
    total: f32,
}

impl Index {
    /// Adds a file.
    pub(super) fn add(&mut self, file: &str, passages: &[Passage]) {
        let file: Arc<str> = Arc::from(file);
        for passage in passages {
            let mut counts: HashMap<String, f32> = HashMap::new();
            let said = words(&passage.text);
            self.lengths.push(count(said.len()));
            self.total += count(said.len());
            said.into_iter().for_each(|word| *counts.entry(word).or_default() += 1.0);
            let titles: HashSet<String> = words(&passage.heading).into_iter().chain(words(&file)).collect();
            titles.into_iter().for_each(|word| *counts.entry(word).or_default() += IN_A_HEADING);
            for (word, times) in counts {
                self.places.entry(word).or_default().push((self.passages.len(), times));
            }
            self.passages.push((Arc::clone(&file), passage.clone()));
        }
    }

    /// The passages that fit best, the best first.
    pub(super) fn search(&self, question: &str, most: usize) -> Vec<Found> {
        let usual = (self.total / count(self.lengths.len()).max(1.0)).max(1.0);
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for word in distinct(question, MOST_WORDS) {
            let places = self.places_of(&word);
            let rare = (count(self.passages.len()) - count(places.len()) + 0.5) / (count(places.len()) + 0.5);
            let weight = (1.0 + rare).ln();
            for (at, times) in places {
                let length = 1.0 - BY_LENGTH + BY_LENGTH * self.lengths[at] / usual;
                *scores.entry(at).or_default() += weight * times * (SATURATION + 1.0) / (times + SATURATION * length);
            }
        }
        let mut ranked: Vec<(usize, f32)> = scores.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.into_iter().take(most).map(|(at, _)| self.found(at)).collect()
    }

    /// Where a word stands, or its other number: `agent` and `agents` are one word.
    fn places_of(&self, word: &str) -> HashMap<usize, f32> {
        let mut places: HashMap<usize, f32> = HashMap::new();
        let other = match word.strip_suffix('s') {
            Some(one) => one.to_owned(),
            None => format!("{word}s"),
        };
        let long = word.is_ascii() && word.len() > 3;
        for form in [Some(word), long.then_some(other.as_str())].into_iter().flatten() {
            for (at, times) in self.places.get(form).map(Vec::as_slice).unwrap_or_default() {
                *places.entry(*at).or_default() += times;
            }
        }
        places
    }

    fn found(&self, at: usize) -> Found {
        let (file, passage) = &self.passages[at];
        let Passage { line, heading, text } = passage.clone();
        Found { file: file.to_string(), line, heading, text }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rank needs no exact counts above sixteen million")]
fn count(n: usize) -> f32 {
    n as f32
}
