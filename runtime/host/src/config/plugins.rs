//! `[plugins]`: which libraries are loaded, how far they are trusted, what they may take.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use roster_engine::definition::Problem;
use roster_engine::definition::keys::{NOT_EMPTY, VARIABLE};
use roster_engine::definition::shape::{Fault, Key, ListShape, Shape, Status, TableShape, TextRule};
use roster_engine::definition::table::Checker;
use roster_engine::definition::units::{DURATION, SIZE};
use roster_engine::definition::view::View;
use roster_plugin::settings::{Grant, Isolation, Limits, Restart, Settings};
use serde_json::{Map, Value};

use super::Environment;
use crate::paths::RUNTIME_FILE;

/// `[plugins]`.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginsConfig {
    /// Where libraries are looked for, in order; relative to the root, or [`EXECUTABLE`].
    pub folders: Vec<String>,
    /// Where copies are kept; relative to the root.
    pub cache: PathBuf,
    /// The plugins, in the order of the file.
    pub plugins: Vec<PluginEntry>,
}

/// One plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginEntry {
    /// What is said of it; its folders are not filled in.
    pub settings: Settings,
    /// Where that stands, as a problem with no words yet.
    pub place: Problem,
}

/// The folder of the running binary, among `dir`.
pub const EXECUTABLE: &str = "@exe";

impl Default for PluginsConfig {
    fn default() -> Self {
        Self {
            folders: vec!["plugins".to_owned(), EXECUTABLE.to_owned()],
            cache: PathBuf::from(CACHE),
            plugins: Vec::new(),
        }
    }
}

const CACHE: &str = ".temp/plugins";

pub(super) static PLUGINS: TableShape = TableShape::open(&Key::new("", "A plugin.", Shape::Table(&PLUGIN)))
    .knowing(&[
        Key::new(
            "dir",
            "Folders libraries are looked for in, in order; @exe: that of the running binary.",
            Shape::List(&TEXTS),
        )
        .default("[\"plugins\",\"@exe\"]"),
        Key::new(
            "cache_dir",
            "Where the copies that are opened are kept; changes need a restart.",
            Shape::Rule(&NOT_EMPTY),
        )
        .default("\".temp/plugins\""),
        Key::new("watch", "Whether changed libraries are taken up by themselves.", Shape::Bool).default("true"),
        Key::new("default_isolation", "Where plugins run that do not say.", Shape::Choice(ISOLATION))
            .default("\"process\""),
    ])
    .named(&PLUGIN_KEY);

const ISOLATION: &[(&str, Status)] =
    &[("process", Status::Built), ("inprocess", Status::Built), ("wasm", Status::Refused)];

static TEXTS: ListShape = ListShape { item: Shape::Rule(&NOT_EMPTY), least: 1, unique: true };

static PLUGIN: TableShape = TableShape::closed(&[
    Key::new(
        "file",
        "The library: its name without lib and .so, or a path below one of the folders; the key when left out.",
        Shape::Rule(&NOT_EMPTY),
    ),
    Key::new(
        "isolation",
        "process: in a process of its own; inprocess: in the runtime's, which it can take down.",
        Shape::Choice(ISOLATION),
    ),
    Key::new("sha256", "The only library that is loaded, by its SHA-256.", Shape::Rule(&PIN)),
    Key::new("max_concurrency", "Calls at once of a plugin that blocks.", Shape::Integer(1, 1_024)).default("8"),
    Key::new("call_timeout", "After this a call is given up.", Shape::Rule(&DURATION)).default("\"30s\""),
    Key::new("cancel_grace", "How long a cancelled call may go on.", Shape::Rule(&DURATION)).default("\"5s\""),
    Key::new(
        "kill_grace",
        "How long other calls may go on before a process that hangs is killed.",
        Shape::Rule(&DURATION),
    )
    .default("\"1s\""),
    Key::new("start_timeout", "How long loading may take.", Shape::Rule(&DURATION)).default("\"10s\""),
    Key::new("drain_timeout", "How long calls of a replaced library may go on.", Shape::Rule(&DURATION))
        .default("\"30s\""),
    Key::new("restart", "When its process is started again.", Shape::Table(&RESTART)),
    Key::new("limits", "What it may take.", Shape::Table(&LIMITS)),
    Key::new("grants", "What it may ask: kv, metric, secret:NAME, http:HOST.", Shape::List(&GRANTS)).default("[]"),
    Key::new("env", "Variables its process gets; it has no others.", Shape::List(&VARIABLES)).default("[]"),
    Key::new(
        "max_generations",
        "inprocess: so often it can be replaced before the runtime must be started anew.",
        Shape::Integer(1, 10_000),
    )
    .default("16"),
    Key::new("allow_breaking", "true: a new library may lack what agents use.", Shape::Bool).default("false"),
    Key::new("config", "Its own configuration; { secret = \"NAME\" } stands for the value of a variable.", Shape::Any),
]);

