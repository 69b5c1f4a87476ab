//! The keys of an agent's file. The loader, the schema and the messages follow this description.

mod memory;
mod orchestration;

use roster_model::id::{AgentId, IdError, ResourceId};

use super::shape::{Fault, Key, ListShape, Shape, Status, TableShape, TextRule};
use super::units::DURATION;
use memory::MEMORY;
use orchestration::ORCHESTRATION;

/// `agents/<id>.toml`.
pub static AGENT: TableShape = TableShape::closed(&[
        Key::new("id", "The agent's id, equal to its key in config/registry.toml.", Shape::Rule(&AGENT_ID)).required(),
        Key::new("name", "Its name for people; the id when left out.", Shape::Rule(&NOT_EMPTY)),
        Key::new("description", "What it is for; other agents and clients read it.", Shape::Text),
        Key::new(
            "instructions",
            "The system text. It reaches the model as it stands here: nothing is expanded. Or use instructions_file.",
            Shape::Text,
        ),
        Key::new(
            "instructions_file",
            "A file under agents/ that holds the system text, instead of instructions.",
            Shape::Rule(&FILE_BELOW),
        ),
        Key::new(
            "model",
            "Which model: an alias of config/runtime.toml, \"provider/model\", a list of these (fallback in order), or a table.",
            Shape::Either(&[Shape::Rule(&MODEL_NAME), Shape::List(&MODEL_LIST), Shape::Table(&MODEL_TABLE)]),
        )
        .default("\"default\""),
        Key::new("model_settings", "Settings of its model calls; all optional.", Shape::Table(&MODEL_SETTINGS)),
        Key::new(
            "memory",
            "A memory factory's name, or a table. Left out: the agent remembers nothing at all.",
            Shape::Either(&[Shape::Rule(&FACTORY), Shape::Table(&MEMORY)]),
        ),
        Key::new(
            "resource",
            "The owner of its threads when a request carries no identity.",
            Shape::Rule(&RESOURCE),
        )
        .default("\"ai-chat\""),
        Key::new(
            "tools",
            "Tools it may call: \"get_time\" (built in), \"plugin:tool\", \"mcp:server/tool\" or \"mcp:server/*\".",
            Shape::List(&ListShape { item: Shape::Rule(&TOOL_NAME), least: 0, unique: true }),
        )
        .default("[]"),
        Key::new(
            "tool_settings",
            "Settings of a tool, by the name written in tools.",
            Shape::Table(
                &TableShape::open(&Key::new("", "Settings of this tool.", Shape::Table(&TOOL_SETTINGS))).named(&TOOL_NAME),
            ),
        ),
        Key::new(
            "agents",
            "Ids of other agents it may call; the model is offered them as tools.",
            Shape::List(&ListShape { item: Shape::Rule(&AGENT_ID), least: 0, unique: true }),
        )
        .default("[]"),
        Key::new(
            "processors",
            "Processors of plugins that see what is said on its way to the model and back, in this order: \"plugin:component\".",
            Shape::List(&ListShape { item: Shape::Rule(&PROCESSOR_NAME), least: 0, unique: true }),
        )
        .default("[]"),
        Key::new(
            "on_processor_error",
            "What becomes of a turn when a processor fails. pass: it goes on as if the processor were not there.",
            Shape::Choice(&[("fail", Status::Built), ("pass", Status::Built)]),
        )
        .default("\"fail\""),
        Key::new("max_steps", "The most model calls in one turn.", Shape::Integer(1, 100)).default("5"),
        Key::new("enabled", "false: registered, but not served.", Shape::Bool).default("true"),
        Key::new(
            "on_disconnect",
            "What becomes of a turn when its client leaves.",
            Shape::Choice(&[("cancel", Status::Built), ("finish", Status::Built)]),
        )
        .default("\"cancel\""),
        Key::new("orchestration", "How it works with other agents.", Shape::Table(&ORCHESTRATION)),
        Key::new(
            "output_schema",
            "A JSON Schema of one object: the answer is a JSON document that fits it.",
            Shape::Table(&TableShape::open(&Key::new("", "A part of the schema.", Shape::Any))),
        ),
        Key::new("capture", "What observability keeps of the content.", Shape::Any).status(Status::Refused),
]);

static MODEL_LIST: ListShape = ListShape { item: Shape::Rule(&MODEL_NAME), least: 1, unique: true };

static MODEL_TABLE: TableShape = TableShape::closed(&[
    Key::new("id", "The provider's own name of the model.", Shape::Rule(&NOT_EMPTY)).required(),
    Key::new("base_url", "Where it is, for example \"http://localhost:11434/v1\".", Shape::Rule(&URL)).required(),
    Key::new("api_key_env", "The variable that holds the key; left out: no key is sent.", Shape::Rule(&VARIABLE)),
    Key::new("dialect", "How to speak to it.", Shape::Choice(DIALECTS)).default("\"openai\""),
]);

