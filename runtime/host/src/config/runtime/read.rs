//! From the checked tree to the configuration, with the checks that look at more than one key.

use std::net::SocketAddr;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use roster_engine::definition::Problem;
use roster_engine::definition::table::Checker;
use roster_engine::definition::view::View;
use roster_engine::memory::recall::DEFAULT_BUDGET;
use roster_engine::memory::transcript::ResultCap;
use roster_model::id::ResourceId;

use super::{
    Auth, ExporterEntry, Limits, Listener, ObservabilityConfig, Proof, ProviderConfig, ProviderKey, ProxyConfig, Reach,
    ReloadConfig, RuntimeConfig, StorageConfig, Token, is_open, mcp,
};
use crate::config::models::{ModelFault, ModelNames};
use crate::config::secret::{CREDENTIALS, CREDENTIALS_HELP, Secret, has_credentials};
use crate::config::shapes::{MODEL, NEVER, address};
use crate::config::{Environment, models, plugins};
use crate::paths::RUNTIME_FILE;

/// `None` when a key that is needed was refused; the checker says why.
pub(super) fn config(
    root: View<'_, '_>,
    text: &str,
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> Option<RuntimeConfig> {
    let auth = auth(root.table("auth"), environment, checker);
    let gateway = listener(root.table("gateway"), GATEWAY, &auth, checker)?;
    let studio = listener(root.table("studio"), STUDIO, &auth, checker)?;
    let providers = providers(root.table("models"), text, environment, checker);
    let models = model_names(root.table("models"), &providers, environment, checker);
    later(root, checker);
    Some(RuntimeConfig {
        project: root.table("project").and_then(|project| project.text("name")).map(str::to_owned),
        gateway,
        studio,
        storage: storage(root.table("storage"), checker),
        models,
        providers: providers.into_iter().filter_map(|(_, provider)| provider).collect(),
        auth,
        limits: limits(root.table("limits")),
        observability: observability(root, text, checker),
        reload: reload(root.table("reload")),
        mcp_agents: mcp::agents(root.table("gateway")),
        mcp: mcp::servers(root.table("mcp"), text, checker),
        plugins: plugins::read(root.table("plugins"), text, environment, checker),
    })
}

const GATEWAY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8787);
const STUDIO: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 4111);

fn listener(
    table: Option<View<'_, '_>>,
    default: SocketAddr,
    auth: &Auth,
    checker: &mut Checker<'_>,
) -> Option<Listener> {
    let Some(table) = table else { return Some(Listener { listen: default, cors: Vec::new() }) };
    let listen = match table.text("listen") {
        Some(text) => address(text)?,
        None => default,
    };
    if is_open(auth, listen) {
        let message = "everybody who can reach this address could use the agents: `auth.mode` is `\"none\"`";
        let problem = checker.error("open_to_everybody", table.span("listen").unwrap_or_default(), message);
        problem.help = Some("listen on 127.0.0.1, turn [auth] on, or write allow_open = true under [auth]".to_owned());
    }
    let cors = table.texts("cors");
    if let (Auth::None { .. }, Some((_, span))) = (auth, cors.iter().find(|(origin, _)| *origin == "*")) {
        let message = "`\"*\"` lets every page in the browser in, and `auth.mode` is `\"none\"`";
        let problem = checker.error("open_to_everybody", span.clone(), message);
        problem.help = Some("name the origins, or turn [auth] on".to_owned());
    }
    Some(Listener { listen, cors: cors.into_iter().map(|(origin, _)| origin.to_owned()).collect() })
}

