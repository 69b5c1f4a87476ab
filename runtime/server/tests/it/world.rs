//! A runtime in RAM: agents from TOML, doubles behind them, both routers in front.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::ArcSwap;
use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use roster_engine::definition::{Problem, Unreadable, load_agent};
use roster_engine::memory::MemoryFactory;
use roster_engine::registry::{Candidate, Catalog, Control, Registry};
use roster_engine::tool::Schemas;
use roster_engine::turn::{Limits, Services};
use roster_model::embedder::Embedder;
use roster_model::housekeeping::SessionStore;
use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::StoredMessage;
use roster_model::storage::OperatorStore;
use roster_model::tool::ToolMaker;
use roster_server::{App, HttpConfig, Scope, TokenGrant};
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::ids::TestIds;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tower::ServiceExt;

use crate::double::{AddMaker, Factory, Letters, Model, Models};
use crate::operator::Operator;

/// `clerk` remembers and adds, `echo` has no memory, `broken` was rejected, `off` is disabled.
pub(crate) const AGENTS: &[(&str, &str)] = &[
    (
        "clerk",
        "id = \"clerk\"\nname = \"Clerk\"\ndescription = \"Answers.\"\ninstructions = \"Be brief.\"\nmemory = \"create_memory\"\nresource = \"shop\"\ntools = [\"add\"]\nmax_steps = 3\n",
    ),
    ("echo", "id = \"echo\"\ninstructions = \"Echo.\"\n"),
    ("broken", "id = \"broken\"\ninstructions = \"x\"\nmodel = \"nobody/x\"\n"),
    ("off", "id = \"off\"\ninstructions = \"x\"\nenabled = false\n"),
    ("keeper", "id = \"keeper\"\ninstructions = \"x\"\nmemory = \"create_memory\"\non_disconnect = \"finish\"\n"),
];

/// More agents, for worlds that look at memory: `noter` keeps markdown for its owner, `former` an object for a thread,
/// `finder` recalls by the letters of a text, `guard` adds only when a person agrees.
pub(crate) const KEEPERS: &[(&str, &str)] = &[
    (
        "noter",
        "id = \"noter\"\ninstructions = \"x\"\n[memory]\nfactory = \"create_memory\"\nlast_messages = false\n[memory.working_memory]\ntemplate = \"# User\\n- Name:\"\n",
    ),
    (
        "former",
        "id = \"former\"\ninstructions = \"x\"\n[memory]\nfactory = \"create_memory\"\n[memory.working_memory]\nscope = \"thread\"\n[memory.working_memory.schema]\ntype = \"object\"\n[memory.working_memory.schema.properties]\nname = { type = \"string\" }\nlikes = { type = \"array\" }\n",
    ),
    (
        "finder",
        "id = \"finder\"\ninstructions = \"x\"\n[memory]\nfactory = \"create_memory\"\n[memory.semantic_recall]\nembedder = \"letters\"\nmessage_range = { before = 0, after = 1 }\n",
    ),
    (
        "guard",
        "id = \"guard\"\ninstructions = \"x\"\nmemory = \"create_memory\"\ntools = [\"add\"]\n[tool_settings.add]\napproval = \"always\"\n",
    ),
];

pub(crate) struct World {
    pub(crate) app: Arc<App>,
    pub(crate) model: Arc<Model>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) gateway: Router,
    pub(crate) studio: Router,
    /// What the admin routes ask, unless the world was made without.
    pub(crate) operator: Arc<Operator>,
}

/// What differs from world to world.
struct Parts {
    store: Arc<dyn SessionStore>,
    operator: Arc<dyn OperatorStore>,
    clock: Arc<TestClock>,
    limits: Limits,
    controlled: bool,
    /// Agents beside [`AGENTS`].
    more: &'static [(&'static str, &'static str)],
}

impl Parts {
    fn new() -> Self {
        let clock = Arc::new(TestClock::default());
        let store = Arc::new(RamStore::new(clock.clone()));
        Self { store: store.clone(), operator: store, clock, limits: Limits::default(), controlled: true, more: &[] }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::build(Parts::new())
    }

    pub(crate) fn with_limits(limits: Limits) -> Self {
        Self::build(Parts { limits, ..Parts::new() })
    }

    /// On a store of the test's own.
    pub(crate) fn on<S: SessionStore + OperatorStore>(store: Arc<S>) -> Self {
        Self::build(Parts { store: store.clone(), operator: store, ..Parts::new() })
    }

    /// With agents beside the usual ones.
    pub(crate) fn with(more: &'static [(&'static str, &'static str)]) -> Self {
        Self::build(Parts { more, ..Parts::new() })
    }

    /// Where nobody reloads.
    pub(crate) fn uncontrolled() -> Self {
        Self::build(Parts { controlled: false, ..Parts::new() })
    }

    fn build(parts: Parts) -> Self {
        let Parts { store, operator, clock, limits, controlled, more } = parts;
        let model = Arc::new(Model::default());
        let registry = Arc::new(Registry::default());
        let candidates: Vec<Candidate> = AGENTS.iter().chain(more).map(candidate).collect();
        let problems = vec![Problem::warning("unregistered_file", "agents/stray.toml", "no line in the registry")];
        let control = Arc::new(Operator::new(catalog(&model, &store), Arc::clone(&registry), candidates, problems));
        control.publish();
        let app = Arc::new(App {
            registry,
            services: Arc::new(Services::new(clock.clone(), Arc::new(TestIds::default()), limits)),
            store,
            operator,
            control: controlled.then(|| Arc::clone(&control) as Arc<dyn Control>),
            servers: Arc::new(()),
            mcp: None,
            config: Arc::new(ArcSwap::from_pointee(HttpConfig::default())),
            ready: Arc::new(AtomicBool::new(true)),
            version: "9.9.9",
        });
        let (gateway, studio) = (roster_server::gateway(&app), roster_server::studio(&app));
        Self { app, model, clock, gateway, studio, operator: control }
    }

