//! The writer thread: whoever waits is taken along into one transaction; long work goes in slices in between.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::error::{Failure, Health, Outcome, again};
use super::guard::caught;
use super::keeper::Keeper;

/// Jobs waiting for the writer; whoever comes later waits to be let into the queue, since user data waits.
pub(super) const QUEUE: usize = 1024;
/// Jobs in one transaction.
const GROUP: usize = 256;
/// How long a slice may hold up the turns: while they come, and what it grows to while none does.
const SLICE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(20));

/// A transaction under way.
pub(super) struct Group<'c> {
    pub(super) connection: &'c Connection,
    /// The last number given, once somebody asked; written back before the commit.
    number: Option<i64>,
    given: bool,
}

impl Group<'_> {
    /// The next number for the order of lists.
    pub(super) fn next_number(&mut self) -> Outcome<i64> {
        let last = match self.number {
            Some(last) => last,
            None => self
                .connection
                .prepare_cached("SELECT value FROM counters WHERE name = 'activity'")?
                .query_row([], |row| row.get(0))?,
        };
        self.number = Some(last + 1);
        self.given = true;
        Ok(last + 1)
    }

    fn store_number(&self) -> rusqlite::Result<()> {
        if self.given {
            self.connection
                .prepare_cached("UPDATE counters SET value = ?1 WHERE name = 'activity'")?
                .execute([self.number])?;
        }
        Ok(())
    }
}