fn auth(table: Option<View<'_, '_>>, environment: Environment<'_>, checker: &mut Checker<'_>) -> Auth {
    let Some(table) = table else { return Auth::None { allow_open: false } };
    let written = table.tables("tokens");
    let some = !written.is_empty();
    let tokens = written.into_iter().filter_map(|(token, span)| token_of(token, span, environment, checker)).collect();
    let mode = table.text("mode").unwrap_or("none");
    if mode == "none" {
        if let Some(span) = table.key_span("tokens") {
            let problem = checker.warning("unused_tokens", span, "the tokens do nothing: `auth.mode` is `\"none\"`");
            problem.help = Some("write mode = \"token\" under [auth]".to_owned());
        }
        return Auth::None { allow_open: table.flag("allow_open").unwrap_or(false) };
    }
    if mode == "token" && !some {
        let span = table.span("mode").unwrap_or_default();
        let problem =
            checker.error("no_tokens", span, "`auth.mode` is `\"token\"`, but there is no token: nobody could call");
        problem.help = Some("add [[auth.tokens]] with sha256 or env, and subject".to_owned());
    }
    Auth::Tokens(tokens)
}

fn token_of(
    table: View<'_, '_>,
    span: Range<usize>,
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> Option<Token> {
    let proof = match (table.text("sha256"), table.text("env")) {
        (Some(hash), None) => Proof::Sha256(bytes_of(hash)?),
        (None, Some(variable)) => match environment(variable).filter(|value| !value.is_empty()) {
            Some(value) => Proof::Value(Secret::new(value)),
            None => {
                let message = format!("the variable `{variable}` is not set: nobody can use this token");
                let problem = checker.warning("variable_missing", table.span("env").unwrap_or(span), message);
                problem.help = Some(format!("set {variable} before starting"));
                return None;
            }
        },
        (Some(_), Some(_)) => {
            let place = table.key_span("env").unwrap_or(span);
            checker.error("conflict", place, "`sha256` and `env` stand both").help =
                Some("keep one of the two".to_owned());
            return None;
        }
        (None, None) => {
            let problem = checker.error("missing_key", span, "the token has neither `sha256` nor `env`");
            problem.help =
                Some("add sha256 = \"…\" of the token, or env = \"NAME\" of a variable that holds it".to_owned());
            return None;
        }
    };
    let subject = table.text("subject")?.to_owned();
    let resource = table.text("resource").map_or_else(|| format!("user:{subject}"), str::to_owned);
    let scopes: Vec<String> = table.texts("scopes").into_iter().map(|(scope, _)| scope.to_owned()).collect();
    let scopes = if scopes.is_empty() { vec!["chat".to_owned()] } else { scopes };
    Some(Token { proof, resource: ResourceId::new(resource).ok()?, subject, scopes })
}

fn bytes_of(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(hex.get(index * 2..index * 2 + 2)?, 16).ok()?;
    }
    Some(bytes)
}

