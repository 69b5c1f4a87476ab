//! The thread that computes: calls are handed to it through a bounded queue, so that no thread of the async runtime
//! ever computes.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use roster_model::embedder::{EmbedError, EmbedErrorKind};
use tokio::sync::{mpsc, oneshot};

use super::network::Network;
use super::tokenizer::Tokenizer;
use super::weights::{self, WeightsError};
use super::{MAX_BYTES, import};

/// Calls that wait; further ones wait for a place.
const QUEUE: usize = 64;
/// Texts and bytes of them that are handed over at once. One text may be longer; it is a pass of its own.
const TEXTS_AT_ONCE: usize = 16;
const BYTES_AT_ONCE: usize = 4 * 1024;
/// Tokens that share a pass: enough to fetch the weights for many texts once, few enough to stay in the cache. A text
/// with more is a pass of its own.
const TOKENS_AT_ONCE: usize = 384;

type Vectors = Vec<Vec<f32>>;

/// Some texts and who waits for their vectors.
struct Job {
    texts: Vec<String>,
    reply: oneshot::Sender<Result<Vectors, EmbedError>>,
}

/// The handle of the thread, which is started when it is first needed, and again should it have ended.
#[derive(Debug)]
pub(super) struct Worker {
    folder: PathBuf,
    dimensions: usize,
    queue: Mutex<Option<mpsc::Sender<Job>>>,
}

impl Worker {
    pub(super) fn new(folder: PathBuf, dimensions: usize) -> Self {
        Self { folder, dimensions, queue: Mutex::new(None) }
    }

    pub(super) async fn embed(&self, texts: &[String]) -> Result<Vectors, EmbedError> {
        let mut vectors = Vec::with_capacity(texts.len());
        let mut rest = texts;
        while !rest.is_empty() {
            let (some, later) = rest.split_at(how_many(rest));
            rest = later;
            let texts = some.iter().map(|text| text[..text.floor_char_boundary(MAX_BYTES)].to_owned()).collect();
            let (reply, answer) = oneshot::channel();
            self.queue()?.send(Job { texts, reply }).await.map_err(|_| stopped())?;
            vectors.extend(answer.await.map_err(|_| stopped())??);
        }
        Ok(vectors)
    }

    fn queue(&self) -> Result<mpsc::Sender<Job>, EmbedError> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queue.as_ref().filter(|queue| !queue.is_closed()) {
            return Ok(queue.clone());
        }
        let (sender, receiver) = mpsc::channel(QUEUE);
        let (folder, dimensions) = (self.folder.clone(), self.dimensions);
        thread::Builder::new()
            .name("embed-local".to_owned())
            .spawn(move || serve(receiver, &folder, dimensions))
            .map_err(|error| EmbedError::new(EmbedErrorKind::Stopped, format!("no thread can be started: {error}")))?;
        Ok(queue.insert(sender).clone())
    }
}

/// How many of the texts are handed over at once; at least one.
fn how_many(texts: &[String]) -> usize {
    let mut bytes = 0;
    let fits = |text: &&String| {
        bytes += text.len();
        bytes <= BYTES_AT_ONCE
    };
    texts.iter().take(TEXTS_AT_ONCE).take_while(fits).count().max(1)
}

/// The thread: one group of jobs after another, until the embedder is dropped.
fn serve(mut jobs: mpsc::Receiver<Job>, folder: &Path, dimensions: usize) {
    let mut model: Option<(Tokenizer, Network)> = None;
    while let Some(job) = jobs.blocking_recv() {
        // Nobody may wait any more: the thread was busy for others meanwhile.
        if job.reply.is_closed() {
            continue;
        }
        if model.is_none() {
            match weights::load(folder, dimensions) {
                Ok(loaded) => model = Some(loaded),
                Err(error) => {
                    tracing::debug!(%error, "the local embedder cannot answer");
                    drop(job.reply.send(Err(told(&error))));
                    continue;
                }
            }
        }
        if let Some((tokenizer, network)) = &model {
            let group = Group::gather(job, &mut jobs, tokenizer);
            group.answer(network);
        }
    }
}

/// Jobs that are answered together.
struct Group {
    /// Who waits, and for how many vectors.
    waiting: Vec<(oneshot::Sender<Result<Vectors, EmbedError>>, usize)>,
    sentences: Vec<Vec<u32>>,
    tokens: usize,
}

impl Group {
    /// The job and those that wait behind it, as long as a pass has room.
    fn gather(first: Job, jobs: &mut mpsc::Receiver<Job>, tokenizer: &Tokenizer) -> Self {
        let mut group = Self { waiting: Vec::new(), sentences: Vec::new(), tokens: 0 };
        let mut next = Some(first);
        while let Some(job) = next {
            group.add(job, tokenizer);
            next = if group.tokens < TOKENS_AT_ONCE { jobs.try_recv().ok() } else { None };
        }
        group
    }

    fn add(&mut self, job: Job, tokenizer: &Tokenizer) {
        if job.reply.is_closed() {
            return;
        }
        self.waiting.push((job.reply, job.texts.len()));
        for text in &job.texts {
            let sentence = tokenizer.encode(text);
            self.tokens += sentence.len();
            self.sentences.push(sentence);
        }
    }

    fn answer(self, network: &Network) {
        let mut vectors = encode(network, &self.sentences).into_iter();
        for (reply, count) in self.waiting {
            // Who has gone meanwhile does not need them.
            drop(reply.send(Ok(vectors.by_ref().take(count).collect())));
        }
    }
}

/// Passes of at most so many tokens as share one.
pub(super) fn encode(network: &Network, sentences: &[Vec<u32>]) -> Vectors {
    let mut vectors = Vec::with_capacity(sentences.len());
    let mut rest = sentences;
    while !rest.is_empty() {
        let mut tokens = 0;
        let fits = |sentence: &&Vec<u32>| {
            tokens += sentence.len();
            tokens <= TOKENS_AT_ONCE
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (some, later) = rest.split_at(count);
        vectors.extend(network.encode(some));
        rest = later;
    }
    vectors
}

fn told(error: &WeightsError) -> EmbedError {
    let kind = match error {
        WeightsError::Missing => EmbedErrorKind::MissingWeights,
        WeightsError::Io(_) | WeightsError::Damaged(_) => EmbedErrorKind::DamagedWeights,
    };
    EmbedError { hint: Some(import::HINT.to_owned()), ..EmbedError::new(kind, error.to_string()) }
}

fn stopped() -> EmbedError {
    EmbedError::new(EmbedErrorKind::Stopped, "the embedder `local` stopped before it answered")
}

#[cfg(test)]
mod tests;
