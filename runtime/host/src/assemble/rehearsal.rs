//! A runtime for trying agents out: nothing is kept, the clock stands still, ids are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use roster_embed::hash::HashEmbedder;
use roster_engine::registry::{BoundEmbedder, Catalog, EmbedderSource, NameFault, Registry};
use roster_engine::turn::Services;
use roster_model::id::IdSource;
use roster_model::time::{Clock, Timestamp};
use roster_storage::ram::RamStore;

use super::{Assembly, Project, limits, populate};
use crate::clock::SystemClock;
use crate::embedders::Embedders;
use crate::error::HostError;
use crate::mcp::Mcp;
use crate::plugins::PluginHost;

/// A clock that stands still.
struct Still(Timestamp);

impl Clock for Still {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// 1, 2, 3 …
#[derive(Default)]
struct Counted(AtomicU64);

impl IdSource for Counted {
    fn fresh(&self) -> u128 {
        u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// Every embedder is the one that needs neither weights nor a network.
struct Hashed(Arc<dyn EmbedderSource>);

impl EmbedderSource for Hashed {
    fn resolve(&self, name: &str) -> Result<BoundEmbedder, NameFault> {
        self.0.resolve(name).map(|_| hashed())
    }

    fn unnamed(&self) -> Result<BoundEmbedder, NameFault> {
        Ok(hashed())
    }

    fn is_current(&self) -> bool {
        self.0.is_current()
    }
}

fn hashed() -> BoundEmbedder {
    BoundEmbedder { embedder: Arc::new(HashEmbedder), notice: None }
}

/// Assembles the project over a store in memory, at the moment `now`; names stand for what `change` makes of them.
///
/// # Errors
/// [`HostError`] when `runtime.toml` cannot be used, or plugins cannot be loaded.
pub(crate) async fn rehearse(
    project: &mut Project,
    agent: &str,
    now: Timestamp,
    change: impl FnOnce(Catalog) -> Catalog,
) -> Result<Assembly, HostError> {
    let config = project.config()?;
    let (clock, ids): (Arc<dyn Clock>, Arc<dyn IdSource>) = (Arc::new(Still(now)), Arc::new(Counted::default()));
    let store = Arc::new(RamStore::new(Arc::clone(&clock)).with_ids(Arc::clone(&ids)));
    let (root, registry) = (project.root.clone(), Arc::new(Registry::default()));
    let services = Arc::new(Services::new(clock, ids, limits(config)));
    let mcp = Mcp::new(&root, &services)?;
    // What plugins wait for passes in real time.
    let plugins = Arc::new(PluginHost::new(&root, &config.plugins, Arc::new(SystemClock), &registry)?);
    let embedders = Arc::new(Embedders::new(&root));
    let operator = Arc::clone(&store) as _;
    let assembly = Assembly { root, registry, services, store, embedders, mcp, plugins, operator, sessions: None };
    let still = |catalog: Catalog| Catalog { embedders: Arc::new(Hashed(catalog.embedders)), ..catalog };
    populate(&assembly, project, agent, |catalog| change(still(catalog))).await?;
    Ok(assembly)
}