/// How providers are spoken to.
pub const DIALECTS: &[(&str, Status)] = &[
    ("openai", Status::Built),
    ("openai-responses", Status::Built),
    ("anthropic", Status::Built),
    ("gemini", Status::Built),
];

static MODEL_SETTINGS: TableShape = TableShape::closed(&[
    Key::new("temperature", "Randomness.", Shape::Number(0.0, 2.0)),
    Key::new("top_p", "Nucleus sampling.", Shape::Number(0.0, 1.0)),
    Key::new("top_k", "How many candidates are sampled from.", Shape::Integer(1, 1_000_000)),
    Key::new("max_output_tokens", "The most tokens to write in one call.", Shape::Integer(1, 100_000_000)),
    Key::new(
        "stop",
        "Texts that end the answer.",
        Shape::List(&ListShape { item: Shape::Rule(&NOT_EMPTY), least: 0, unique: false }),
    ),
    Key::new("seed", "For repeatable sampling.", Shape::Integer(i64::MIN, i64::MAX)),
    Key::new("presence_penalty", "Against topics already there.", Shape::Number(-2.0, 2.0)),
    Key::new("frequency_penalty", "Against words already there.", Shape::Number(-2.0, 2.0)),
    Key::new("reasoning_effort", "\"low\", \"medium\", \"high\", or what the provider knows.", Shape::Rule(&NOT_EMPTY)),
    Key::new("tool_choice", "\"auto\", \"none\", \"required\", or a tool's name.", Shape::Rule(&NOT_EMPTY)),
    Key::new("max_retries", "How often a failed call is tried again.", Shape::Integer(0, 10)).default("2"),
    Key::new("timeout", "For one model call, from request to last token.", Shape::Rule(&DURATION)),
    Key::new(
        "provider_options",
        "Passed through into the request as they are.",
        Shape::Table(&TableShape::open(&Key::new("", "Passed through.", Shape::Any))),
    ),
]);

/// What the runtime knows of a tool's settings; the others are the tool's own.
pub static TOOL_SETTINGS: TableShape =
    TableShape::open(&Key::new("", "The tool's own setting.", Shape::Any)).knowing(&[
        Key::new("timeout", "After this the call is given up and the model is told.", Shape::Rule(&DURATION))
            .default("\"60s\""),
        Key::new("concurrency", "The most calls of this tool at once by this agent.", Shape::Integer(1, 10_000)),
        Key::new(
            "approval",
            "Whether a person must agree to each call.",
            Shape::Choice(&[("never", Status::Built), ("always", Status::Built)]),
        )
        .default("\"never\""),
    ]);

static AGENT_ID: TextRule = TextRule {
    noun: "an agent id such as `\"chat-agent\"`",
    code: "bad_id",
    pattern: "^[a-z0-9][a-z0-9._-]{0,63}$",
    check: |text| AgentId::new(text).map(|_| ()).map_err(|error| id_fault(&error, text)),
};

static RESOURCE: TextRule = TextRule {
    noun: "a resource such as `\"ai-chat\"`",
    code: "bad_resource",
    pattern: "^[^\\u0000]{1,512}$",
    check: |text| ResourceId::new(text).map(|_| ()).map_err(|error| Fault::new(error.fault)),
};

fn id_fault(error: &IdError, text: &str) -> Fault {
    let legal: String = text
        .trim()
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .collect();
    let legal: String = legal.trim_start_matches(['.', '_', '-']).trim_end_matches('-').chars().take(64).collect();
    match AgentId::new(&legal) {
        Ok(id) => Fault::new(error.fault).help(format!("for example \"{id}\"")),
        Err(_) => Fault::new(error.fault).help("for example \"chat-agent\""),
    }
}

/// Any string that says something.
pub static NOT_EMPTY: TextRule = TextRule {
    noun: "a string",
    code: "empty",
    pattern: "\\S",
    check: |text| if text.trim().is_empty() { Err(Fault::new("is empty")) } else { Ok(()) },
};

/// A relative path that stays where it begins. Where links lead is checked by whoever opens it.
pub static FILE_BELOW: TextRule = TextRule {
    noun: "a file below agents/",
    code: "bad_path",
    pattern: "^(?!/)(?!.*(^|/)\\.{1,2}(/|$))(?!.*//)(?!.*/$)[^\\\\:\\u0000-\\u001f]+$",
    check: |text| {
        let help = "name a file in agents/ or in a folder below it, such as \"chat-agent.md\"";
        if text.is_empty() {
            Err(Fault::new("is empty").help(help))
        } else if text.starts_with('/') || text.contains(['\\', ':']) || text.chars().any(|c| c < ' ') {
            Err(Fault::new("must be a path inside the agents' folder, with `/` between folders").help(help))
        } else if text.split('/').any(|part| part == "..") {
            Err(Fault::new("leaves the agents' folder").help(help))
        } else if text.split('/').any(|part| part.is_empty() || part == ".") {
            Err(Fault::new("has an empty step in its path").help(help))
        } else {
            Ok(())
        }
    },
};

