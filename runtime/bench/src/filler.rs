//! Fills a project's sessions database directly, faster than turns could: long threads, and owners with many vectors.

use std::sync::Arc;

use anyhow::Result;
use roster_model::message::{Message, Role};
use roster_model::recall::{IndexEntry, RecallStore};
use roster_model::storage::{ConversationStore, NewThread};
use roster_storage::sqlite::{Options, SqliteStore, open};
use roster_testkit::clock::TestClock;
use roster_testkit::suite::conversation::{key, message};

use crate::project::Project;

/// Messages written at once.
const BATCH: usize = 1_000;
/// Messages of a thread of an owner with vectors.
const THREAD: usize = 500;
/// Words of a message, and how many there are to choose from.
const WORDS: usize = 12;
const VOCABULARY: f64 = 30_000.0;

/// The sessions database of a project whose runtime is not running.
pub struct Filler {
    store: SqliteStore,
    numbers: Numbers,
}

impl Filler {
    /// Opens it, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(project: &Project) -> Result<Self> {
        let store = open(project.sessions(), &Options::new(Arc::new(TestClock::default())))?;
        Ok(Self { store, numbers: Numbers::new(7) })
    }

    /// Puts a thread of so many messages there.
    ///
    /// # Errors
    /// The store's.
    pub async fn thread(&mut self, owner: &str, thread: &str, messages: usize) -> Result<()> {
        let key = key(owner, thread);
        self.store.create_thread(&key, NewThread::default()).await?;
        let mut done = 0;
        while done < messages {
            let count = BATCH.min(messages - done);
            let rows = (done..done + count).map(|number| spoken(number, &self.numbers.words(WORDS)));
            self.store.append(&key, rows.collect()).await?;
            done += count;
        }
        Ok(())
    }

    /// Gives an owner so many messages in threads of 500, each with a vector of this length in this space.
    ///
    /// # Errors
    /// The store's.
    pub async fn vectors(&mut self, owner: &str, messages: usize, space: &str, length: usize) -> Result<()> {
        for thread in 0..messages.div_ceil(THREAD) {
            let key = key(owner, &format!("thread-{thread}"));
            self.store.create_thread(&key, NewThread::default()).await?;
            let texts: Vec<String> =
                (0..THREAD.min(messages - thread * THREAD)).map(|_| self.numbers.words(WORDS)).collect();
            let rows = texts.iter().enumerate().map(|(number, text)| spoken(number, text)).collect();
            let rows = self.store.append(&key, rows).await?;
            let entries = rows.iter().zip(texts).map(|(row, terms)| IndexEntry {
                message: row.message.id.clone(),
                vector: Some(self.numbers.vector(length)),
                terms,
            });
            self.store.index(&key, space, entries.collect()).await?;
        }
        Ok(())
    }

    /// Closes it, so that a runtime may open it.
    pub async fn close(self) {
        self.store.close().await;
    }
}

fn spoken(number: usize, text: &str) -> Message {
    let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
    message(&format!("m{number}"), role, text)
}

/// A small generator, so that every run sees the same.
pub struct Numbers(u64);

impl Numbers {
    /// The numbers of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        f64::from(u32::try_from(self.0 >> 32).unwrap_or(0)) / f64::from(u32::MAX)
    }

    /// So many words; the n-th of the vocabulary is about n times rarer than the first, as in languages.
    pub fn words(&mut self, count: usize) -> String {
        let words: Vec<String> = (0..count).map(|_| word(VOCABULARY.powf(self.share()))).collect();
        words.join(" ")
    }

    /// A vector of length 1 that points anywhere.
    #[expect(clippy::cast_possible_truncation, reason = "single precision is what is wanted")]
    pub fn vector(&mut self, length: usize) -> Vec<f32> {
        let values: Vec<f32> = (0..length).map(|_| (self.share() * 2.0 - 1.0) as f32).collect();
        let norm = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        values.into_iter().map(|value| value / norm).collect()
    }
}

/// The word of this rank, in letters.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank of the vocabulary")]
fn word(rank: f64) -> String {
    let mut rest = rank as u32;
    let mut word = "w".to_owned();
    while rest > 0 {
        word.push(char::from(b'a' + u8::try_from(rest % 26).unwrap_or(0)));
        rest /= 26;
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_repeat_and_vectors_have_length_one() {
        let (mut one, mut two) = (Numbers::new(3), Numbers::new(3));
        assert_eq!(one.words(5), two.words(5));
        let vector = one.vector(384);
        assert_eq!(vector, two.vector(384));
        assert!((vector.iter().map(|value| value * value).sum::<f32>() - 1.0).abs() < 1e-4);
        assert_ne!(vector, Numbers::new(4).vector(384));
        assert_eq!(word(27.0), "wbb");
    }
}