static RESTART: TableShape = TableShape::closed(&[
    Key::new("max", "Crashes in a row before it is given up for a while.", Shape::Integer(1, 1_000)).default("5"),
    Key::new("window", "For how long.", Shape::Rule(&DURATION)).default("\"60s\""),
    Key::new("backoff_min", "The first pause, after the second crash in a row.", Shape::Rule(&DURATION))
        .default("\"100ms\""),
    Key::new("backoff_max", "The longest pause.", Shape::Rule(&DURATION)).default("\"10s\""),
]);

static LIMITS: TableShape = TableShape::closed(&[
    Key::new("memory", "Address space beyond the runtime's own; its own process only.", Shape::Rule(&SIZE))
        .default("\"512MiB\""),
    Key::new("open_files", "Open files; its own process only.", Shape::Integer(16, 1_048_576)).default("256"),
    Key::new("output", "One output, at most 16MiB.", Shape::Rule(&SIZE)).default("\"8MiB\""),
]);

static GRANTS: ListShape = ListShape { item: Shape::Rule(&GRANT), least: 0, unique: true };
static VARIABLES: ListShape = ListShape { item: Shape::Rule(&VARIABLE), least: 0, unique: true };

pub(super) static PLUGIN_KEY: TextRule = TextRule {
    noun: "a plugin's name",
    code: "bad_plugin",
    pattern: "^(?!mcp$)[a-z][a-z0-9_-]{0,31}$",
    check: |text| {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        if text == "mcp" {
            return Err(Fault::new("stands for MCP servers and cannot be a plugin").help("take another name"));
        }
        if text.starts_with(|c: char| c.is_ascii_lowercase()) && text.len() <= 32 && text.chars().all(legal) {
            return Ok(());
        }
        Err(Fault::new("is no plugin's name")
            .help("a small letter, then at most 31 small letters, digits, `_` and `-`"))
    },
};

static PIN: TextRule = TextRule {
    noun: "64 hex digits",
    code: "bad_sha256",
    pattern: "^[0-9a-fA-F]{64}$",
    check: |text| {
        if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(());
        }
        Err(Fault::new("is no SHA-256").help("64 hex digits, as `sha256sum` prints them"))
    },
};

static GRANT: TextRule = TextRule {
    noun: "a grant such as `\"kv\"` or `\"http:api.example.org\"`",
    code: "bad_grant",
    pattern: "^(kv|metric|secret:[A-Za-z_][A-Za-z0-9_]*|http:[A-Za-z0-9.:\\[\\]-]+)$",
    check: |text| match Grant::parse(text) {
        Some(_) => Ok(()),
        None => Err(Fault::new("is no grant").help("write \"kv\", \"metric\", \"secret:NAME\" or \"http:HOST\"")),
    },
};

