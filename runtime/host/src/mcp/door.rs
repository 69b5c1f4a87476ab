//! The door `/mcp` as this runtime opens it: the agents of the allow-list, asked as by every other door.

use std::sync::Arc;

use arc_swap::ArcSwap;
use futures_util::stream;
use roster_engine::registry::{Agent, Control, Registry};
use roster_engine::turn::{
    self, ClientTools, FinishReason, Input, InputMessage, Services, TurnEvent, TurnRefused, TurnRequest, TurnStream,
};
use roster_mcp::door::{Agents, Caller, Door, Ended, Happening, Happenings, OfferedAgent, Question, Refusal};
use roster_model::BoxFuture;
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::message::{Part, Role};
use roster_model::provider::ModelSettings;
use roster_server::{McpCaller, McpDoor, McpRequest, McpResponse};
use tokio_util::sync::CancellationToken;

use super::end_with;

/// Everybody is offered.
const ALL: &str = "*";

/// The agents that may be asked.
struct Offered {
    registry: Arc<Registry>,
    services: Arc<Services>,
    /// Their ids; what is reloaded changes them.
    allowed: ArcSwap<Vec<String>>,
}

/// The door, and who may be asked through it.
pub(crate) struct Gate {
    door: Door,
    agents: Arc<Offered>,
}

impl Gate {
    /// A door to these agents. Its sessions end when the runtime drains and the last turn is over.
    pub(crate) fn new(registry: Arc<Registry>, services: &Arc<Services>, allowed: &[String]) -> Arc<Self> {
        let end = CancellationToken::new();
        services.tracker.spawn(end_with(Arc::clone(services), end.clone()));
        let allowed = ArcSwap::from_pointee(allowed.to_vec());
        let agents = Arc::new(Offered { registry, services: Arc::clone(services), allowed });
        Arc::new(Self { door: Door::new(Arc::clone(&agents) as _, end), agents })
    }

    /// Other agents from now on.
    pub(crate) fn allow(&self, allowed: &[String]) {
        self.agents.allowed.store(Arc::new(allowed.to_vec()));
        self.door.look_again();
    }

    /// Tells sessions when what is published changes what is offered. Until the runtime drains.
    pub(crate) fn follow(self: &Arc<Self>, control: &dyn Control) {
        let (gate, mut events) = (Arc::clone(self), control.events());
        let services = &self.agents.services;
        let draining = services.draining.clone();
        services.tracker.spawn(async move {
            use tokio::sync::broadcast::error::RecvError::Closed;
            loop {
                tokio::select! {
                    () = draining.cancelled() => return,
                    event = events.recv() => if matches!(event, Err(Closed)) { return },
                }
                gate.door.look_again();
            }
        });
    }
}

impl McpDoor for Gate {
    fn is_open(&self) -> bool {
        !self.agents.allowed.load().is_empty()
    }

    fn answer(&self, request: McpRequest, caller: McpCaller) -> BoxFuture<'_, McpResponse> {
        let McpCaller { subject, resource } = caller;
        Box::pin(self.door.answer(request, Caller { subject, resource }))
    }
}

impl Offered {
    fn allows(&self, id: &str) -> bool {
        self.allowed.load().iter().any(|allowed| allowed == id || allowed == ALL)
    }

    fn request(&self, question: Question) -> Result<(TurnRequest, bool), Refusal> {
        let refusal = |code, message: String| Refusal { code, message };
        let snapshot = self.registry.snapshot();
        let agent = snapshot.agent(&question.agent).filter(|agent| self.allows(agent.definition.id.as_str()));
        let Some(agent) = agent.cloned() else {
            return Err(refusal("model_not_found", format!("agent `{}` is not there any more", question.agent)));
        };
        let thread = match question.conversation {
            Some(text) => ThreadId::new(text).map_err(|error| refusal("invalid_arguments", error.to_string()))?,
            None => ThreadId::fresh(self.services.ids.as_ref()),
        };
        let owner_named = question.caller.resource.is_some();
        let resource = question.caller.resource.unwrap_or_else(|| agent.definition.resource.clone());
        let remembers = agent.memory.is_some();
        let messages = vec![InputMessage { role: Role::User, parts: vec![Part::text(question.prompt)] }];
        let request = TurnRequest {
            agent,
            snapshot,
            key: ThreadKey { resource, thread },
            owner_named,
            stored: true,
            input: Input { messages },
            tools: ClientTools::default(),
            settings: ModelSettings::default(),
        };
        Ok((request, remembers))
    }
}

impl Agents for Offered {
    fn offered(&self) -> Vec<OfferedAgent> {
        let snapshot = self.registry.snapshot();
        let offered = |agent: &Arc<Agent>| {
            let definition = &agent.definition;
            self.allows(definition.id.as_str()).then(|| OfferedAgent {
                id: definition.id.clone(),
                name: definition.name.clone(),
                description: definition.description.clone(),
            })
        };
        snapshot.serving().filter_map(offered).collect()
    }

    fn ask(&self, question: Question) -> Result<Happenings, Refusal> {
        let (request, remembers) = self.request(question)?;
        let turn = turn::start(&self.services, request).map_err(|refused| {
            let code = match refused {
                TurnRefused::Busy => "busy",
                TurnRefused::Draining => "draining",
                TurnRefused::NoQuestion => "invalid_arguments",
            };
            Refusal { code, message: refused.to_string() }
        })?;
        Ok(Box::pin(stream::unfold((turn, remembers), |(mut turn, remembers)| async move {
            let happening = next(&mut turn, remembers).await?;
            Some((happening, (turn, remembers)))
        })))
    }
}

/// The next thing to tell.
async fn next(turn: &mut TurnStream, remembers: bool) -> Option<Happening> {
    loop {
        return Some(match turn.next().await? {
            TurnEvent::Text(piece) => Happening::Words(piece),
            TurnEvent::ToolCalled { name, .. } => Happening::Tool(name),
            TurnEvent::Finished { reason: FinishReason::Suspended, .. } => {
                let turn = &turn.turn;
                let how = format!("POST /api/turns/{turn}/approve or /decline");
                let message = format!("a tool call of the agent waits for a person: {how}");
                Happening::Ended(Ended::Failed { code: "approval_needed", message })
            }
            TurnEvent::Finished { reason, .. } => {
                let conversation = remembers.then(|| turn.key.thread.to_string());
                Happening::Ended(Ended::Whole { reason: reason.as_str(), conversation })
            }
            TurnEvent::Failed(failure) => {
                Happening::Ended(Ended::Failed { code: failure.code, message: failure.message })
            }
            _ => continue,
        });
    }
}
