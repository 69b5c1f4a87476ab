//! The keys of `config/runtime.toml` and `config/registry.toml`. Loaders, schemas and messages follow this.

mod mcp;

use std::net::SocketAddr;

use roster_engine::definition::keys::{DIALECTS, FILE_BELOW, NOT_EMPTY, URL, VARIABLE, is_word};
use roster_engine::definition::shape::{Fault, Key, ListShape, Shape, Status, TableShape, TextRule};
use roster_engine::definition::units::{DURATION, SIZE, size};
use roster_engine::memory::transcript::ResultCap;
use roster_model::id::{AgentId, ResourceId};

use super::plugins::{PLUGIN_KEY, PLUGINS};

/// `config/runtime.toml`.
pub(super) static RUNTIME: TableShape = TableShape::closed(&[
    Key::new(
        "project",
        "The project; this table marks the root folder.",
        Shape::Table(&TableShape::closed(&[Key::new("name", "Its name for people.", Shape::Rule(&NOT_EMPTY))])),
    )
    .required(),
    Key::new("gateway", "The listener for programs.", Shape::Table(&GATEWAY)),
    Key::new("studio", "The listener for people and operators.", Shape::Table(&STUDIO)),
    Key::new("storage", "Where data is kept; changes need a restart.", Shape::Table(&STORAGE)),
    Key::new("models", "Aliases of models, and the providers they come from.", Shape::Table(&MODELS)),
    Key::new("auth", "Who may call.", Shape::Table(&AUTH)),
    Key::new("limits", "What one caller, and all together, may ask for.", Shape::Table(&LIMITS)),
    Key::new("observability", "Traces, logs and metrics.", Shape::Table(&OBSERVABILITY)),
    Key::new("reload", "How changes of files are noticed while running.", Shape::Table(&RELOAD)),
    Key::new("mcp", "MCP servers whose tools agents may use.", Shape::Table(&mcp::MCP)),
    Key::new("plugins", "Plugins to load.", Shape::Table(&PLUGINS)),
]);

static GATEWAY: TableShape = TableShape::closed(&[
    Key::new("listen", "Its address.", Shape::Rule(&ADDRESS)).default("\"127.0.0.1:8787\""),
    Key::new("cors", "Further browser origins that may call; \"*\" only with auth on.", Shape::List(&ORIGINS))
        .default("[]"),
    Key::new("mcp", "The door `/mcp`, which offers agents as tools.", Shape::Table(&GATEWAY_MCP)),
]);

static GATEWAY_MCP: TableShape = TableShape::closed(&[Key::new(
    "agents",
    "Agents that programs may ask through /mcp, by id; \"*\": all. Without any the door is closed.",
    Shape::List(&ListShape { item: Shape::Rule(&OFFERED), least: 0, unique: true }),
)
.default("[]")]);

static OFFERED: TextRule = TextRule {
    noun: "an agent id, or `\"*\"`",
    code: "bad_id",
    pattern: "^(\\*|[a-z0-9][a-z0-9._-]{0,63})$",
    check: |text| if text == "*" { Ok(()) } else { (KEY.check)(text) },
};

static STUDIO: TableShape = TableShape::closed(&[
    Key::new("listen", "Its address.", Shape::Rule(&ADDRESS)).default("\"127.0.0.1:4111\""),
    Key::new("cors", "Further browser origins that may call; \"*\" only with auth on.", Shape::List(&ORIGINS))
        .default("[]"),
]);

static ORIGINS: ListShape = ListShape { item: Shape::Rule(&ORIGIN), least: 0, unique: true };

static STORAGE: TableShape = TableShape::closed(&[
    Key::new("sessions", "User data: threads and messages. It cannot be made again.", Shape::Rule(&FILE_URL))
        .default("\"file:.temp/roster.db\""),
    Key::new(
        "observability",
        "Derived data: traces and logs. It may be deleted at any time.",
        Shape::Rule(&OBSERVATION_URL),
    )
    .default("\"file:.temp/observability.db\""),
]);

static MODELS: TableShape = TableShape::open(&Key::new(
    "",
    "A model by its provider, as \"provider/model\", or of a plugin, as \"plugin:model\".",
    Shape::Rule(&MODEL),
))
.knowing(&[
    Key::new("default", "The model of agents that name none; ROSTER_MODEL overrides it.", Shape::Rule(&MODEL))
        .default("\"demo/pro\""),
    Key::new(
        "providers",
        "Where models come from, by the name that stands before the `/`.",
        Shape::Table(&TableShape::open(&Key::new("", "A provider.", Shape::Table(&PROVIDER))).named(&PROVIDER_NAME)),
    ),
])
.named(&ALIAS_NAME);

