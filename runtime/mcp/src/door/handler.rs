//! The server's side of the protocol: which tools there are, and when they are others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult, ErrorCode, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, ToolListChangedNotification,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::agents::{Agents, OfferedAgent};
use super::call;

/// How often one who waits for changes looks whether its session is still there.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// One session's handler.
pub(super) struct Handler {
    agents: Arc<dyn Agents>,
    offered: watch::Receiver<Vec<OfferedAgent>>,
    /// Whether somebody waits for changes for this session.
    waiting: AtomicBool,
}

impl Handler {
    pub(super) fn new(agents: Arc<dyn Agents>, offered: watch::Receiver<Vec<OfferedAgent>>) -> Self {
        Self { agents, offered, waiting: AtomicBool::new(false) }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tool_list_changed().build();
        let about = Implementation::new("roster", env!("CARGO_PKG_VERSION")).with_title("Roster");
        let how = "Each tool is an agent. Pass conversation_id to go on with a conversation.";
        ServerConfig::new(capabilities).with_server_info(about).with_instructions(how)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.agents.offered().iter().map(tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.agents.offered().iter().find(|agent| agent.id.as_str() == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::call(self.agents.as_ref(), request, context).await.map(CallToolResponse::Complete)
    }

    /// Here comes what the library could not read as any request: an unknown method, or a known one with wrong `params`.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if ["tools/call", "tools/list"].contains(&method.as_str()) {
            return Err(ErrorData::invalid_params(
                format!("the `params` of `{method}` are not of the protocol's form"),
                None,
            ));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }

    /// Tells a session of the protocol's older versions from now on when the agents are others. Once a session, however
    /// often a client says that it begins.
    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if self.waiting.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut offered = self.offered.clone();
        offered.mark_unchanged();
        let peer = context.peer;
        while !peer.is_transport_closed() {
            let told = match timeout(LOOK_EVERY, offered.changed()).await {
                Ok(Ok(())) => peer.notify_tool_list_changed().await.is_ok(),
                Ok(Err(_)) => false,
                Err(_) => true,
            };
            if !told {
                return;
            }
        }
    }

    fn accepted_subscription_filter(&self, _requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    /// The same for those who ask to be told.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut offered = self.offered.clone();
        offered.mark_unchanged();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = offered.changed() => {
                    let told = ToolListChangedNotification::default();
                    if changed.is_err() || context.sink().send(told.into()).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// An agent as a tool.
fn tool(agent: &OfferedAgent) -> Tool {
    let about = match agent.description.is_empty() {
        true => format!("Asks the agent \"{}\".", agent.name),
        false => agent.description.clone(),
    };
    Tool::new(agent.id.as_str().to_owned(), about, Arc::new(input_schema()))
        .with_title(agent.name.clone())
        .with_raw_output_schema(Arc::new(output_schema()))
}

fn input_schema() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": {
            "prompt": {"type": "string", "minLength": 1, "description": "What to ask the agent."},
            "conversation_id": {
                "type": "string",
                "description": "A conversation to go on with, as an earlier answer named it. Left out: a new one.",
            },
        },
        "required": ["prompt"],
        "additionalProperties": false,
    }))
}

fn output_schema() -> Map<String, Value> {
    object(json!({
        "type": "object",
        "properties": {
            "answer": {"type": "string"},
            "conversation_id": {"type": "string", "description": "Absent for an agent without memory."},
            "finish_reason": {"type": "string", "description": "stop, or length, tool-calls, content-filter."},
        },
        "required": ["answer", "finish_reason"],
    }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
