//! What every ledger must do. Each rule is a function of a fresh, empty store; the macro
//! [`ledger_suite!`](crate::ledger_suite) makes a test of each.

mod history;
mod pins;
mod versions;

use std::any::Any;
use std::sync::Arc;

use roster_model::id::AgentId;
use roster_model::ledger::{LedgerEntry, LedgerStore, LedgerWrite, Version};
use roster_model::time::Timestamp;

pub use history::*;
pub use pins::*;
pub use versions::*;

/// A fresh store and whatever must outlive it (its temp folder).
pub struct Subject {
    /// The store under test, empty.
    pub store: Arc<dyn LedgerStore>,
    /// Dropped after the store.
    pub keep: Box<dyn Any + Send>,
}

/// Makes one test of every rule, in a module `ledger`; `$make` is a function that gives a [`Subject`].
#[macro_export]
macro_rules! ledger_suite {
    ($make:expr) => {
        $crate::ledger_suite!(@tests $make;
            nothing_is_known_of_a_new_agent
            a_version_comes_back_as_it_was
            a_version_that_is_known_stays_as_it_is
            the_version_served_last_is_given_whatever_came_after
            a_version_whose_text_is_unknown_is_passed_over
            what_the_newest_entry_serves_is_known_for_many_at_once
            a_version_is_found_by_the_beginning_of_its_fingerprint
            agents_do_not_share_versions
            a_publish_of_3000_agents_is_whole
            history_is_newest_first_and_limited
            everything_in_an_entry_survives
            a_publish_written_twice_counts_once
            writes_end_in_the_order_they_came
            the_newest_1000_entries_of_an_agent_are_kept
            versions_outlive_their_entries
            a_pin_lasts_until_it_is_taken_away
            an_unknown_version_cannot_be_pinned
            all_pins_are_listed
        );
    };
    (@tests $make:expr; $($rule:ident)*) => {
        $(
            #[tokio::test]
            async fn $rule() {
                $crate::suite::ledger::$rule(&$make()).await;
            }
        )*
    };
}

/// An agent id.
#[must_use]
pub fn agent(text: &str) -> AgentId {
    AgentId::new(text).expect("legal agent id")
}

/// A fingerprint as long as real ones, beginning with `start` and filled up with zeros.
#[must_use]
pub fn print(start: &str) -> String {
    format!("{start:0<64}")
}

/// Version `start` of the agent, without an instructions file.
#[must_use]
pub fn version(name: &str, start: &str) -> Version {
    let text = format!("id = \"{name}\"\ninstructions = \"{start}\"\n");
    Version { agent: agent(name), fingerprint: print(start), text, instructions: None }
}

/// What publish `generation` of run `run` did to an agent.
#[must_use]
pub fn entry(generation: u64, name: &str, change: &str, start: &str) -> LedgerEntry {
    LedgerEntry {
        run: "run".to_owned(),
        generation,
        at: Timestamp::from_millis(1_893_456_000_000),
        agent: agent(name),
        change: change.to_owned(),
        fingerprint: print(start),
        keys: Vec::new(),
    }
}

/// A publish of one agent, with its version.
#[must_use]
pub fn publish(generation: u64, name: &str, change: &str, start: &str) -> LedgerWrite {
    LedgerWrite { versions: vec![version(name, start)], entries: vec![entry(generation, name, change, start)] }
}

/// Publishes version after version of one agent: generation 1 adds it, the others change it.
pub async fn serve(store: &dyn LedgerStore, name: &str, starts: &[&str]) {
    for (generation, start) in (1..).zip(starts) {
        let change = if generation == 1 { "added" } else { "changed" };
        store.write(publish(generation, name, change, start)).await.expect("written");
    }
}

/// The generations in an agent's history, newest first.
pub async fn generations(store: &dyn LedgerStore, name: &str) -> Vec<u64> {
    let entries = store.history(&agent(name), usize::MAX).await.expect("history");
    entries.iter().map(|entry| entry.generation).collect()
}