/// Every provider that is named; the value only where it can be used.
fn providers(
    models: Option<View<'_, '_>>,
    text: &str,
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> Vec<(String, Option<ProviderConfig>)> {
    let Some(table) = models.and_then(|models| models.table("providers")) else { return Vec::new() };
    let mut found = Vec::new();
    for (name, _, node) in table.entries() {
        let provider = node.get_ref().as_table().map(View);
        let provider = provider.and_then(|provider| provider_of(name, provider, text, environment, checker));
        found.push((name.to_owned(), provider));
    }
    found
}

fn provider_of(
    name: &str,
    table: View<'_, '_>,
    text: &str,
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> Option<ProviderConfig> {
    let key = match (table.text("api_key_env"), table.text("api_key")) {
        (None, None) => ProviderKey::None,
        (Some(_), Some(_)) => {
            let place = table.key_span("api_key").unwrap_or_default();
            checker.error("conflict", place, "`api_key` and `api_key_env` stand both").help =
                Some("keep api_key_env".to_owned());
            return None;
        }
        (Some(variable), None) => match environment(variable).filter(|value| !value.is_empty()) {
            Some(value) => ProviderKey::Set(Secret::new(value)),
            None => {
                let place = table.span("api_key_env").unwrap_or_default();
                let message = format!("the variable `{variable}` is not set: turns with `{name}` will fail");
                checker.warning("key_missing", place, message).help = Some(format!("set {variable} before starting"));
                ProviderKey::Missing { variable: variable.to_owned() }
            }
        },
        (None, Some(value)) => {
            literal_key(table, text, checker);
            ProviderKey::Set(Secret::new(value))
        }
    };
    credentials(table, checker);
    Some(ProviderConfig {
        name: name.to_owned(),
        dialect: table.text("dialect").unwrap_or("openai").to_owned(),
        base_url: table.text("base_url")?.trim_end_matches('/').to_owned(),
        key,
        stream: table.flag("stream").unwrap_or(true),
        reach: reach(table),
    })
}

fn reach(table: View<'_, '_>) -> Reach {
    Reach {
        connect: table.duration("connect_timeout"),
        first_token: table.duration("first_token_timeout"),
        idle: table.duration("idle_timeout"),
        ca_file: table.text("ca_file").map(PathBuf::from),
        proxy: match table.text("proxy") {
            None => ProxyConfig::System,
            Some("none") => ProxyConfig::Direct,
            Some(address) => ProxyConfig::Through(Secret::new(address)),
        },
        breaker_failures: table.count("breaker_failures"),
        breaker_rest: table.duration("breaker_rest"),
    }
}

fn credentials(table: View<'_, '_>, checker: &mut Checker<'_>) {
    if table.text("base_url").is_some_and(has_credentials) {
        let place = table.span("base_url").unwrap_or_default();
        let problem = checker.warning("literal_secret", place, CREDENTIALS);
        problem.help = Some(CREDENTIALS_HELP.to_owned());
    }
}

/// A key that stands in the file itself goes where the file goes.
fn literal_key(table: View<'_, '_>, text: &str, checker: &mut Checker<'_>) {
    let written = table.span("api_key").and_then(|span| text.get(span)).unwrap_or_default();
    if !written.contains("${") {
        let place = table.key_span("api_key").unwrap_or_default();
        let problem = checker.warning("literal_secret", place, "a key stands in the file itself");
        problem.help = Some("keep it in a variable and write api_key_env = \"NAME\"".to_owned());
    }
}

fn model_names(
    table: Option<View<'_, '_>>,
    providers: &[(String, Option<ProviderConfig>)],
    environment: Environment<'_>,
    checker: &mut Checker<'_>,
) -> ModelNames {
    let mut names = ModelNames::new(providers.iter().map(|(name, _)| name.clone()).filter(|name| name != models::DEMO));
    for (alias, _, node) in table.into_iter().flat_map(View::entries) {
        let Some(target) = node.get_ref().as_str().filter(|target| (MODEL.check)(target).is_ok()) else {
            continue;
        };
        let hidden = checker.is_secret(node.span().start);
        let set = if hidden { names.set_hidden(alias, target) } else { names.set(alias, target) };
        match set {
            // What a variable holds is quoted nowhere.
            Err(fault) if hidden => {
                let message = format!("what the variable in `models.{alias}` holds names no model");
                let help =
                    "it must hold \"provider/model\", with a provider of this file, or \"plugin:model\"".to_owned();
                checker.error(fault.code, node.span(), message).help = Some(help);
            }
            Err(fault) => checker.error(fault.code, node.span(), fault.message).help = Some(fault.help),
            Ok(()) => {}
        }
    }
    if let Some(wanted) = environment(OVERRIDE).filter(|wanted| !wanted.is_empty())
        && let Err(fault) = names.set("default", &wanted)
    {
        checker.problems.push(override_fault(fault));
    }
    names
}

/// The variable that overrides the alias `default`.
const OVERRIDE: &str = "ROSTER_MODEL";

fn override_fault(fault: ModelFault) -> Problem {
    Problem::error(fault.code, RUNTIME_FILE, format!("the variable `{OVERRIDE}` names no model: {}", fault.message))
        .help(fault.help)
}

fn storage(table: Option<View<'_, '_>>, checker: &mut Checker<'_>) -> StorageConfig {
    let file = |url: Option<&str>, default: &str| {
        PathBuf::from(url.and_then(|url| url.strip_prefix("file:")).unwrap_or(default))
    };
    let observability = table.and_then(|table| table.text("observability"));
    if let (Some(table), Some(_)) = (table, observability.filter(|url| url.starts_with("duckdb:"))) {
        let place = table.span("observability").unwrap_or_default();
        let problem = checker.warning("not_available_yet", place, "this version does not have the DuckDB plugin yet");
        problem.help = Some("the runtime serves with file:.temp/observability.db".to_owned());
    }
    StorageConfig {
        sessions: file(table.and_then(|table| table.text("sessions")), ".temp/roster.db"),
        observability: file(observability, ".temp/observability.db"),
    }
}

fn limits(table: Option<View<'_, '_>>) -> Limits {
    let count = |key, default| table.and_then(|table| table.count(key)).unwrap_or(default);
    let size = |key, default| {
        let bytes = table.and_then(|table| table.size(key));
        bytes.map_or(default, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    Limits {
        body: size("body", 4 * 1024 * 1024),
        turn_timeout: table.and_then(|table| table.duration("turn_timeout")).unwrap_or(Duration::from_secs(180)),
        concurrent_turns: usize::try_from(count("concurrent_turns", 512)).unwrap_or(512),
        vector_cache: size("vector_cache", DEFAULT_BUDGET),
        tool_result: size("tool_result", ResultCap::DEFAULT),
        requests_per_minute: count("requests_per_minute", 0),
    }
}

fn reload(table: Option<View<'_, '_>>) -> ReloadConfig {
    let default = ReloadConfig::default();
    let Some(table) = table else { return default };
    let never = table.flag("poll").is_some() || table.text("poll") == Some(NEVER);
    let poll = if never { None } else { table.duration("poll").or(default.poll) };
    ReloadConfig { watch: table.flag("watch").unwrap_or(default.watch), poll }
}

const FOURTEEN_DAYS: Duration = Duration::from_secs(14 * 24 * 60 * 60);

fn observability(root: View<'_, '_>, text: &str, checker: &mut Checker<'_>) -> ObservabilityConfig {
    let table = root.table("observability");
    ObservabilityConfig {
        retention: table.and_then(|table| table.duration("retention")).unwrap_or(FOURTEEN_DAYS),
        max_size: table.and_then(|table| table.size("max_size")).unwrap_or(1 << 30),
        sample: table.and_then(|table| table.number("sample")).unwrap_or(1.0),
        exporters: table.map_or_else(Vec::new, |table| exporters(root, table, text, checker)),
    }
}

/// The exporters; of a plugin that is not configured nothing can ever come.
fn exporters(root: View<'_, '_>, table: View<'_, '_>, text: &str, checker: &mut Checker<'_>) -> Vec<ExporterEntry> {
    let plugins = root.table("plugins");
    let mut exporters = Vec::new();
    for (name, span) in table.texts("exporters") {
        // Another form was told already.
        let Some((key, _)) = name.split_once(':') else { continue };
        if plugins.and_then(|plugins| plugins.table(key)).is_none() {
            // What a variable holds is quoted nowhere.
            let (name, key) = if checker.is_secret(span.start) { ("${…}", "…") } else { (name, key) };
            let message = format!("exporter `{name}`: there is no plugin `{key}` in config/runtime.toml");
            let problem = checker.warning("unknown_plugin", span, message);
            problem.help =
                Some(format!("add [plugins.{key}], or take the exporter out; the runtime serves without it"));
            continue;
        }
        let place = Problem::warning("plugin_without", RUNTIME_FILE, "").at(text, span);
        exporters.push(ExporterEntry { name: name.to_owned(), place });
    }
    exporters
}

fn later(root: View<'_, '_>, checker: &mut Checker<'_>) {
    let Some(table) = root.table("observability") else { return };
    if table.text("otlp_endpoint").is_some_and(|endpoint| !endpoint.is_empty()) {
        let place = table.key_span("otlp_endpoint").unwrap_or_default();
        let problem =
            checker.warning("not_available_yet", place, "this version does not have `observability.otlp_endpoint` yet");
        problem.help = Some("the runtime serves without it".to_owned());
    }
}
