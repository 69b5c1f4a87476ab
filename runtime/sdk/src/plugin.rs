//! What a plugin is.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Result;
use crate::host::Host;
use crate::registry::Registry;

/// A plugin. One value is one configured instance; a reload makes a new one beside the old.
pub trait Plugin: Sized + Send + Sync + 'static {
    /// `[plugins.<key>.config]`; [`NoConfig`] for none. The host checks it against the schema before [`Plugin::create`].
    type Config: DeserializeOwned + JsonSchema;

    /// Makes an instance. It may start threads; host services answer only after it returned.
    ///
    /// # Errors
    /// Whatever the operator has to mend; the message is shown to them.
    fn create(host: Host, config: Self::Config) -> Result<Self>;

    /// Names the components. Called before any instance is made, too: static facts only.
    fn register(registry: &mut Registry<Self>);

    /// Whether it can serve; asked before an instance takes over and from time to time.
    ///
    /// # Errors
    /// Why not, for the operator.
    fn health(&self) -> Result<()> {
        Ok(())
    }

    /// No call is in flight and none will come: stop and join own threads, flush. Ends within `limit`.
    fn quiesce(&self, limit: Duration) {
        let _ = limit;
    }
}

/// A configuration with nothing in it.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoConfig {}
