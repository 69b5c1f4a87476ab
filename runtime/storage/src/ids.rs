//! Random ids, for where no other source was handed in.

use std::hash::BuildHasher;

use roster_model::id::IdSource;

/// Random ids: std's hasher keys come from the system's random source, and differ from one to the next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RandomIds;

impl IdSource for RandomIds {
    fn fresh(&self) -> u128 {
        let half = || u128::from(std::hash::RandomState::new().hash_one(std::process::id()));
        (half() << 64) | half()
    }
}