static PROVIDER: TableShape = TableShape::closed(&[
    Key::new("dialect", "How to speak to it.", Shape::Choice(DIALECTS)).default("\"openai\""),
    Key::new("base_url", "Where it is, for example \"https://api.openai.com/v1\".", Shape::Rule(&URL)).required(),
    Key::new("api_key_env", "The variable that holds the key.", Shape::Rule(&VARIABLE)),
    Key::new("api_key", "The key, as \"${NAME}\"; better use api_key_env.", Shape::Rule(&NOT_EMPTY)),
    Key::new("stream", "false: answers are asked for whole, for servers that cannot stream.", Shape::Bool)
        .default("true"),
    Key::new("connect_timeout", "For making a connection.", Shape::Rule(&DURATION)).default("\"10s\""),
    Key::new(
        "first_token_timeout",
        "From sending a request to the first piece of its answer; five times as long where answers come whole.",
        Shape::Rule(&DURATION),
    )
    .default("\"60s\""),
    Key::new("idle_timeout", "Between two pieces of an answer.", Shape::Rule(&DURATION)).default("\"60s\""),
    Key::new(
        "ca_file",
        "A PEM file with certificate authorities trusted beside the system's; relative to the project's folder.",
        Shape::Rule(&NOT_EMPTY),
    ),
    Key::new(
        "proxy",
        "The proxy's address, or \"none\"; left out: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and loopback directly.",
        Shape::Rule(&PROXY),
    ),
    Key::new(
        "breaker_failures",
        "Failures in a row after which it is not asked for a while; 0: never.",
        Shape::Integer(0, 1_000_000),
    )
    .default("5"),
    Key::new("breaker_rest", "How long it is not asked then.", Shape::Rule(&DURATION)).default("\"30s\""),
]);

static AUTH: TableShape = TableShape::closed(&[
    Key::new(
        "mode",
        "none: everybody who reaches the listener; token: whoever holds one of auth.tokens.",
        Shape::Choice(&[("none", Status::Built), ("token", Status::Built), ("jwt", Status::Refused)]),
    )
    .default("\"none\""),
    Key::new("allow_open", "true: mode \"none\" is meant also beyond loopback.", Shape::Bool).default("false"),
    Key::new("tokens", "The tokens.", Shape::List(&ListShape { item: Shape::Table(&TOKEN), least: 0, unique: false })),
    Key::new("jwt", "Tokens signed by somebody else.", Shape::Any).status(Status::Passed),
]);

static TOKEN: TableShape = TableShape::closed(&[
    Key::new("sha256", "SHA-256 of the token, 64 hex digits.", Shape::Rule(&SHA256)),
    Key::new("env", "The variable that holds the token.", Shape::Rule(&VARIABLE)),
    Key::new("subject", "Whose it is.", Shape::Rule(&NOT_EMPTY)).required(),
    Key::new(
        "resource",
        "The owner of what this token's holder says; \"user:<subject>\" when left out.",
        Shape::Rule(&OWNER),
    ),
    Key::new(
        "scopes",
        "chat: the gateway; studio: Studio; admin: everything.",
        Shape::List(&ListShape {
            item: Shape::Choice(&[("chat", Status::Built), ("studio", Status::Built), ("admin", Status::Built)]),
            least: 1,
            unique: true,
        }),
    )
    .default("[\"chat\"]"),
]);

static LIMITS: TableShape = TableShape::closed(&[
    Key::new("body", "The largest body of a request.", Shape::Rule(&SIZE)).default("\"4MiB\""),
    Key::new("turn_timeout", "The longest turn.", Shape::Rule(&DURATION)).default("\"180s\""),
    Key::new("concurrent_turns", "Turns at once; further ones are told to come back.", Shape::Integer(1, 1_000_000))
        .default("512"),
    Key::new("vector_cache", "Vectors of semantic recall held in memory, of all owners together.", Shape::Rule(&SIZE))
        .default("\"128MiB\""),
    Key::new(
        "tool_result",
        "How much of one tool's result a model is fed; the whole is stored.",
        Shape::Rule(&RESULT_SIZE),
    )
    .default("\"64KiB\""),
    Key::new("requests_per_minute", "Requests of one caller a minute; 0: no bound.", Shape::Integer(0, 1_000_000_000))
        .default("0"),
]);

static OBSERVABILITY: TableShape = TableShape::closed(&[
    Key::new("retention", "How long traces are kept.", Shape::Rule(&DURATION)).default("\"14d\""),
    Key::new("max_size", "How large they may grow.", Shape::Rule(&SIZE)).default("\"1GiB\""),
    Key::new("sample", "Which share of turns is recorded.", Shape::Number(0.0, 1.0)).default("1.0"),
    Key::new("exporters", "Exporters of plugins that spans go to as well: plugin:component.", Shape::List(&EXPORTERS))
        .default("[]"),
    Key::new("otlp_endpoint", "Where traces are sent too; not in this version.", Shape::Text).default("\"\""),
]);

