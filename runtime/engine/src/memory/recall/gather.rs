//! From hits to what is fed: each hit with its neighbours, once, in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::try_join_all;
use roster_model::housekeeping::SessionStore;
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::message::{Seq, StoredMessage};
use roster_model::storage::StoreError;

use super::search::Hit;
use crate::definition::RecallConfig;
use crate::memory::estimate_tokens;
use crate::memory::transcript::ResultCap;

/// Why a recalled message is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It is the hit of this rank, from 1.
    Hit(usize),
    /// It stands beside the hit of this rank.
    Beside(usize),
}

impl Why {
    /// The rank of the hit that brought it.
    #[must_use]
    pub fn rank(self) -> usize {
        match self {
            Self::Hit(rank) | Self::Beside(rank) => rank,
        }
    }
}

/// A recalled message.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its thread.
    pub thread: ThreadId,
    /// The message.
    pub row: StoredMessage,
    /// Why it is there.
    pub why: Why,
}

/// What was recalled.
#[derive(Debug, Clone, Default)]
pub struct Gathered {
    /// Messages of the same thread, by their place.
    pub here: Vec<Found>,
    /// Messages of other threads, by time.
    pub elsewhere: Vec<Found>,
    /// What no longer fitted the budget.
    pub left_out: Vec<Found>,
}

/// Reads hits with their neighbours. In the thread of `key` only what stands before `before` is taken; a message that
/// several hits bring comes once. With a `budget` of estimated tokens the best hits come first, each with its neighbours
/// as far as they fit; results count up to the `cap`.
///
/// # Errors
/// The store's.
pub async fn gather(
    store: &Arc<dyn SessionStore>,
    config: &RecallConfig,
    key: &ThreadKey,
    before: Seq,
    hits: &[Hit],
    (budget, cap): (Option<u32>, ResultCap),
) -> Result<Gathered, StoreError> {
    let reads = hits.iter().map(|hit| async {
        let key = ThreadKey { resource: key.resource.clone(), thread: hit.thread.clone() };
        store.around(&key, hit.seq, config.before, config.after).await
    });
    let rows = try_join_all(reads).await?;
    let mut picked: BTreeMap<(ThreadId, Seq), Found> = BTreeMap::new();
    for (at, (hit, rows)) in hits.iter().zip(rows).enumerate() {
        let rank = at + 1;
        for row in rows {
            let in_prompt = hit.thread == key.thread && row.seq >= before;
            if in_prompt || !row.message.status.is_ended() {
                continue;
            }
            let why = if row.seq == hit.seq { Why::Hit(rank) } else { Why::Beside(rank) };
            let place = (hit.thread.clone(), row.seq);
            match picked.get_mut(&place) {
                Some(known) if matches!((known.why, why), (Why::Beside(_), Why::Hit(_))) => known.why = why,
                Some(_) => {}
                None => {
                    picked.insert(place, Found { thread: hit.thread.clone(), row, why });
                }
            }
        }
    }
    Ok(split(picked.into_values().collect(), key, (budget, cap)))
}

fn split(mut found: Vec<Found>, key: &ThreadKey, (budget, cap): (Option<u32>, ResultCap)) -> Gathered {
    let mut gathered = Gathered::default();
    found.sort_by_key(|found| (found.why.rank(), matches!(found.why, Why::Beside(_)), found.row.seq));
    let mut left = budget;
    for found in found {
        let cost = estimate_tokens(&found.row.message.parts, cap);
        match left.map(|left| left.checked_sub(cost)) {
            Some(None) => gathered.left_out.push(found),
            rest => {
                left = rest.flatten();
                if found.thread == key.thread { &mut gathered.here } else { &mut gathered.elsewhere }.push(found);
            }
        }
    }
    gathered.here.sort_by_key(|found| found.row.seq);
    gathered.elsewhere.sort_by(|a, b| {
        let place = |found: &Found| (found.row.message.created_at, found.thread.clone(), found.row.seq);
        place(a).cmp(&place(b))
    });
    gathered
}