    pub(crate) fn configure(&self, change: impl FnOnce(&mut HttpConfig)) {
        let mut config = HttpConfig::clone(&self.app.config.load());
        change(&mut config);
        self.app.config.store(Arc::new(config));
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(&self.gateway, ask(Method::GET, path, Body::empty())).await
    }

    pub(crate) async fn studio(&self, path: &str) -> Answer {
        send(&self.studio, ask(Method::GET, path, Body::empty())).await
    }

    pub(crate) async fn post_studio(&self, path: &str, body: &Value) -> Answer {
        send(&self.studio, ask(Method::POST, path, Body::from(body.to_string()))).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        send(&self.gateway, ask(Method::DELETE, path, Body::empty())).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        send(&self.gateway, ask(Method::POST, path, Body::from(body.to_string()))).await
    }

    pub(crate) async fn patch(&self, path: &str, body: &Value) -> Answer {
        send(&self.gateway, ask(Method::PATCH, path, Body::from(body.to_string()))).await
    }

    pub(crate) async fn rows(&self, resource: &str, thread: &str) -> Vec<StoredMessage> {
        self.app.store.tail(&key(resource, thread), 1_000, None).await.expect("read")
    }

    pub(crate) fn not_ready(&self) {
        self.app.ready.store(false, Ordering::Release);
    }
}

fn catalog(model: &Arc<Model>, store: &Arc<dyn SessionStore>) -> Catalog {
    let factory: Arc<dyn MemoryFactory> = Arc::new(Factory(Arc::clone(store)));
    let add: Arc<dyn ToolMaker> = Arc::new(AddMaker);
    let letters: Arc<dyn Embedder> = Arc::new(Letters);
    Catalog {
        servers: Arc::new(()),
        plugins: Default::default(),
        factories: Arc::new(BTreeMap::from([("create_memory".to_owned(), factory)])),
        tools: BTreeMap::from([("add".to_owned(), add)]),
        models: Arc::new(Models(Arc::clone(model))),
        embedders: Arc::new(BTreeMap::from([("letters".to_owned(), letters)])),
        processors: Arc::new(BTreeMap::<String, Arc<dyn roster_model::processor::Processor>>::new()),
        revision: 1,
        schemas: Schemas::default(),
    }
}

pub(crate) fn candidate((id, text): &(&str, &str)) -> Candidate {
    let file = format!("agents/{id}.toml");
    let no_files = |_: &str| Err(Unreadable::Missing);
    let loaded = load_agent(&file, text.as_bytes(), &no_files);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    let definition = loaded.definition.map(Arc::new);
    Candidate::new(AgentId::new(id).expect("legal"), file, definition, Arc::new(loaded.positions))
}

pub(crate) fn key(resource: &str, thread: &str) -> ThreadKey {
    ThreadKey { resource: ResourceId::new(resource).expect("legal"), thread: ThreadId::new(thread).expect("legal") }
}

pub(crate) fn ask(method: Method, path: &str, body: Body) -> Request<Body> {
    let json =
        [Method::POST, Method::PATCH].contains(&method).then_some(("content-type", "application/json; charset=utf-8"));
    let request = Request::builder().method(method).uri(path);
    let request = json.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    request.body(body).expect("legal request")
}

pub(crate) fn bearer(mut request: Request<Body>, token: &str) -> Request<Body> {
    request.headers_mut().insert("authorization", format!("Bearer {token}").parse().expect("legal"));
    request
}

/// What a token is good for: its holder's threads are those of `user:<token>`.
pub(crate) fn grant(token: &str, scopes: &[Scope]) -> TokenGrant {
    TokenGrant {
        sha256: Sha256::digest(token).into(),
        subject: token.to_owned(),
        resource: ResourceId::new(format!("user:{token}")).expect("legal"),
        scopes: scopes.to_vec(),
    }
}

/// An answer read to its end.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

pub(crate) async fn send(router: &Router, request: Request<Body>) -> Answer {
    let response = router.clone().oneshot(request).await.expect("infallible");
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.expect("body").to_bytes();
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    Answer { status: parts.status, headers: parts.headers, text }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {:?}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("text"))
    }

    /// The JSON of each `data:` frame; the done mark as a text.
    pub(crate) fn frames(&self) -> Vec<Value> {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        assert_eq!(self.header("content-type"), "text/event-stream");
        assert!(self.text.ends_with("\n\n"), "{:?}", self.text);
        let data = self.text.trim_end().split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap_or_else(|_| Value::from(data))).collect()
    }

    /// Status and code of an error, checked to be of the plain form.
    pub(crate) fn plain_error(&self) -> (u16, String) {
        let body = self.json();
        assert!(body["error"].is_string(), "{body}");
        assert_eq!(self.header("content-type"), "application/json");
        (self.status.as_u16(), body["code"].as_str().expect("code").to_owned())
    }

    /// Status, code and param of an error, checked to be of the OpenAI form.
    pub(crate) fn openai_error(&self) -> (u16, String, Option<String>) {
        let body = self.json();
        let error = body["error"].as_object().unwrap_or_else(|| panic!("{body}"));
        assert_eq!(error.keys().collect::<Vec<_>>(), ["message", "type", "param", "code"]);
        let text = |name: &str| error[name].as_str().map(str::to_owned);
        (self.status.as_u16(), text("code").expect("code"), text("param"))
    }
}