static EXPORTERS: ListShape = ListShape { item: Shape::Rule(&EXPORTER), least: 0, unique: true };

static EXPORTER: TextRule = TextRule {
    noun: "an exporter of a plugin, `plugin:component`",
    code: "bad_exporter",
    pattern: "^[^:]+:[^:]+$",
    check: |text| match text.split_once(':') {
        Some((plugin, id)) if !plugin.is_empty() && !id.is_empty() && !id.contains(':') => Ok(()),
        _ => Err(Fault::new("names no exporter of a plugin").help("write \"plugin:component\"")),
    },
};

static RELOAD: TableShape = TableShape::closed(&[
    Key::new("watch", "false: the system is not asked to tell of changes.", Shape::Bool).default("true"),
    Key::new(
        "poll",
        "How often the files are looked at besides; false or \"0s\": never.",
        Shape::Either(&[Shape::Rule(&POLL), Shape::False]),
    )
    .default("\"2s\""),
]);

/// `config/registry.toml`.
pub(super) static REGISTRY: TableShape = TableShape::closed(&[Key::new(
    "agents",
    "One line an agent: id = \"file\".",
    Shape::Table(&TableShape::open(&Key::new("", "A file under agents/.", Shape::Rule(&DEFINITION_FILE))).named(&KEY)),
)
.required()]);

pub(super) static KEY: TextRule = TextRule {
    noun: "an agent id",
    code: "bad_id",
    pattern: "^[a-z0-9][a-z0-9._-]{0,63}$",
    check: |text| {
        let fault = |fault: &str| Fault::new(format!("is no agent id: it {fault}"));
        AgentId::new(text).map(|_| ()).map_err(|error| fault(error.fault).help("ids look like chat-agent"))
    },
};

pub(super) static DEFINITION_FILE: TextRule = TextRule {
    noun: "a file's name such as `\"chat-agent.toml\"`",
    code: "bad_path",
    pattern: "^(?!/)(?!.*(^|/)\\.{1,2}(/|$))(?!.*//)(?!.*(^|/)\\.[^/]*$)(?!.*\\.test\\.toml$)[^\\\\:\\u0000-\\u001f]+\\.toml$",
    check: |text| {
        (FILE_BELOW.check)(text).map_err(|fault| fault.help("name a file in agents/, such as \"chat-agent.toml\""))?;
        let name = text.rsplit('/').next().unwrap_or(text);
        if name.starts_with('.') || !name.ends_with(".toml") || name.ends_with(".test.toml") {
            let help = "definitions end in .toml, not in .test.toml, and do not begin with a dot";
            return Err(Fault::new("names no definition").help(help));
        }
        Ok(())
    },
};

static POLL: TextRule = TextRule {
    noun: "a time such as `\"2s\"`, `\"0s\"` or `false`",
    code: "bad_duration",
    pattern: "^(0s|0{0,9}[1-9][0-9]{0,8}(ms|s|m|h|d))$",
    check: |text| if text == NEVER { Ok(()) } else { (DURATION.check)(text) },
};

static RESULT_SIZE: TextRule = TextRule {
    noun: "a size such as `\"64KiB\"`",
    code: "bad_size",
    pattern: "^0{0,9}([1-9][0-9]{0,8}(KiB|MiB|GiB|kB|MB|GB)|[1-9][0-9]{3,8}B)$",
    check: |text| match size(text)? {
        bytes if bytes < ResultCap::LEAST as u64 => {
            Err(Fault::new("is too little to tell a model what came of a call").help("write 1kB or more: \"64KiB\""))
        }
        _ => Ok(()),
    },
};

/// A poll that never comes.
pub(super) const NEVER: &str = "0s";

static ADDRESS: TextRule =
    TextRule {
        noun: "an address such as `\"127.0.0.1:8787\"`",
        code: "bad_address",
        pattern: "^([0-9.]+|localhost|\\[[0-9a-fA-F:.]+\\]):[0-9]{1,5}$",
        check: |text| match address(text) {
            Some(_) => Ok(()),
            None => Err(Fault::new("is no address and port")
                .help("write \"127.0.0.1:8787\", \"[::1]:8787\" or \"0.0.0.0:8787\"")),
        },
    };

/// An address to listen on: numbers, or `localhost`.
pub(super) fn address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::from(([127, 0, 0, 1], port.parse().ok()?))),
        None => text.parse().ok(),
    }
}

