//! What a server says unasked.

use std::sync::Arc;

use rmcp::handler::client::ClientHandler;
use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RoleClient};

use super::server::Server;

/// Listens for one connection. Requests of the server (samples of a model, folders, questions to people) are answered
/// as by a client that has none.
#[derive(Clone)]
pub(super) struct Hearing(pub(super) Arc<Server>);

impl ClientHandler for Hearing {
    fn get_info(&self) -> ClientConfig {
        let about = Implementation::new("roster", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), about)
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.relist.notify_one();
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _context: NotificationContext<RoleClient>) {
        let message = self.0.secrets.shown(params.message.as_deref().unwrap_or_default(), 200);
        tracing::debug!(server = self.0.name(), progress = params.progress, "MCP server works: {message}");
    }
}
