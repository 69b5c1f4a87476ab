//! A world: definitions, a scripted model, a RAM store, a counted factory, handed in and looked at from outside.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use roster_engine::definition::{Instructions, MemoryConfig, ModelChoice, Unreadable, load_agent};
use roster_engine::memory::{FactoryError, Memory, MemoryFactory};
use roster_engine::registry::{BoundModel, Candidate, Catalog, ModelSource, NameFault, Registry, prepare};
use roster_engine::tool::Schemas;
use roster_engine::trace::Recorder;
use roster_engine::turn::{
    ClientTools, Input, InputMessage, Limits, Services, TurnEvent, TurnRequest, TurnStream, start,
};
use roster_model::BoxFuture;
use roster_model::embedder::Embedder;
use roster_model::housekeeping::SessionStore;
use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Part, Role, StoredMessage};
use roster_model::observation::{ObservationStore, Span};
use roster_model::provider::ModelSettings;
use roster_model::storage::{ConversationStore, StoreError, StoreErrorKind};
use roster_model::tool::ToolMaker;
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::ids::TestIds;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::embedder::Words;
pub use crate::model::{Model, Say, calls, end, text};
use crate::pay::PayMaker;
use crate::processors::processors;

struct Models(Arc<Model>);

impl ModelSource for Models {
    fn resolve(&self, choice: &ModelChoice) -> Result<BoundModel, NameFault> {
        match choice {
            ModelChoice::Named(name) if name == "nobody/x" => {
                Err(NameFault { code: "unknown_provider", message: "unknown provider `nobody`".into(), help: None })
            }
            // An alias whose text came from a variable.
            ModelChoice::Named(name) if name == "quiet" => {
                Ok(BoundModel { name: name.clone(), provider: self.0.clone(), model: "hush/1".into() })
            }
            _ => Ok(BoundModel { name: "stub/echo".into(), provider: self.0.clone(), model: "echo".into() }),
        }
    }
}

/// Counts its calls; fails when told.
pub struct Factory {
    store: Arc<dyn SessionStore>,
    pub calls: AtomicUsize,
    pub fails: Mutex<bool>,
}

impl MemoryFactory for Factory {
    fn create(&self, config: &MemoryConfig) -> Result<Memory, FactoryError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if *self.fails.lock().unwrap() {
            return Err(FactoryError { message: "no room".into() });
        }
        Ok(Memory::new(Arc::clone(&self.store), config))
    }
}

/// Files for `instructions_file`: none.
struct NoFiles;

impl Instructions for NoFiles {
    fn read(&self, _: &str) -> Result<Vec<u8>, Unreadable> {
        Err(Unreadable::Missing)
    }
}

/// An observability store that keeps spans in RAM, or fails.
#[derive(Default)]
pub struct Observed {
    pub spans: Mutex<Vec<Span>>,
    pub fails: AtomicBool,
}

impl ObservationStore for Observed {
    fn record(&self, spans: Vec<Span>) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            if self.fails.load(Ordering::SeqCst) {
                return Err(StoreError::new(StoreErrorKind::Unavailable, "gone"));
            }
            self.spans.lock().unwrap().extend(spans);
            Ok(())
        })
    }

    fn trace<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<Span>, StoreError>> {
        Box::pin(async { Ok(self.spans.lock().unwrap().clone()) })
    }
}

pub struct World {
    pub embedder: Arc<Words>,
    pub clock: Arc<TestClock>,
    pub observed: Arc<Observed>,
    pub model: Arc<Model>,
    pub store: Arc<RamStore>,
    pub factory: Arc<Factory>,
    pub catalog: Catalog,
    pub registry: Registry,
    pub services: Arc<Services>,
    pub runs: Arc<AtomicUsize>,
    pub gates: Arc<Mutex<BTreeMap<i64, Arc<Notify>>>>,
}

pub const CLERK: &str = "id = \"clerk\"\ninstructions = \"Be brief.\"\nmemory = \"create_memory\"\nresource = \"shop\"\ntools = [\"pay\"]\n";

impl World {
    pub fn new(files: &[&str]) -> Self {
        Self::limited(files, Limits::default())
    }

    pub fn limited(files: &[&str], limits: Limits) -> Self {
        Self::on(files, limits, |store| store)
    }

    /// With the agents' store behind something of the test's own.
    pub fn on(files: &[&str], limits: Limits, wrap: impl FnOnce(Arc<RamStore>) -> Arc<dyn SessionStore>) -> Self {
        let model = Arc::new(Model::default());
        let clock = Arc::new(TestClock::default());
        let store = Arc::new(RamStore::new(clock.clone()));
        let maker = PayMaker::default();
        let embedder = Arc::new(Words::default());
        let embedders: BTreeMap<String, Arc<dyn Embedder>> = BTreeMap::from([
            ("local".to_owned(), embedder.clone() as _),
            ("other".to_owned(), Arc::new(Words::other()) as _),
        ]);
        let factory =
            Arc::new(Factory { store: wrap(store.clone()), calls: AtomicUsize::new(0), fails: Mutex::new(false) });
        let catalog = Catalog {
            servers: Arc::new(()),
            plugins: Default::default(),
            factories: Arc::new(BTreeMap::from([(
                "create_memory".to_owned(),
                Arc::clone(&factory) as Arc<dyn MemoryFactory>,
            )])),
            tools: ["pay", "look"].map(|name| (name.to_owned(), Arc::new(maker.clone()) as Arc<dyn ToolMaker>)).into(),
            models: Arc::new(Models(Arc::clone(&model))),
            embedders: Arc::new(embedders.clone()),
            processors: Arc::new(processors()),
            revision: 1,
            schemas: Schemas::default(),
        };
        let observed = Arc::new(Observed::default());
        let services = Services::new(clock.clone(), Arc::new(TestIds::default()), limits);
        let recorder = Recorder::start(Some(observed.clone()), &TaskTracker::new(), 1.0);
        let services = services.recording(Arc::new(recorder));
        let world = Self {
            embedder,
            clock,
            observed,
            model,
            store,
            factory,
            catalog,
            registry: Registry::default(),
            services: Arc::new(services),
            runs: maker.runs,
            gates: maker.gates,
        };
        world.load(files);
        world
    }