static ORIGIN: TextRule = TextRule {
    noun: "an origin such as `\"https://chat.example.org\"`",
    code: "bad_origin",
    pattern: "^(\\*|https?://[^\\s/?#\\u0000-\\u001f]+)$",
    check: |text| {
        if text == "*"
            || (URL.check)(text).is_ok() && !text.split_once("://").is_some_and(|(_, host)| host.contains('/'))
        {
            return Ok(());
        }
        Err(Fault::new("is no browser origin")
            .help("write scheme, host and port only: \"https://chat.example.org\", without a path or a final `/`"))
    },
};

static FILE_URL: TextRule = TextRule {
    noun: "a place such as `\"file:.temp/roster.db\"`",
    code: "bad_storage",
    pattern: "^file:(?!.*/$)[^\\u0000]+$",
    check: |text| match text.strip_prefix("file:") {
        Some(path) if !path.is_empty() && !path.ends_with('/') && !path.contains('\0') => Ok(()),
        _ => Err(Fault::new("is no place for data")
            .help("write \"file:\" and a path, relative to the project root: \"file:.temp/roster.db\"")),
    },
};

static OBSERVATION_URL: TextRule = TextRule {
    noun: "a place such as `\"file:.temp/observability.db\"`",
    code: "bad_storage",
    pattern: "^(file|duckdb):(?!.*/$)[^\\u0000]+$",
    check: |text| {
        (FILE_URL.check)(&text.strip_prefix("duckdb:").map_or(text.to_owned(), |path| format!("file:{path}")))
    },
};

/// `provider/model`, or `plugin:model`.
pub(super) static MODEL: TextRule = TextRule {
    noun: "a model such as `\"openai/gpt-4o\"`",
    code: "bad_model",
    pattern: "^([A-Za-z0-9_][A-Za-z0-9._-]*/[^\\s\\u0000-\\u001f]+|[a-z][a-z0-9_-]{0,31}:[A-Za-z0-9._-]{1,64})$",
    check: |text| {
        let at_provider = text.split_once('/').is_some_and(|(provider, model)| {
            is_word(provider) && !model.is_empty() && !model.contains(|c: char| c.is_whitespace() || c.is_control())
        });
        let of_plugin = text.split_once(':').is_some_and(|(plugin, model)| {
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
            (PLUGIN_KEY.check)(plugin).is_ok() && (1..=64).contains(&model.len()) && model.chars().all(legal)
        });
        let help = "write \"provider/model\", for example \"demo/pro\", or \"plugin:model\"";
        let fault = || Fault::new("names no provider and model").help(help);
        if at_provider || of_plugin { Ok(()) } else { Err(fault()) }
    },
};

static ALIAS_NAME: TextRule = TextRule {
    noun: "an alias",
    code: "bad_alias",
    pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]*$",
    check: |text| {
        let fault = || Fault::new("is no alias").help("aliases hold letters, digits, `_`, `.` and `-`");
        if is_word(text) { Ok(()) } else { Err(fault()) }
    },
};

static PROVIDER_NAME: TextRule = TextRule {
    noun: "a provider's name",
    code: "bad_provider",
    pattern: "^(?!demo$)[A-Za-z0-9_][A-Za-z0-9._-]*$",
    check: |text| match text {
        "demo" => Err(Fault::new("is built in and cannot be a provider of yours").help("take another name")),
        name if is_word(name) => Ok(()),
        _ => Err(Fault::new("is no provider's name").help("names hold letters, digits, `_`, `.` and `-`")),
    },
};

static PROXY: TextRule = TextRule {
    noun: "a proxy such as `\"http://proxy.example:3128\"`, or `\"none\"`",
    code: "bad_proxy",
    pattern: "^(none|https?://[^\\s/?#\\u0000-\\u001f]+/?)$",
    check: |text| {
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let rest = rest.map(|rest| rest.strip_suffix('/').unwrap_or(rest));
        let strange = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '?' | '#');
        let legal = text == "none" || rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(strange));
        let fault = || Fault::new("is no proxy").help("write \"http://HOST:PORT\", \"https://HOST:PORT\" or \"none\"");
        if legal { Ok(()) } else { Err(fault()) }
    },
};

static SHA256: TextRule = TextRule {
    noun: "64 hex digits",
    code: "bad_token",
    pattern: "^[0-9a-fA-F]{64}$",
    check: |text| {
        let legal = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let fault =
            || Fault::new("is no SHA-256").help("64 hex digits, as `printf %s \"$TOKEN\" | sha256sum` prints them");
        if legal { Ok(()) } else { Err(fault()) }
    },
};

static OWNER: TextRule = TextRule {
    noun: "a resource such as `\"user:alice\"`",
    code: "bad_resource",
    pattern: "^[^\\u0000]{1,512}$",
    check: |text| ResourceId::new(text).map(|_| ()).map_err(|error| Fault::new(error.fault)),
};
