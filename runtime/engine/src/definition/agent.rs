//! A checked agent definition.

use std::time::Duration;

use indexmap::IndexMap;
use roster_model::id::{AgentId, ResourceId};
use roster_model::message::Role;
use roster_model::provider::ModelSettings;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::orchestration::Orchestration;

/// An agent as its file says it: names and policies, no object.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its id, equal to its key in the registry.
    pub id: AgentId,
    /// Its name for people; the id when the file gives none.
    pub name: String,
    /// What it is for; empty when the file says nothing.
    pub description: String,
    /// The system text, byte for byte (line ends `\n`).
    pub instructions: String,
    /// Which models, in order of preference; never empty.
    pub model: Vec<ModelChoice>,
    /// Settings of its model calls.
    pub model_settings: ModelSettings,
    /// Its memory; `None` means none at all, anywhere.
    pub memory: Option<MemoryConfig>,
    /// The owner of its threads when the request names none. Default `ai-chat`.
    pub resource: ResourceId,
    /// Tools by the names written: `get_time`, `plugin:tool`, `mcp:server/tool`.
    pub tools: Vec<String>,
    /// Settings by the name written in `tools`.
    pub tool_settings: IndexMap<String, ToolSettings>,
    /// Processors by the names written, `plugin:component`, in their order.
    pub processors: Vec<String>,
    /// What happens when one of them fails.
    pub on_processor_error: OnProcessorError,
    /// Agents it may call.
    pub agents: Vec<AgentId>,
    /// How it works with them and others; `None`: its model calls `agents` as it likes.
    pub orchestration: Option<Orchestration>,
    /// JSON Schema of its answers; `None`: they are words.
    pub output_schema: Option<Value>,
    /// Model calls per turn, at least 1. Default 5.
    pub max_steps: u32,
    /// False: registered and not served.
    pub enabled: bool,
    /// What happens when the client leaves in mid-turn.
    pub on_disconnect: OnDisconnect,
    /// SHA-256 (hex) over the content: the file's text with line ends normalised, and that of `instructions_file`.
    /// Identifies this version for ever; a moved or touched file keeps it.
    pub fingerprint: String,
    /// The file, relative to the root, for messages.
    pub file: String,
}

impl Definition {
    /// Every agent it may call: `agents`, then those of its stages. One named twice comes twice.
    pub fn callees(&self) -> impl Iterator<Item = &AgentId> {
        let stages = self.orchestration.iter().flat_map(|orchestration| &orchestration.stages);
        self.agents.iter().chain(stages.map(|stage| &stage.agent))
    }

    /// What the definition calls the agent `id`, where it has a stage for it.
    #[must_use]
    pub fn role_of(&self, id: &AgentId) -> Option<&str> {
        let stages = &self.orchestration.as_ref()?.stages;
        stages.iter().find(|stage| stage.agent == *id).map(|stage| stage.role.as_str())
    }
}

/// One model an agent may use.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelChoice {
    /// A name as written: an alias, `provider/model` or `plugin:model`.
    Named(String),
    /// The table form.
    Table(ModelTable),
}

/// `model = { id, base_url, api_key_env, dialect }`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTable {
    /// The provider's own name of the model.
    pub id: String,
    /// Where it is.
    pub base_url: String,
    /// The variable that holds the key; `None`: no key is sent.
    pub api_key_env: Option<String>,
    /// `openai` …; default `openai`.
    pub dialect: String,
}

/// What happens to a turn when its client leaves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// The provider call is cancelled, what was said is stored and marked interrupted.
    #[default]
    Cancel,
    /// The turn goes on to its end.
    Finish,
}

/// What happens when a processor fails.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnProcessorError {
    /// The turn fails: nothing passes unseen.
    #[default]
    Fail,
    /// It goes on as if the processor were not there.
    Pass,
}

