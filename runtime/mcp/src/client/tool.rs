//! A tool of a server.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::ServiceError;
use roster_model::BoxFuture;
use roster_model::tool::{Tool, ToolContext, ToolError, ToolSpec};
use serde_json::{Map, Value};

use super::content;
use super::server::Server;
use super::web::root_cause;

/// The longest message of a server that is told to a model, in characters.
const LONGEST_MESSAGE: usize = 2_000;

pub(super) struct ServerTool {
    spec: ToolSpec,
    server: Arc<Server>,
}

impl ServerTool {
    pub(super) fn new(spec: ToolSpec, server: Arc<Server>) -> Self {
        Self { spec, server }
    }

    /// The server's own name of it.
    fn own_name(&self) -> &str {
        self.spec.name.split_once('/').map_or(&self.spec.name, |(_, name)| name)
    }

    async fn ask(&self, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        let name = self.server.name();
        let peer = self.server.peer().map_err(|reason| {
            let message = format!("the MCP server `{name}` cannot be asked now: it {reason}");
            ToolError { code: "server_absent", message }
        })?;
        let params = CallToolRequestParams::new(self.own_name().to_owned()).with_arguments(arguments);
        let error = |code, message| Err(ToolError { code, message });
        let mut unread = self.server.unread.subscribe();
        let answer = tokio::select! {
            answer = peer.call_tool_once(params) => answer,
            // The sender lives as long as the server.
            Ok(()) = unread.changed() => {
                let why = *unread.borrow();
                return error("server_error", format!("the MCP server `{name}` {why}"));
            }
        };
        match answer {
            Ok(CallToolResponse::Complete(result)) => {
                content::read(result).map_err(|message| ToolError { code: "tool_failed", message })
            }
            Ok(CallToolResponse::InputRequired(_)) => {
                error("input_required", "the tool asks a person something in the middle of the call".to_owned())
            }
            Ok(_) => error("not_supported", "the tool answered with a task to wait for".to_owned()),
            Err(ServiceError::McpError(fault)) => {
                let message = self.server.secrets.shown(&fault.message, LONGEST_MESSAGE);
                error("server_error", format!("the MCP server `{name}` refused the call: {message}"))
            }
            Err(ServiceError::TransportClosed | ServiceError::TransportSend(_) | ServiceError::Cancelled { .. }) => {
                self.server.suspect.notify_one();
                let message =
                    format!("the MCP server `{name}` went away during the call; whether it did its work is not known");
                error("server_gone", message)
            }
            Err(other) => {
                let message = self.server.secrets.shown(&root_cause(&other), LONGEST_MESSAGE);
                error("server_error", format!("the MCP server `{name}` gave no usable answer: {message}"))
            }
        }
    }
}

impl Tool for ServerTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    /// A call that is dropped (its time ran out, its turn was cancelled) is cancelled at the server too.
    fn call(&self, arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let mut counted = Counted::begin(&self.server);
            let result = self.ask(arguments).await;
            counted.outcome = result.as_ref().err().map_or("ok", |error| error.code);
            result
        })
    }
}

/// Counts a call when it is over, also one that is dropped.
struct Counted<'a> {
    server: &'a Server,
    outcome: &'static str,
}

impl<'a> Counted<'a> {
    fn begin(server: &'a Server) -> Self {
        server.calling();
        Self { server, outcome: "cancelled" }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.server.called(self.outcome);
    }
}