/// Reads the checked table.
pub(super) fn read(
    table: Option<View<'_, '_>>,
    text: &str,
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> PluginsConfig {
    let default = PluginsConfig::default();
    let Some(table) = table else { return default };
    let folders: Vec<String> = table.texts("dir").into_iter().map(|(folder, _)| folder.to_owned()).collect();
    let common = Common {
        isolation: isolation(table.text("default_isolation")).unwrap_or(Isolation::Process),
        watch: table.flag("watch").unwrap_or(true),
    };
    let own = ["dir", "cache_dir", "watch", "default_isolation"];
    let mut plugins = Vec::new();
    for (key, span, node) in table.entries().filter(|(key, ..)| !own.contains(key)) {
        let Some(plugin) = node.get_ref().as_table().map(View) else { continue };
        let place = Problem::warning("plugin_refused", RUNTIME_FILE, "").at(text, span);
        plugins.push(PluginEntry { settings: settings(key, plugin, &common, environment, checker), place });
    }
    PluginsConfig {
        folders: if folders.is_empty() { default.folders } else { folders },
        cache: table.text("cache_dir").map_or(default.cache, PathBuf::from),
        plugins,
    }
}

struct Common {
    isolation: Isolation,
    watch: bool,
}

fn isolation(text: Option<&str>) -> Option<Isolation> {
    match text? {
        "inprocess" => Some(Isolation::InProcess),
        _ => Some(Isolation::Process),
    }
}

fn settings(
    key: &str,
    table: View<'_, '_>,
    common: &Common,
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> Settings {
    let mut settings = Settings::new(key, Vec::new());
    let time = |key: &str, default: Duration| table.duration(key).unwrap_or(default);
    settings.file = table.text("file").unwrap_or(key).to_owned();
    settings.isolation = isolation(table.text("isolation")).unwrap_or(common.isolation);
    settings.watch = common.watch;
    settings.sha256 = table.text("sha256").map(str::to_ascii_lowercase);
    settings.max_concurrency = table.count("max_concurrency").map_or(settings.max_concurrency, |count| count as usize);
    settings.call_timeout = time("call_timeout", settings.call_timeout);
    settings.cancel_grace = time("cancel_grace", settings.cancel_grace);
    settings.kill_grace = time("kill_grace", settings.kill_grace);
    settings.start_timeout = time("start_timeout", settings.start_timeout);
    settings.drain_timeout = time("drain_timeout", settings.drain_timeout);
    settings.max_generations = table.count("max_generations").map_or(settings.max_generations, |count| count as usize);
    settings.allow_breaking = table.flag("allow_breaking").unwrap_or(false);
    settings.grants = table.texts("grants").into_iter().filter_map(|(grant, _)| Grant::parse(grant)).collect();
    settings.restart = restart(table.table("restart"), settings.restart);
    settings.limits = limits(table.table("limits"), settings.limits, checker);
    let env = table.texts("env").into_iter();
    settings.env = env.filter_map(|(name, _)| Some((name.to_owned(), environment(name)?))).collect();
    settings.config = config(table, environment, checker);
    settings
}

fn restart(table: Option<View<'_, '_>>, default: Restart) -> Restart {
    let Some(table) = table else { return default };
    Restart {
        max: table.count("max").unwrap_or(default.max),
        window: table.duration("window").unwrap_or(default.window),
        backoff_min: table.duration("backoff_min").unwrap_or(default.backoff_min),
        backoff_max: table.duration("backoff_max").unwrap_or(default.backoff_max),
    }
}

/// The largest output: one frame of the channel.
const LARGEST_OUTPUT: u64 = 16 * 1024 * 1024 - 1024;

fn limits(table: Option<View<'_, '_>>, default: Limits, checker: &mut Checker<'_>) -> Limits {
    let Some(table) = table else { return default };
    let mut output = table.size("output").unwrap_or(default.output as u64);
    if output > LARGEST_OUTPUT {
        if output > 16 * 1024 * 1024 {
            let place = table.span("output").unwrap_or_default();
            checker.error("out_of_range", place, "one output has at most 16MiB").help =
                Some("write output = \"16MiB\" or less".to_owned());
        }
        output = LARGEST_OUTPUT;
    }
    Limits {
        memory: table.size("memory").unwrap_or(default.memory),
        open_files: table.count("open_files").map_or(default.open_files, u64::from),
        output: usize::try_from(output).unwrap_or(default.output),
    }
}

/// The plugin's own table, with every `{ secret = "NAME" }` replaced by the variable's value.
fn config(table: View<'_, '_>, environment: Environment<'_>, checker: &mut Checker<'_>) -> Map<String, Value> {
    let Some(config) = table.table("config") else {
        if let Some(span) = table.span("config") {
            checker.error("wrong_type", span, "`config` is a table").help = Some("write config = { … }".to_owned());
        }
        return Map::new();
    };
    let span = table.key_span("config").unwrap_or_default();
    let mut values = config.json(&[]);
    values.values_mut().for_each(|value| resolve(value, &span, environment, checker));
    values
}

fn resolve(value: &mut Value, span: &Range<usize>, environment: Environment<'_>, checker: &mut Checker<'_>) {
    match value {
        Value::Object(map) => {
            let name = map.get("secret").and_then(Value::as_str).filter(|_| map.len() == 1).map(str::to_owned);
            let Some(name) = name else {
                return map.values_mut().for_each(|value| resolve(value, span, environment, checker));
            };
            match environment(&name).filter(|secret| !secret.is_empty()) {
                Some(secret) => *value = Value::String(secret),
                None => {
                    let message = format!("the variable `{name}`, a secret of this plugin, is not set");
                    let problem = checker.warning("variable_missing", span.clone(), message);
                    problem.help = Some(format!("set {name} before starting"));
                    *value = Value::Null;
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|value| resolve(value, span, environment, checker)),
        _ => {}
    }
}