/// A write that waits for its commit.
pub(super) trait Job: Send {
    /// Does it. An error means the whole transaction is gone.
    fn run(&mut self, group: &mut Group<'_>, health: &Health) -> Result<(), StoreError>;
    /// Tells the caller, after the commit.
    fn settle(self: Box<Self>, outcome: &Result<(), StoreError>);
}

/// A function as a job, with the answer it waits to give.
struct Call<T, F> {
    work: Option<F>,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Job for Call<T, F>
where
    T: Send,
    F: FnOnce(&mut Group<'_>) -> Outcome<T> + Send,
{
    fn run(&mut self, group: &mut Group<'_>, health: &Health) -> Result<(), StoreError> {
        let Some(work) = self.work.take().filter(|_| !self.reply.is_closed()) else { return Ok(()) };
        let sql = |text: &str| -> rusqlite::Result<()> { group.connection.prepare_cached(text)?.execute([]).map(drop) };
        sql("SAVEPOINT job").map_err(|error| health.sort(error.into()))?;
        let result = caught(|| work(group));
        // On a full disk SQLite may have rolled everything back by itself; on damage nothing may be written.
        let lost = group.connection.is_autocommit();
        let result = result.map_err(|error| health.sort(error));
        if let Err(error) = &result {
            if lost || health.check().is_err() || error.kind == StoreErrorKind::Full {
                return Err(again(error));
            }
            let back = group.connection.prepare_cached("ROLLBACK TO job").and_then(|mut sql| sql.execute([]));
            back.map_err(|error| health.sort(error.into()))?;
        }
        let release = group.connection.prepare_cached("RELEASE job").and_then(|mut sql| sql.execute([]));
        release.map_err(|error| health.sort(error.into()))?;
        self.result = Some(result);
        Ok(())
    }

    fn settle(self: Box<Self>, outcome: &Result<(), StoreError>) {
        let result = match (outcome, self.result) {
            (Ok(()), Some(result)) => result,
            (Ok(()), None) => Err(StoreError::new(StoreErrorKind::Internal, "the write was skipped: nobody waited")),
            (Err(error), _) => Err(again(error)),
        };
        // Nobody waits any more: what the result holds is given back as it is dropped.
        if let Err(Err(error)) = self.reply.send(result) {
            unheard(&error);
        }
    }
}

/// Long work: called again and again, each time in a transaction of its own, until it says that it is done.
pub(super) type Step = Box<dyn FnMut(&mut Group<'_>, Instant) -> Outcome<bool> + Send>;

/// Long work and whoever waits for it.
pub(super) struct Slices {
    pub(super) step: Step,
    pub(super) reply: Option<oneshot::Sender<Result<(), StoreError>>>,
}

/// What the writer is given.
pub(super) enum Work {
    Job(Box<dyn Job>),
    Slices(Slices),
    /// Finish what is queued, then end.
    Close,
}

/// The writer's door.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Work>,
    health: Arc<Health>,
}

impl Writer {
    pub(super) fn new(queue: mpsc::Sender<Work>, health: Arc<Health>) -> Self {
        Self { queue, health }
    }

    /// Runs `work` in a transaction; `Ok` means it is durable.
    pub(super) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&mut Group<'_>) -> Outcome<T> + Send + 'static,
    {
        self.health.check()?;
        let (reply, answer) = oneshot::channel();
        let call = Call { work: Some(work), result: None, reply };
        self.queue.send(Work::Job(Box::new(call))).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// Runs long work to its end between the turns' writes.
    pub(super) async fn slices(&self, step: Step) -> Result<(), StoreError> {
        self.health.check()?;
        let (reply, answer) = oneshot::channel();
        let slices = Slices { step, reply: Some(reply) };
        self.queue.send(Work::Slices(slices)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }

    /// The same from a thread that waits for nothing.
    pub(super) fn slices_in_background(&self, step: Step) {
        let slices = Slices { step, reply: None };
        // Closed: whatever is left is done after the next opening.
        let _closed = self.queue.blocking_send(Work::Slices(slices));
    }

    /// Asks the writer to end after what is queued.
    pub(super) async fn close(&self) {
        let _already = self.queue.send(Work::Close).await;
    }
}

fn closed() -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, "the store was closed")
}

/// The writer's side.
pub(super) struct WriterThread {
    connection: Connection,
    queue: mpsc::Receiver<Work>,
    health: Arc<Health>,
    keeper: Keeper,
    /// How long every slice may take; `None`: as the turns allow.
    pub(super) slice: Option<Duration>,
    /// How long the next one may take.
    next_slice: Duration,
}

impl WriterThread {
    pub(super) fn new(
        connection: Connection,
        queue: mpsc::Receiver<Work>,
        health: Arc<Health>,
        keeper: Keeper,
        slice: Option<Duration>,
    ) -> Self {
        Self { connection, queue, health, keeper, slice, next_slice: slice.unwrap_or(SLICE.0) }
    }

    /// Works until the queue is closed and empty; gives the connection back for the last checkpoint.
    pub(super) fn run(mut self) -> (Connection, Keeper) {
        let mut slices: VecDeque<Slices> = VecDeque::new();
        loop {
            let next = if slices.is_empty() { self.queue.blocking_recv() } else { self.queue.try_recv().ok() };
            match next {
                Some(first) => self.take_along(first, &mut slices),
                None if slices.is_empty() || self.queue.is_closed() => break,
                None => {}
            }
            self.one_slice(&mut slices);
        }
        // Unfinished slices are found again after the next opening; whoever waits hears that the store was closed.
        (self.connection, self.keeper)
    }

    fn take_along(&mut self, first: Work, slices: &mut VecDeque<Slices>) {
        let mut jobs = Vec::new();
        let mut next = Some(first);
        while let Some(work) = next {
            match work {
                Work::Job(job) => jobs.push(job),
                Work::Slices(more) => slices.push_back(more),
                Work::Close => self.queue.close(),
            }
            next = if jobs.len() < GROUP { self.queue.try_recv().ok() } else { None };
        }
        if jobs.is_empty() {
            return;
        }
        self.next_slice = self.slice.unwrap_or(SLICE.0);
        let outcome = self.transaction(|group, health| jobs.iter_mut().try_for_each(|job| job.run(group, health)));
        let count = jobs.len();
        for job in jobs {
            job.settle(&outcome);
        }
        self.keeper.wrote(count);
    }

    /// One transaction around `work`; any error takes it back whole.
    fn transaction<T>(
        &self,
        work: impl FnOnce(&mut Group<'_>, &Health) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.health.check()?;
        let sql = |text: &str| -> Result<(), StoreError> {
            let done = self.connection.prepare_cached(text).and_then(|mut sql| sql.execute([]));
            done.map(drop).map_err(|error| self.health.sort(Failure::Sqlite(error)))
        };
        sql("BEGIN IMMEDIATE")?;
        let mut group = Group { connection: &self.connection, number: None, given: false };
        let result = work(&mut group, &self.health).and_then(|value| {
            group.store_number().map_err(|error| self.health.sort(error.into()))?;
            sql("COMMIT")?;
            Ok(value)
        });
        if result.is_err() && !self.connection.is_autocommit() {
            sql("ROLLBACK")?;
        }
        result
    }

    fn one_slice(&mut self, slices: &mut VecDeque<Slices>) {
        let Some(mut current) = slices.pop_front() else { return };
        if current.reply.as_ref().is_some_and(oneshot::Sender::is_closed) {
            // The caller left, the work is still wanted.
            current.reply = None;
        }
        let until = Instant::now() + self.next_slice;
        let step = &mut current.step;
        let done = self.transaction(|group, health| caught(|| step(group, until)).map_err(|error| health.sort(error)));
        self.keeper.wrote(GROUP);
        self.next_slice = self.slice.unwrap_or((self.next_slice * 2).min(SLICE.1));
        match done {
            Ok(false) => slices.push_back(current),
            Ok(true) => finish(current.reply, Ok(())),
            Err(error) => finish(current.reply, Err(error)),
        }
    }
}

fn finish(reply: Option<oneshot::Sender<Result<(), StoreError>>>, result: Result<(), StoreError>) {
    let not_sent = match reply {
        Some(reply) => reply.send(result).err(),
        None => Some(result),
    };
    if let Some(Err(error)) = not_sent {
        unheard(&error);
    }
}

/// A failure is logged by whoever asked, who knows what for; here only when nobody waits for the answer.
fn unheard(error: &StoreError) {
    tracing::error!(%error, "a write to the sessions database failed");
}
