//! From a question to ranked hits.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::try_join;
use roster_model::embedder::{EmbedError, EmbedErrorKind, Embedder};
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::message::Seq;
use roster_model::recall::TextHit;
use roster_model::storage::StoreError;
use roster_model::time::Timestamp;

use super::cache::{ShelfKey, VectorCache};
use super::codes::Asked;
use super::embedded;
use super::shelf::{Filter, Near, Shelf, Wanted};
use crate::definition::{RecallConfig, Scope};
use crate::memory::Memory;
use roster_model::words::distinct;

/// The constant of reciprocal rank fusion: how little the first ranks differ.
const FUSION: f64 = 60.0;
/// Candidates of each ranking, for each hit wanted, and at least.
const CANDIDATES: usize = 4;
const LEAST_CANDIDATES: usize = 20;
/// Different words of a question that are looked up.
const MOST_WORDS: usize = 32;
/// A turn waits so long for the question's vector, then words alone decide.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked.
pub struct Question<'a> {
    /// The agent's memory.
    pub memory: &'a Memory,
    /// Its recall policy.
    pub config: &'a RecallConfig,
    /// Where it is asked.
    pub key: &'a ThreadKey,
    /// Whether identity or request named the owner; else the search never leaves the thread.
    pub owner_named: bool,
    /// In the same thread only messages before this one are hits: the rest is in the prompt anyway.
    pub before: Seq,
    /// Now.
    pub now: Timestamp,
    /// The words.
    pub text: &'a str,
    /// The vector of the words, or why there is none.
    pub vector: Option<&'a [f32]>,
}

/// A message that bears on the question.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its thread.
    pub thread: ThreadId,
    /// Its place there.
    pub seq: Seq,
    /// The fused score; greater is better.
    pub score: f64,
    /// Its cosine, where it was found by meaning.
    pub cosine: Option<f32>,
    /// Its rank by meaning, from 1.
    pub by_meaning: Option<usize>,
    /// Its rank by words, from 1.
    pub by_words: Option<usize>,
}

/// What a search found, and where it looked.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// Best first, at most `top_k`.
    pub hits: Vec<Hit>,
    /// Where was looked in this turn.
    pub scope: Scope,
    /// The space of the vectors; `None`: words alone decided.
    pub space: Option<String>,
}

/// Recall of one process: its cache, and which embedder's failure was told already.
#[derive(Default)]
pub struct Recall {
    /// Vectors in RAM.
    pub cache: Arc<VectorCache>,
    told: Mutex<HashSet<(String, EmbedErrorKind)>>,
}

impl Recall {
    /// The vector of a question; `None` when there is no embedder, or it failed (told once, until it works again).
    pub async fn embed(&self, embedder: Option<&Arc<dyn Embedder>>, text: &str) -> Option<Vec<f32>> {
        let embedder = embedder?;
        let texts = [embedded(text)];
        if texts[0].trim().is_empty() {
            return None;
        }
        let answer = match tokio::time::timeout(PATIENCE, embedder.embed(&texts)).await {
            Ok(answer) => answer,
            Err(_) => Err(EmbedError::new(EmbedErrorKind::Unreachable, "the embedder gave no answer within 5 s")),
        };
        match answer {
            Ok(vectors) => {
                self.works(embedder.space());
                vectors.into_iter().next()
            }
            Err(error) => {
                self.failed(embedder.space(), &error);
                None
            }
        }
    }