/// The `[memory]` of a definition. Also what a memory factory is given.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryConfig {
    /// The factory's name as written: `create_memory` or `plugin:factory`.
    pub factory: String,
    /// `config = { … }`, for a plugin's factory.
    pub config: Map<String, Value>,
    /// Tier 1.
    pub window: WindowConfig,
    /// Tier 2; `None`: nothing is recalled and nothing indexed.
    pub recall: Option<RecallConfig>,
    /// Tier 3; `None`: none.
    pub working: Option<WorkingConfig>,
    /// Whether a model names a thread after its first turn. Default false.
    pub generate_title: bool,
}

impl MemoryConfig {
    /// What `memory = "factory"` means: the window alone, with its defaults.
    #[must_use]
    pub fn new(factory: impl Into<String>) -> Self {
        Self {
            factory: factory.into(),
            config: Map::new(),
            window: WindowConfig::default(),
            recall: None,
            working: None,
            generate_title: false,
        }
    }
}

/// How far a tier of memory reaches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Scope {
    /// All threads of the owner.
    #[default]
    Resource,
    /// One thread.
    Thread,
}

impl Scope {
    /// The word written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Thread => "thread",
        }
    }
}

/// Tier 2: semantic recall.
#[derive(Debug, Clone, PartialEq)]
pub struct RecallConfig {
    /// Messages recalled, neighbours not counted. Default 4.
    pub top_k: usize,
    /// Neighbours before each. Default 1.
    pub before: usize,
    /// Neighbours after each. Default 1.
    pub after: usize,
    /// Where is looked. Default: all threads of the owner.
    pub scope: Scope,
    /// The least cosine. Default 0.
    pub threshold: f32,
    /// The embedder's name as written; `None`: `local` where its weights are there, else `hash`.
    pub embedder: Option<String>,
    /// Whose messages are recalled; empty: everybody's.
    pub roles: Vec<Role>,
    /// Older messages are not recalled; `None`: whatever their age.
    pub max_age: Option<Duration>,
}

impl Default for RecallConfig {
    fn default() -> Self {
        Self {
            top_k: 4,
            before: 1,
            after: 1,
            scope: Scope::Resource,
            threshold: 0.0,
            embedder: None,
            roles: Vec::new(),
            max_age: None,
        }
    }
}

/// Tier 3: working memory.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkingConfig {
    /// Whose it is. Default: the owner's.
    pub scope: Scope,
    /// What it looks like.
    pub form: WorkingForm,
    /// True: the model is shown it and cannot change it. Default false.
    pub read_only: bool,
}

/// The form of a working memory.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkingForm {
    /// Markdown that begins as this template and is replaced as a whole.
    Template(String),
    /// A JSON object of this schema, of which named fields are changed.
    Schema(Map<String, Value>),
}

/// Tier 1: the last-N window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowConfig {
    /// How many stored rows before the turn are fed; 0 (also written `false`): none. Default 10.
    pub last_messages: u32,
    /// A budget for history, by the documented estimate; `None`: no budget.
    pub max_tokens: Option<u32>,
}

impl Default for WindowConfig {
    fn default() -> Self {
        Self { last_messages: 10, max_tokens: None }
    }
}

/// `[tool_settings."name"]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolSettings {
    /// After this the call is given up and the model is told. Default: 60 s.
    pub timeout: Option<Duration>,
    /// Calls of this tool at once by this agent; `None`: no bound.
    pub concurrency: Option<u32>,
    /// A person must approve each call.
    pub approval: bool,
    /// The tool's own settings.
    pub own: Map<String, Value>,
}

/// The fingerprint of a definition's content: its text, and that of its instructions file. Byte order mark and line
/// ends do not count.
#[must_use]
pub fn fingerprint_of(text: &str, instructions_file: Option<&str>) -> String {
    let mut hash = Sha256::new();
    for (label, content) in [("agent", Some(text)), ("instructions", instructions_file)] {
        let Some(content) = content else { continue };
        let content = content.strip_prefix('\u{feff}').unwrap_or(content).replace("\r\n", "\n");
        hash.update(label.as_bytes());
        hash.update((content.len() as u64).to_le_bytes());
        hash.update(content.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
