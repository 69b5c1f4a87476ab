//! Where calls are found again without a look at each.

use std::collections::HashMap;

use super::Piece;

/// The places of calls by what pieces name them with; always the newest call that fits.
#[derive(Debug, Default)]
pub(super) struct Places {
    len: usize,
    by_number: HashMap<u64, usize>,
    by_id: HashMap<String, WithId>,
    /// Calls whose id has not come yet, by number, the newest last.
    without_id: HashMap<u64, Vec<usize>>,
}

/// The newest calls of one id.
#[derive(Debug, Default)]
struct WithId {
    any: Option<usize>,
    unnumbered: Option<usize>,
    by_number: HashMap<u64, usize>,
}

impl WithId {
    fn insert(&mut self, index: usize, number: Option<u64>) {
        self.any = Some(index);
        match number {
            Some(number) => drop(self.by_number.insert(number, index)),
            None => self.unnumbered = Some(index),
        }
    }

    /// The newest whose number is the same or not known.
    fn like(&self, number: u64) -> Option<usize> {
        self.by_number.get(&number).copied().max(self.unnumbered)
    }
}

impl Places {
    /// The call that a piece names, if there is one.
    pub(super) fn of(&self, piece: &Piece) -> Option<usize> {
        let Some(id) = &piece.id else {
            return match piece.number {
                Some(number) => self.by_number.get(&number).copied(),
                None => self.len.checked_sub(1),
            };
        };
        let same = self.by_id.get(id);
        match (piece.number, &piece.name) {
            (Some(number), Some(_)) => same?.like(number),
            (None, Some(_)) => same?.any,
            // An id that comes late belongs to the call of that number which has none.
            (number, None) => same.and_then(|same| same.any).or_else(|| self.without_id.get(&number?)?.last().copied()),
        }
    }

    /// Notes a new call, which takes the next place.
    pub(super) fn begin(&mut self, number: Option<u64>, id: Option<&str>) {
        let index = self.len;
        self.len += 1;
        if let Some(number) = number {
            self.by_number.insert(number, index);
        }
        match (id, number) {
            (Some(id), _) => self.by_id.entry(id.to_owned()).or_default().insert(index, number),
            (None, Some(number)) => self.without_id.entry(number).or_default().push(index),
            (None, None) => {}
        }
    }

    /// Notes the id of a call that began without one.
    pub(super) fn name(&mut self, index: usize, number: Option<u64>, id: &str) {
        self.by_id.entry(id.to_owned()).or_default().insert(index, number);
        if let Some(waiting) = number.and_then(|number| self.without_id.get_mut(&number)) {
            waiting.retain(|other| *other != index);
        }
    }
}
