//! Shelves held in RAM, within a budget. The least used owner goes first; an owner's shelves that another process may
//! have changed are dropped (the store's `index_version` moved); what this process wrote itself is put on the shelf.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use roster_model::housekeeping::SessionStore;
use roster_model::id::{ResourceId, ThreadId};
use roster_model::message::Seq;
use roster_model::recall::IndexedVector;
use roster_model::storage::StoreError;

use super::scanner::Scanner;
use super::shelf::{Near, Shelf, Wanted};

/// Bytes of vectors held when nothing else is configured: 128 MiB.
pub const DEFAULT_BUDGET: usize = 128 * 1024 * 1024;
/// Vectors read from the store at once.
const PAGE: usize = 1_024;
/// Shelves remembered as too large to be held.
const MOST_LARGE: usize = 10_000;

/// Which vectors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ShelfKey {
    /// The store's address: one process may use several.
    store: usize,
    pub(super) resource: ResourceId,
    pub(super) thread: Option<ThreadId>,
    pub(super) space: String,
}

struct Held {
    shelf: Arc<Shelf>,
    version: u64,
    used: u64,
    /// Keeps the address in the key taken.
    _store: Arc<dyn SessionStore>,
}

/// Vectors held in RAM. One per process.
pub struct VectorCache {
    state: Mutex<State>,
    /// One load at a time: a cold owner asked twice is read once, and RAM is not filled twice.
    loading: tokio::sync::Mutex<()>,
    scanner: Scanner,
    /// Searches that had to read all vectors from the store.
    uncached: AtomicU64,
}

struct State {
    budget: usize,
    held: HashMap<ShelfKey, Held>,
    /// Shelves that are known to be larger than the budget: they are not read twice to find that out.
    large: HashSet<ShelfKey>,
    clock: u64,
}

impl Default for VectorCache {
    fn default() -> Self {
        Self::new(DEFAULT_BUDGET)
    }
}

