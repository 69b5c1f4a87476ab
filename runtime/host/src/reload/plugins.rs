//! What operators ask of plugins. Loading blocks: it has a thread of its own.

use std::sync::Arc;

use roster_engine::registry::ControlError;
use roster_plugin::plugin::{LoadOutcome, PluginStatus};
use roster_plugin::refusal::{Refusal, RefusalKind};
use roster_plugin::set::Plugins;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::control::Reload;

impl Reload {
    /// How the plugins stand.
    #[must_use]
    pub fn plugin_status(&self) -> Vec<PluginStatus> {
        self.plugins.plugins.status()
    }

    /// Loads the file of a plugin again.
    ///
    /// # Errors
    /// [`ControlError`]; what served goes on serving.
    pub async fn plugin_reload(&self, key: &str) -> Result<Value, ControlError> {
        let name = key.to_owned();
        self.take_up(key, move |plugins| plugins.reload(&name)).await
    }

    /// Goes back to a library that served before.
    ///
    /// # Errors
    /// As [`Reload::plugin_reload`].
    pub async fn plugin_rollback(&self, key: &str, sha256: Option<String>) -> Result<Value, ControlError> {
        let name = key.to_owned();
        self.take_up(key, move |plugins| plugins.rollback(&name, sha256.as_deref())).await
    }

    async fn take_up(
        &self,
        key: &str,
        run: impl FnOnce(&Plugins) -> Result<LoadOutcome, Refusal> + Send + 'static,
    ) -> Result<Value, ControlError> {
        if self.plugins.get(key).is_none() {
            return Err(ControlError::UnknownPlugin(key.to_owned()));
        }
        let (send, receive) = oneshot::channel();
        let host = Arc::clone(&self.plugins);
        // Who asked may have gone.
        let body = move || drop(send.send(run(&host.plugins)));
        let made = std::thread::Builder::new().name("plugin-reload".to_owned()).spawn(body);
        let refused = |refusal: Refusal| ControlError::PluginRefused {
            plugin: key.to_owned(),
            reason: refusal.message,
            help: refusal.help,
        };
        if let Err(error) = made {
            return Err(refused(Refusal::new(RefusalKind::System, format!("no thread: {error}"), "try again")));
        }
        receive.await.map_err(|_| ControlError::Stopping)?.map_err(refused)?;
        let status = self.plugins.get(key).map(|plugin| plugin.status());
        Ok(json!({ "plugin": status }))
    }
}
