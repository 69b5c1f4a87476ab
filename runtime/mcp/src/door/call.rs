//! One call: an agent is asked, what it says is told as progress, the whole is the result.

use futures_util::StreamExt;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext, RoleServer};
use roster_model::id::AgentId;
use serde_json::{Map, Value, json};
use tokio::time::{Duration, Instant};

use super::agents::{Agents, Caller, Ended, Happening, Happenings, Question};

/// Words that came are told together, this often.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Calls the tool that stands for an agent. What goes wrong with the agent is the tool's error.
///
/// # Errors
/// The protocol's own for a tool that does not exist.
pub(super) async fn call(
    agents: &dyn Agents,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let known = AgentId::new(request.name.as_ref()).ok();
    let known = known.filter(|id| agents.offered().iter().any(|agent| agent.id == *id));
    let Some(agent) = known else {
        let shown: String = request.name.chars().take(80).collect();
        return Err(ErrorData::invalid_params(format!("unknown tool: {shown}"), None));
    };
    let (prompt, conversation) = match arguments(request.arguments.unwrap_or_default()) {
        Ok(arguments) => arguments,
        Err(message) => return Ok(failed("invalid_arguments", &message)),
    };
    let parts = context.extensions.get::<http::request::Parts>();
    let caller = parts.and_then(|parts| parts.extensions.get::<Caller>()).cloned().unwrap_or_default();
    let happenings = match agents.ask(Question { agent, prompt, conversation, caller }) {
        Ok(happenings) => happenings,
        Err(refusal) => return Ok(failed(refusal.code, &refusal.message)),
    };
    let mut progress = Progress::new(context.meta.get_progress_token(), context.peer.clone());
    tokio::select! {
        // Dropping what happens tells the turn that nobody waits any more.
        () = context.ct.cancelled() => Ok(failed("cancelled", "the call was cancelled")),
        result = follow(happenings, &mut progress) => Ok(result),
    }
}

fn arguments(mut given: Map<String, Value>) -> Result<(String, Option<String>), String> {
    let prompt = match given.remove("prompt") {
        Some(Value::String(prompt)) if !prompt.trim().is_empty() => prompt,
        Some(Value::String(_)) => return Err("`prompt` is empty".to_owned()),
        Some(_) => return Err("`prompt` must be a string".to_owned()),
        None => return Err("`prompt` is missing: what to ask the agent".to_owned()),
    };
    let conversation = match given.remove("conversation_id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id).filter(|id| !id.is_empty()),
        Some(_) => return Err("`conversation_id` must be a string".to_owned()),
    };
    match given.keys().next() {
        Some(key) => Err(format!("unknown argument `{key}`; known are `prompt` and `conversation_id`")),
        None => Ok((prompt, conversation)),
    }
}

async fn follow(mut happenings: Happenings, progress: &mut Progress) -> CallToolResult {
    let mut answer = String::new();
    while let Some(happening) = happenings.next().await {
        match happening {
            Happening::Words(piece) => {
                answer.push_str(&piece);
                progress.words(&piece).await;
            }
            Happening::Tool(name) => progress.tell(&format!("calls {name}")).await,
            Happening::Ended(Ended::Failed { code, message }) => return failed(code, &message),
            Happening::Ended(Ended::Whole { reason, conversation }) => return whole(&answer, reason, conversation),
        }
    }
    failed("internal", "the turn broke off")
}

fn whole(answer: &str, reason: &str, conversation: Option<String>) -> CallToolResult {
    let mut value = json!({"answer": answer, "finish_reason": reason});
    if let Some(id) = conversation {
        value["conversation_id"] = Value::String(id);
    }
    let mut result = CallToolResult::success(vec![ContentBlock::text(answer)]);
    result.structured_content = Some(value);
    result
}

fn failed(code: &str, message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(format!("{message} ({code})"))])
}

/// Tells a client that asked for it how far the agent is.
struct Progress {
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    told: f64,
    waiting: String,
    last: Instant,
}

impl Progress {
    fn new(token: Option<ProgressToken>, peer: Peer<RoleServer>) -> Self {
        Self { token, peer, told: 0.0, waiting: String::new(), last: Instant::now() }
    }

    async fn words(&mut self, piece: &str) {
        if self.token.is_none() {
            return;
        }
        self.waiting.push_str(piece);
        if self.last.elapsed() >= TELL_EVERY {
            let words = std::mem::take(&mut self.waiting);
            self.send(&words).await;
        }
    }

    async fn tell(&mut self, message: &str) {
        if self.token.is_none() {
            return;
        }
        let words = std::mem::take(&mut self.waiting);
        if !words.is_empty() {
            self.send(&words).await;
        }
        self.send(message).await;
    }

    async fn send(&mut self, message: &str) {
        let Some(token) = self.token.clone() else { return };
        self.last = Instant::now();
        self.told += 1.0;
        let params = ProgressNotificationParam::new(token, self.told).with_message(message);
        // A client that is gone is noticed by its cancellation.
        let _ = self.peer.notify_progress(params).await;
    }
}