    /// Notes that an embedder works: its next failure is told again.
    pub(super) fn works(&self, space: &str) {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).retain(|(known, _)| known != space);
    }

    /// Tells a failure of an embedder, once.
    pub(super) fn failed(&self, space: &str, error: &EmbedError) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert((space.to_owned(), error.kind)) {
            let hint = error.hint.as_deref().unwrap_or_default();
            tracing::warn!(space, code = error.kind.code(), %error, hint, "embedder failed; recall goes by words alone");
        }
    }

    /// Searches.
    ///
    /// # Errors
    /// The store's.
    pub async fn search(&self, question: Question<'_>) -> Result<Searched, StoreError> {
        let config = question.config;
        let scope = if question.owner_named { config.scope } else { Scope::Thread };
        let thread = (scope == Scope::Thread).then_some(&question.key.thread);
        let most = (config.top_k * CANDIDATES).max(LEAST_CANDIDATES);
        let wanted = question.vector.map(|vector| {
            let (asked, filter) = (Asked::new(vector), filter_of(&question));
            Arc::new(Wanted { asked, filter, least: config.threshold, most })
        });
        let (meaning, by_words) = try_join(
            self.by_meaning(&question, thread, wanted.as_ref()),
            by_words(&question, thread, most + LEAST_CANDIDATES),
        )
        .await?;
        let by_words = match &meaning {
            Some(meaning) => self.near_enough(meaning, by_words).await?,
            None => by_words,
        };
        let near = meaning.as_ref().map_or(&[][..], |meaning| &meaning.near);
        let hits = fuse(near, by_words.into_iter().take(most), config.top_k);
        Ok(Searched { hits, scope, space: meaning.map(|meaning| meaning.space) })
    }

    async fn by_meaning(
        &self,
        question: &Question<'_>,
        thread: Option<&ThreadId>,
        wanted: Option<&Arc<Wanted>>,
    ) -> Result<Option<Meaning>, StoreError> {
        let (Some(wanted), Some(embedder)) = (wanted, &question.memory.embedder) else { return Ok(None) };
        let (store, space) = (&question.memory.store, embedder.space());
        let key = ShelfKey::new(store, &question.key.resource, thread, space);
        let (near, shelf) = self.cache.nearest(store, &key, wanted).await?;
        Ok(Some(Meaning { near, shelf, wanted: Arc::clone(wanted), space: space.to_owned() }))
    }

    /// Of the messages found by words those that are near enough: a threshold above 0 is somebody's wish, and holds for
    /// these too.
    async fn near_enough(&self, meaning: &Meaning, by_words: Vec<TextHit>) -> Result<Vec<TextHit>, StoreError> {
        if meaning.wanted.least <= 0.0 {
            return Ok(by_words);
        }
        let found = |hit: &TextHit| meaning.near.iter().any(|near| near.thread == hit.thread && near.seq == hit.seq);
        let enough = match &meaning.shelf {
            Some(shelf) => {
                let places = by_words.iter().map(|hit| (hit.thread.clone(), hit.seq)).collect();
                self.cache.near_enough(shelf, &meaning.wanted, places).await?
            }
            None => vec![false; by_words.len()],
        };
        let kept = by_words.into_iter().zip(enough).filter(|(hit, enough)| *enough || found(hit));
        Ok(kept.map(|(hit, _)| hit).collect())
    }
}

/// What the vectors said.
struct Meaning {
    near: Vec<Near>,
    shelf: Option<Arc<Shelf>>,
    wanted: Arc<Wanted>,
    space: String,
}

/// What the words say, of the messages that count.
async fn by_words(question: &Question<'_>, thread: Option<&ThreadId>, most: usize) -> Result<Vec<TextHit>, StoreError> {
    let words = distinct(question.text, MOST_WORDS);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut hits = question.memory.store.find_words(&question.key.resource, thread, &words, most).await?;
    let filter = filter_of(question);
    hits.retain(|hit| filter.passes(&hit.thread, hit.seq, hit.role, hit.created_at.millis()));
    Ok(hits)
}

fn filter_of(question: &Question<'_>) -> Filter {
    let oldest =
        |age: Duration| question.now.millis().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX));
    Filter {
        before: Some((question.key.thread.clone(), question.before)),
        roles: question.config.roles.clone(),
        since: question.config.max_age.map(oldest),
    }
}

/// Reciprocal rank fusion of the two rankings.
fn fuse(near: &[Near], by_words: impl Iterator<Item = TextHit>, most: usize) -> Vec<Hit> {
    let share = |rank: usize| 1.0 / (FUSION + u32::try_from(rank).map_or(f64::MAX, f64::from));
    let mut hits: Vec<Hit> = Vec::with_capacity(near.len());
    let mut places: HashMap<(ThreadId, Seq), usize> = HashMap::new();
    for (at, near) in near.iter().enumerate() {
        let rank = at + 1;
        places.insert((near.thread.clone(), near.seq), hits.len());
        hits.push(Hit {
            thread: near.thread.clone(),
            seq: near.seq,
            score: share(rank),
            cosine: Some(near.cosine),
            by_meaning: Some(rank),
            by_words: None,
        });
    }
    for (at, hit) in by_words.enumerate() {
        let rank = at + 1;
        let fresh = Hit {
            thread: hit.thread.clone(),
            seq: hit.seq,
            score: 0.0,
            cosine: None,
            by_meaning: None,
            by_words: None,
        };
        let place = *places.entry((hit.thread, hit.seq)).or_insert(hits.len());
        if place == hits.len() {
            hits.push(fresh);
        }
        if let Some(hit) = hits.get_mut(place) {
            hit.by_words = Some(rank);
            hit.score += share(rank);
        }
    }
    hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| (&a.thread, a.seq).cmp(&(&b.thread, b.seq))));
    hits.truncate(most);
    hits
}
