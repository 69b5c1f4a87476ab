//! Questions at a steady rate, over several doors, whatever happens on the other side: a failure is counted, and the
//! asking goes on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval_at};

use crate::client::Connection;
use crate::door::{Door, Question};
use crate::sample::Sample;
use crate::witness::{SAVED, Witness, question};

/// What to ask, from the question's number: which door, and which agent.
pub type Choose = fn(u64) -> (Door, String);

/// How to ask.
#[derive(Clone)]
pub struct Plan {
    /// Who is asked.
    pub address: SocketAddr,
    /// The model server behind.
    pub witness: Witness,
    /// How many connections share the questions.
    pub connections: u32,
    /// From question to question, of all connections together.
    pub every: Duration,
    /// What is asked.
    pub choose: Choose,
}

/// What came of it.
#[derive(Debug)]
pub struct Asked {
    /// From question to the answer's end, of those answered.
    pub sample: Sample,
    /// Questions without a good answer.
    pub failed: u64,
    /// The first of them.
    pub first_failure: Option<String>,
    /// How long was asked.
    pub elapsed: Duration,
}

/// The asking under way; dropping it ends it.
pub struct Asking {
    tasks: JoinSet<anyhow::Result<Asked>>,
    stop: Arc<AtomicBool>,
    begun: Instant,
}

impl Plan {
    /// Begins.
    #[must_use]
    pub fn start(self) -> Asking {
        let (stop, next, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Instant::now());
        let mut tasks = JoinSet::new();
        for number in 0..self.connections {
            let begin = begun + self.every * number;
            tasks.spawn(self.clone().ask(begin, Arc::clone(&next), Arc::clone(&stop)));
        }
        Asking { tasks, stop, begun }
    }

    async fn ask(self, begin: Instant, next: Arc<AtomicU64>, stop: Arc<AtomicBool>) -> anyhow::Result<Asked> {
        let mut ticks = interval_at(begin, self.every * self.connections);
        let mut asked = Asked { sample: Sample::new()?, failed: 0, first_failure: None, elapsed: Duration::ZERO };
        let mut connection = None;
        while !stop.load(Ordering::Relaxed) {
            ticks.tick().await;
            match self.once(&mut connection, next.fetch_add(1, Ordering::Relaxed)).await {
                Ok(took) => asked.sample.add(took),
                Err(error) => {
                    // A broken answer leaves a connection in no state to be used again.
                    connection = None;
                    asked.failed += 1;
                    asked.first_failure.get_or_insert_with(|| format!("{error:#}"));
                }
            }
        }
        Ok(asked)
    }

    async fn once(&self, connection: &mut Option<Connection>, number: u64) -> anyhow::Result<Duration> {
        let (door, agent) = (self.choose)(number);
        let is_saved = agent == SAVED;
        let text = if is_saved { question(number) } else { "How heavy is it?".to_owned() };
        let body = door.body(Question { model: &agent, text: &text, owner: None, conversation: None });
        let open = match connection.take() {
            Some(open) => open,
            None => Connection::open(self.address).await?,
        };
        let timing = door.ask(connection.insert(open), body).await;
        let timing = timing.with_context(|| format!("agent `{agent}` over {door:?}"))?;
        if is_saved {
            let version = self.witness.answered(number, Instant::now());
            ensure!(version.is_some(), "an answer without the model's");
        }
        Ok(timing.total)
    }
}

impl Asking {
    /// Ends after the questions under way.
    ///
    /// # Errors
    /// Never with samples of one kind; the library's own check is passed on.
    pub async fn finish(mut self) -> anyhow::Result<Asked> {
        self.stop.store(true, Ordering::Relaxed);
        let mut all = Asked { sample: Sample::new()?, failed: 0, first_failure: None, elapsed: self.begun.elapsed() };
        while let Some(asked) = self.tasks.join_next().await {
            let asked = asked??;
            all.sample.merge(&asked.sample)?;
            all.failed += asked.failed;
            all.first_failure = all.first_failure.or(asked.first_failure);
        }
        Ok(all)
    }
}

impl Asked {
    /// Questions a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no run asks 2^53 questions")]
    pub fn rate(&self) -> f64 {
        (self.sample.count() + self.failed) as f64 / self.elapsed.as_secs_f64()
    }
}

#[cfg(test)]
mod tests;