impl VectorCache {
    /// An empty cache that holds at most `budget` bytes of vectors.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self {
            state: Mutex::new(State { budget, held: HashMap::new(), large: HashSet::new(), clock: 0 }),
            loading: tokio::sync::Mutex::new(()),
            scanner: Scanner::default(),
            uncached: AtomicU64::new(0),
        }
    }

    /// Another budget from now on.
    pub fn set_budget(&self, budget: usize) {
        let mut state = self.lock();
        if state.budget != budget {
            state.large.clear();
        }
        state.budget = budget;
        state.shrink(None);
    }

    /// Searches so far whose vectors alone are more than the budget, so that all were read from the store.
    #[must_use]
    pub fn uncached(&self) -> u64 {
        self.uncached.load(Ordering::Relaxed)
    }

    /// Bytes of vectors held now.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The nearest of an owner (of one thread, if named) in a space, and the shelf they stand on, when it is held.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn nearest(
        &self,
        store: &Arc<dyn SessionStore>,
        key: &ShelfKey,
        wanted: &Arc<Wanted>,
    ) -> Result<(Vec<Near>, Option<Arc<Shelf>>), StoreError> {
        let shelf = match self.fresh(store, key) {
            Some(shelf) => Some(shelf),
            None if self.lock().large.contains(key) => None,
            None => {
                let _alone = self.loading.lock().await;
                match self.fresh(store, key) {
                    Some(shelf) => Some(shelf),
                    None => self.load(store, key).await?,
                }
            }
        };
        match shelf {
            Some(shelf) => {
                let wanted = Arc::clone(wanted);
                let near = self.scanner.run(&shelf, move |shelf| shelf.nearest(&wanted)).await?;
                Ok((near, Some(shelf)))
            }
            None => {
                let (near, bytes) = page_by_page(store, key, wanted).await?;
                self.was_large(key, bytes);
                Ok((near, None))
            }
        }
    }

    /// Notes that a shelf of so many bytes was read and not held; said once, until the budget is another one.
    fn was_large(&self, key: &ShelfKey, bytes: usize) {
        self.uncached.fetch_add(1, Ordering::Relaxed);
        let mut state = self.lock();
        if bytes <= state.budget {
            state.large.remove(key);
            return;
        }
        if state.large.is_empty() {
            let budget = state.budget;
            tracing::warn!(
                bytes,
                budget,
                "an owner's vectors are larger than `vector_cache`: each of its turns reads them all"
            );
        }
        if state.large.len() >= MOST_LARGE {
            state.large.clear();
        }
        state.large.insert(key.clone());
    }

    /// Which of these messages of a shelf are at least as near as wanted.
    ///
    /// # Errors
    /// When the scan crashed.
    pub(super) async fn near_enough(
        &self,
        shelf: &Arc<Shelf>,
        wanted: &Arc<Wanted>,
        places: Vec<(ThreadId, Seq)>,
    ) -> Result<Vec<bool>, StoreError> {
        let wanted = Arc::clone(wanted);
        self.scanner.run(shelf, move |shelf| shelf.near_enough(&wanted.asked, &places, wanted.least)).await
    }

    fn fresh(&self, store: &Arc<dyn SessionStore>, key: &ShelfKey) -> Option<Arc<Shelf>> {
        let version = store.index_version(&key.resource);
        let mut state = self.lock();
        state.clock += 1;
        let now = state.clock;
        let held = state.held.get_mut(key).filter(|held| held.version == version)?;
        held.used = now;
        Some(Arc::clone(&held.shelf))
    }

    /// Reads a shelf; `None` when it alone is larger than the budget.
    async fn load(&self, store: &Arc<dyn SessionStore>, key: &ShelfKey) -> Result<Option<Arc<Shelf>>, StoreError> {
        let budget = self.lock().budget;
        let version = store.index_version(&key.resource);
        let mut shelf = Shelf::default();
        let mut after = Some(0);
        while let Some(start) = after {
            let (rows, next) = store.vectors(&key.resource, key.thread.as_ref(), &key.space, start, PAGE).await?;
            shelf.push(rows);
            if shelf.bytes() > budget {
                return Ok(None);
            }
            after = next;
        }
        let shelf = Arc::new(shelf);
        let mut state = self.lock();
        state.clock += 1;
        let held = Held { shelf: Arc::clone(&shelf), version, used: state.clock, _store: Arc::clone(store) };
        state.held.insert(key.clone(), held);
        state.shrink(Some(key));
        Ok(Some(shelf))
    }

    /// Takes over what this process wrote: `before` and `after` are the owner's version round the one write. When it
    /// moved by more than that write, somebody else wrote too, and what is held of the owner goes by itself.
    pub(super) fn wrote(
        &self,
        store: &Arc<dyn SessionStore>,
        (before, after): (u64, u64),
        (resource, space): (&ResourceId, &str),
        rows: &[IndexedVector],
    ) {
        if after != before.wrapping_add(1) {
            return;
        }
        let address = address_of(store);
        let mut state = self.lock();
        for (key, held) in &mut state.held {
            if key.store != address || key.resource != *resource || held.version != before {
                continue;
            }
            held.version = after;
            if key.space == space {
                let here = |row: &&IndexedVector| key.thread.as_ref().is_none_or(|thread| *thread == row.thread);
                let rows: Vec<IndexedVector> = rows.iter().filter(here).cloned().collect();
                Arc::make_mut(&mut held.shelf).push(rows);
            }
        }
        state.shrink(None);
    }
}

impl State {
    fn bytes(&self) -> usize {
        self.held.values().map(|held| held.shelf.bytes()).sum()
    }

    /// Drops the least used until the rest fits.
    fn shrink(&mut self, keep: Option<&ShelfKey>) {
        while self.bytes() > self.budget {
            let others = self.held.iter().filter(|(key, _)| Some(*key) != keep);
            let Some(oldest) = others.min_by_key(|(_, held)| held.used).map(|(key, _)| key.clone()) else { return };
            self.held.remove(&oldest);
        }
    }
}

impl ShelfKey {
    pub(super) fn new(
        store: &Arc<dyn SessionStore>,
        resource: &ResourceId,
        thread: Option<&ThreadId>,
        space: &str,
    ) -> Self {
        Self { store: address_of(store), resource: resource.clone(), thread: thread.cloned(), space: space.to_owned() }
    }
}

pub(super) fn address_of(store: &Arc<dyn SessionStore>) -> usize {
    Arc::as_ptr(store).cast::<()>() as usize
}

/// For an owner who has more than may be held: a page at a time, keeping the best. Also tells how much it was.
async fn page_by_page(
    store: &Arc<dyn SessionStore>,
    key: &ShelfKey,
    wanted: &Wanted,
) -> Result<(Vec<Near>, usize), StoreError> {
    let (mut best, mut bytes) = (Vec::<Near>::new(), 0);
    let mut after = Some(0);
    while let Some(start) = after {
        let (rows, next) = store.vectors(&key.resource, key.thread.as_ref(), &key.space, start, PAGE).await?;
        let mut shelf = Shelf::default();
        shelf.push(rows);
        bytes += shelf.bytes();
        best.extend(shelf.nearest(wanted));
        best.sort_by(|a, b| b.cosine.total_cmp(&a.cosine));
        best.truncate(wanted.most);
        after = next;
    }
    Ok((best, bytes))
}
