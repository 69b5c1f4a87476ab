//! Many connections at once, each asking its next question when the last one is answered.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::client::Connection;
use crate::door::Door;
use crate::sample::Sample;

/// Makes the body of a question, from the connection's number.
pub type Questions = Arc<dyn Fn(usize) -> Bytes + Send + Sync>;

/// What is asked, where and for how long.
#[derive(Clone)]
pub struct Load {
    /// Who is asked.
    pub address: SocketAddr,
    /// By which door.
    pub door: Door,
    /// How many connections.
    pub connections: usize,
    /// No question is begun after so long; those begun are waited for.
    pub duration: Duration,
    /// At most so many questions a connection.
    pub most: u64,
    /// The questions.
    pub questions: Questions,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// From question to the answer's end.
    pub sample: Sample,
    /// From the first question to the last answer.
    pub elapsed: Duration,
}

impl Loaded {
    /// Answers a second.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "no run asks 2^53 questions")]
    pub fn rate(&self) -> f64 {
        self.sample.count() as f64 / self.elapsed.as_secs_f64()
    }
}

impl Load {
    /// Opens all connections, asks one question on each that is not counted, then measures.
    ///
    /// # Errors
    /// The first answer that is not a good one ends the whole.
    pub async fn run(&self) -> anyhow::Result<Loaded> {
        let ready = self.open().await?;
        let begun = Instant::now();
        let mut tasks = JoinSet::new();
        for (number, connection) in ready {
            tasks.spawn(self.clone().converse(number, connection, begun));
        }
        let mut sample = Sample::new()?;
        while let Some(done) = tasks.join_next().await {
            sample.merge(&done??)?;
        }
        Ok(Loaded { sample, elapsed: begun.elapsed() })
    }

    async fn open(&self) -> anyhow::Result<Vec<(usize, Connection)>> {
        let mut tasks = JoinSet::new();
        for number in 0..self.connections {
            let load = self.clone();
            tasks.spawn(async move {
                let mut connection = Connection::open(load.address).await?;
                load.door.ask(&mut connection, (load.questions)(number)).await?;
                anyhow::Ok((number, connection))
            });
        }
        let mut ready = Vec::with_capacity(self.connections);
        while let Some(opened) = tasks.join_next().await {
            ready.push(opened??);
        }
        Ok(ready)
    }

    async fn converse(self, number: usize, mut connection: Connection, begun: Instant) -> anyhow::Result<Sample> {
        let mut sample = Sample::new()?;
        while begun.elapsed() < self.duration && sample.count() < self.most {
            let timing = self.door.ask(&mut connection, (self.questions)(number)).await?;
            sample.add(timing.total);
        }
        Ok(sample)
    }
}

#[cfg(test)]
mod tests;
