//! All servers of one configuration, and their changing while running.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use roster_model::source::{SourceState, ToolGroup, ToolSource};
use roster_model::time::Clock;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::config::ServerConfig;
use super::connection::{Means, keep};
use super::server::Server;

/// How long making a connection may take.
const CONNECT: Duration = Duration::from_secs(10);

/// Who is told what happens with servers. Called from the servers' tasks; must not block.
pub trait Notice: Send + Sync + 'static {
    /// A server came, went or has other tools: agents that use it are to be assembled anew.
    fn tools_changed(&self);
    /// A call came to its end; `outcome` is `ok` or a machine code.
    fn called(&self, server: &str, outcome: &'static str);
    /// A connection was made anew.
    fn reconnected(&self, server: &str);
}

/// The servers. One per process; what is reloaded changes them.
pub struct Servers {
    running: Mutex<BTreeMap<String, Running>>,
    means: Means,
    end: CancellationToken,
    clock: Arc<dyn Clock>,
    notice: Arc<dyn Notice>,
}

struct Running {
    server: Arc<Server>,
    /// Dropped or cancelled: its task ends.
    end: CancellationToken,
}

impl Servers {
    /// No servers yet. Their tasks belong to `tracker` and end when `end` is cancelled, children first.
    ///
    /// # Errors
    /// When no HTTP client can be made.
    pub fn new(
        tracker: TaskTracker,
        end: CancellationToken,
        clock: Arc<dyn Clock>,
        notice: Arc<dyn Notice>,
    ) -> Result<Self, reqwest::Error> {
        // A redirect would carry the headers, secrets among them, to somebody else.
        let http = reqwest::Client::builder()
            .user_agent(concat!("roster/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { running: Mutex::default(), means: Means { tracker, http }, end, clock, notice })
    }

    /// Puts these servers into effect: new ones are started, others than before started anew, those no longer named
    /// ended, the rest left alone. Waits for none of them. Inside the runtime whose tasks they are to be.
    pub fn apply(&self, configs: &[ServerConfig]) {
        let mut changed = false;
        let mut running = self.lock();
        running.retain(|name, one| {
            let stays = configs.iter().any(|config| config.name == *name && *config == one.server.config);
            if !stays {
                one.end.cancel();
                changed = true;
            }
            stays
        });
        for config in configs {
            if running.contains_key(&config.name) {
                continue;
            }
            changed = true;
            let server = Server::new(config.clone(), Arc::clone(&self.clock), Arc::clone(&self.notice));
            let end = self.end.child_token();
            if config.enabled {
                self.means.tracker.spawn(keep(Arc::clone(&server), self.means.clone(), end.clone()));
            }
            running.insert(config.name.clone(), Running { server, end });
        }
        drop(running);
        if changed {
            self.notice.tools_changed();
        }
    }

    /// Waits until every server was tried once, at most for `patience`.
    pub async fn settled(&self, patience: Duration) {
        let servers: Vec<_> = self.lock().values().map(|one| Arc::clone(&one.server)).collect();
        let all = async {
            for server in servers {
                server.settled().await;
            }
        };
        // Who is slow is not waited for.
        let _ = tokio::time::timeout(patience, all).await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToolSource for Servers {
    fn group(&self, server: &str) -> Option<ToolGroup> {
        self.lock().get(server).map(|one| one.server.group())
    }

    fn servers(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn states(&self) -> Vec<SourceState> {
        self.lock().values().map(|one| one.server.state()).collect()
    }

    fn hurry(&self) {
        self.lock().values().for_each(|one| one.server.hurry.notify_waiters());
    }
}