    /// Loads these files as the whole project and publishes.
    pub fn load(&self, files: &[&str]) {
        let candidates = files.iter().map(|file| candidate(file)).collect();
        let prepared = prepare(&self.catalog, &self.registry.snapshot(), candidates, Vec::new());
        self.registry.publish(prepared);
    }

    pub fn request(&self, agent: &str, thread: &str, messages: &[(Role, &str)]) -> TurnRequest {
        let snapshot = self.registry.snapshot();
        let agent = snapshot.agent(&AgentId::new(agent).unwrap()).expect("serving");
        let messages =
            messages.iter().map(|(role, text)| InputMessage { role: *role, parts: vec![Part::text(*text)] }).collect();
        TurnRequest {
            agent: Arc::clone(agent),
            snapshot: Arc::clone(&snapshot),
            key: key(thread),
            owner_named: true,
            stored: true,
            input: Input { messages },
            tools: ClientTools::default(),
            settings: ModelSettings::default(),
        }
    }

    pub fn ask(&self, thread: &str, question: &str) -> TurnStream {
        start(&self.services, self.request("clerk", thread, &[(Role::User, question)])).expect("accepted")
    }

    /// Waits until nothing is left to do behind the turns: titles, index, feed.
    pub async fn settled(&self) {
        self.services.tracker.close();
        self.services.tracker.wait().await;
        self.services.tracker.reopen();
    }

    /// Asks as an owner whom nobody named.
    pub async fn ask_unnamed(&self, thread: &str, question: &str) -> Vec<TurnEvent> {
        let request = TurnRequest { owner_named: false, ..self.request("clerk", thread, &[(Role::User, question)]) };
        all(start(&self.services, request).expect("accepted")).await
    }

    /// The rows of a thread in short: `user: q`, `assistant(failed): a`.
    pub async fn rows(&self, thread: &str) -> Vec<String> {
        let rows = self.store.tail(&key(thread), 1_000, None).await.unwrap();
        rows.iter().map(row).collect()
    }
}

fn row(row: &StoredMessage) -> String {
    let message = &row.message;
    let status = message.status.as_str();
    let status = if status == "complete" { String::new() } else { format!("({status})") };
    let part = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::Reasoning { text, .. } => format!("<{text}>"),
        Part::ToolCall(call) => format!("[{} {}]", call.name, Value::Object(call.arguments.clone())),
        Part::ToolResult(result) => format!("[={}{}]", if result.is_error { "!" } else { "" }, result.output),
        Part::File { .. } => "[file]".into(),
        Part::Error { code, .. } => format!("[error {code}]"),
    };
    format!("{}{status}: {}", message.role.as_str(), message.parts.iter().map(part).collect::<String>())
}

pub fn key(thread: &str) -> ThreadKey {
    ThreadKey { resource: ResourceId::new("shop").unwrap(), thread: ThreadId::new(thread).unwrap() }
}

pub fn candidate(text: &str) -> Candidate {
    let loaded = load_agent("agents/x.toml", text.as_bytes(), &NoFiles);
    let id = loaded.positions.id.as_ref().map(|(id, _)| id.clone()).expect("the file has an id");
    let definition = loaded.definition.map(Arc::new);
    Candidate {
        problems: loaded.problems,
        ..Candidate::new(AgentId::new(id).unwrap(), "agents/x.toml".into(), definition, Arc::new(loaded.positions))
    }
}

/// Reads a turn to its end.
pub async fn all(mut turn: TurnStream) -> Vec<TurnEvent> {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    events
}

/// The events in short, one word each.
pub fn names(events: &[TurnEvent]) -> String {
    let one = |event: &TurnEvent| match event {
        TurnEvent::Started { .. } => "started".to_owned(),
        TurnEvent::Text(text) => format!("text:{text}"),
        TurnEvent::Reasoning(text) => format!("reasoning:{text}"),
        TurnEvent::ToolStarted { id, .. } => format!("tool-started:{id}"),
        TurnEvent::ToolArguments { .. } => "arguments".to_owned(),
        TurnEvent::ToolCalled { name, approval: true, .. } => format!("called?:{name}"),
        TurnEvent::ToolCalled { name, .. } => format!("called:{name}"),
        TurnEvent::ToolFinished(result) => {
            format!("finished:{}{}", result.output, if result.is_error { "!" } else { "" })
        }
        TurnEvent::StepFinished { .. } => "step".to_owned(),
        TurnEvent::Finished { reason, .. } => format!("done:{}", reason.as_str()),
        TurnEvent::Failed(failure) => format!("failed:{}", failure.code),
    };
    events.iter().map(one).collect::<Vec<_>>().join(" ")
}