/// An alias, `provider/model` or `plugin:model`.
pub static MODEL_NAME: TextRule = TextRule {
    noun: "a model's name such as `\"default\"` or `\"openai/gpt-4o\"`",
    code: "bad_model",
    pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]*((/|:)[^\\s\\u0000-\\u001f]+)?$",
    check: |text| {
        let help = "write an alias of config/runtime.toml (\"default\"), \"provider/model\", or \"plugin:model\"";
        let (first, rest) = match (text.split_once('/'), text.split_once(':')) {
            (Some((provider, model)), _) if !provider.contains(':') => (provider, Some(model)),
            (_, Some((plugin, model))) => (plugin, Some(model)),
            (other, None) => (other.map_or(text, |(provider, _)| provider), other.map(|(_, model)| model)),
        };
        if text.is_empty() {
            Err(Fault::new("is empty").help(help))
        } else if !is_word(first) {
            Err(Fault::new("is no model's name").help(help))
        } else if rest
            .is_some_and(|rest| rest.is_empty() || rest.contains(|c: char| c.is_whitespace() || c.is_control()))
        {
            Err(Fault::new("names no model after the provider").help(help))
        } else {
            Ok(())
        }
    },
};

/// A memory factory: `create_memory` or `plugin:factory`.
static FACTORY: TextRule = TextRule {
    noun: "a memory factory's name such as `\"create_memory\"`",
    code: "bad_factory",
    pattern: "^[A-Za-z0-9_][A-Za-z0-9._-]*(:[A-Za-z0-9_][A-Za-z0-9._-]*)?$",
    check: |text| {
        let legal = match text.split_once(':') {
            Some((plugin, factory)) => is_word(plugin) && is_word(factory),
            None => is_word(text),
        };
        let fault = || Fault::new("is no memory factory's name").help("write \"create_memory\", or \"plugin:factory\"");
        if legal { Ok(()) } else { Err(fault()) }
    },
};

/// `get_time`, `plugin:tool`, `mcp:server/tool`, `mcp:server/*`.
static TOOL_NAME: TextRule = TextRule {
    noun: "a tool's name such as `\"get_time\"`",
    code: "bad_tool",
    pattern: "^([A-Za-z0-9_][A-Za-z0-9._-]*|(?!mcp:)[A-Za-z0-9_][A-Za-z0-9._-]*:[^\\s:\\u0000-\\u001f]+|mcp:[A-Za-z0-9_][A-Za-z0-9._-]*/[^\\s\\u0000-\\u001f]+)$",
    check: |text| {
        let spoken = |name: &str| !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control());
        let legal = match text.split_once(':') {
            Some(("mcp", rest)) => rest.split_once('/').is_some_and(|(server, tool)| is_word(server) && spoken(tool)),
            Some((plugin, tool)) => is_word(plugin) && spoken(tool) && !tool.contains(':'),
            None => is_word(text),
        };
        let help = "write \"name\" (built in), \"plugin:tool\", \"mcp:server/tool\" or \"mcp:server/*\"";
        if legal { Ok(()) } else { Err(Fault::new("is no tool's name").help(help)) }
    },
};

static PROCESSOR_NAME: TextRule = TextRule {
    noun: "a processor's name such as `\"pii-guard:mask\"`",
    code: "bad_processor",
    pattern: "^(?!mcp:)[A-Za-z0-9_][A-Za-z0-9._-]*:[A-Za-z0-9_][A-Za-z0-9._-]*$",
    check: |text| {
        let legal =
            text.split_once(':').is_some_and(|(plugin, name)| plugin != "mcp" && is_word(plugin) && is_word(name));
        if legal { Ok(()) } else { Err(Fault::new("is no processor's name").help("write \"plugin:component\"")) }
    },
};

/// An address of a server.
pub static URL: TextRule = TextRule {
    noun: "an address such as `\"http://localhost:11434/v1\"`",
    code: "bad_url",
    pattern: "^https?://[^\\s/?#\\u0000-\\u001f]+[^\\s?#\\u0000-\\u001f]*$",
    check: |text| {
        let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        let legal = host.is_some_and(|host| {
            !host.is_empty()
                && !host.starts_with('/')
                && !host.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#'))
        });
        let fault = || {
            Fault::new("is no address of a server")
                .help("begin with http:// or https://, then the host, for example \"http://localhost:11434/v1\"")
        };
        if legal { Ok(()) } else { Err(fault()) }
    },
};

/// The name of an environment variable.
pub static VARIABLE: TextRule = TextRule {
    noun: "a variable's name such as `\"OPENAI_API_KEY\"`",
    code: "bad_variable",
    pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    check: |text| {
        let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if first && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            return Ok(());
        }
        Err(Fault::new("is no name of a variable")
            .help("write the name only, as in \"OPENAI_API_KEY\"; the key itself never stands in a file"))
    },
};

/// Letters, digits, `_`, `.`, `-`, and no joint at the start.
#[must_use]
pub fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}
