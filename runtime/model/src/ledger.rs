//! The ledger: every version of every definition that was ever served, and what was published when. Kept in the
//! sessions store; written after a publish, never a reason for one to fail.

use serde::Serialize;

use crate::id::AgentId;
use crate::storage::StoreResult;
use crate::time::Timestamp;

/// A version of a definition, whole: from this text it can be loaded again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    /// The agent.
    pub agent: AgentId,
    /// Identifies the content for ever.
    pub fingerprint: String,
    /// The text of its file.
    pub text: String,
    /// The text of its `instructions_file`, where it names one.
    pub instructions: Option<String>,
}

/// What a publish did to one agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LedgerEntry {
    /// Which run of the process; generations are counted in each run anew.
    pub run: String,
    /// The generation published.
    pub generation: u64,
    /// When.
    pub at: Timestamp,
    /// The agent.
    pub agent: AgentId,
    /// `added`, `changed`, `rebound`, `removed`, `pinned`, `unpinned`.
    pub change: String,
    /// The version served from then on; of a removed agent, the one served last.
    pub fingerprint: String,
    /// The keys of the definition that changed.
    pub keys: Vec<String>,
}

/// What a publish leaves in the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LedgerWrite {
    /// Versions served now; one that is known already is not stored again.
    pub versions: Vec<Version>,
    /// What changed.
    pub entries: Vec<LedgerEntry>,
}

/// The ledger of a project.
pub trait LedgerStore: Send + Sync + 'static {
    /// Writes down a publish. Large ones go in slices behind the turns; writes end in the order they came. One that
    /// failed may be written again: an entry of the same run, generation, agent and change counts once. Of an agent's
    /// entries the newest 1,000 are kept, of its versions all.
    fn write(&self, write: LedgerWrite) -> StoreResult<'_, ()>;
    /// The version of an agent that was served last, by this or an earlier run: that of the newest entry which is no
    /// `removed` and whose version was written.
    fn last_served<'a>(&'a self, agent: &'a AgentId) -> StoreResult<'a, Option<Version>>;
    /// For each agent and fingerprint, in the order asked: whether the agent's newest entry names this version as
    /// served (it is no `removed`), and the version was written. To serve it once more is then no news.
    fn are_served_last(&self, versions: Vec<(AgentId, String)>) -> StoreResult<'_, Vec<bool>>;
    /// One version of an agent, by the whole fingerprint or an unambiguous beginning of at least 8 characters.
    fn version<'a>(&'a self, agent: &'a AgentId, fingerprint: &'a str) -> StoreResult<'a, Option<Version>>;
    /// What happened to an agent, newest first, at most `limit`.
    fn history<'a>(&'a self, agent: &'a AgentId, limit: usize) -> StoreResult<'a, Vec<LedgerEntry>>;
    /// Pins an agent to a version, named by its whole fingerprint, or unpins it; survives restarts. `NotFound` for a
    /// version that was never written; the pin that is there stays.
    fn pin<'a>(&'a self, agent: &'a AgentId, fingerprint: Option<String>) -> StoreResult<'a, ()>;
    /// All pinned versions, whole.
    fn pins(&self) -> StoreResult<'_, Vec<Version>>;
}
