//! `[mcp]`: servers whose tools agents use; `[gateway.mcp]`: agents that are tools themselves.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use roster_engine::definition::table::Checker;
use roster_engine::definition::view::View;
use roster_engine::definition::{Problem, suggest};

use crate::config::secret::{SECRET_WORDS, Secret, has_credentials};
use crate::paths::{REGISTRY_FILE, RUNTIME_FILE};

/// How long a server may take to be ready when nothing is said; `npx` may have to download it first.
const START: Duration = Duration::from_secs(60);

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub reach: McpReach,
    /// How long connecting may take. Default 60 s.
    pub start_timeout: Duration,
    /// Whether it is connected to.
    pub enabled: bool,
}

/// How an MCP server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpReach {
    /// As a child process.
    Command {
        /// The program and its arguments; never empty.
        command: Vec<String>,
        /// Its own variables.
        env: Vec<Setting>,
        /// Its working directory, relative to the root.
        cwd: PathBuf,
    },
    /// Over HTTP.
    Url {
        /// Where.
        url: Secret,
        /// Sent with every request.
        headers: Vec<Setting>,
    },
}

/// A variable or a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Secret,
    /// Whether the value is masked wherever the server's words are shown.
    pub secret: bool,
}

/// An agent that may be asked through the door `/mcp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedAgent {
    /// Its id, or `*` for all.
    pub id: String,
    /// Where that stands in the file.
    pub place: Range<usize>,
}

/// Who may be asked through the door `/mcp`.
pub(super) fn agents(gateway: Option<View<'_, '_>>) -> Vec<OfferedAgent> {
    let table = gateway.and_then(|gateway| gateway.table("mcp"));
    let agents = table.map(|table| table.texts("agents")).unwrap_or_default();
    agents.into_iter().map(|(id, place)| OfferedAgent { id: id.to_owned(), place }).collect()
}

/// A warning for each agent that is offered and has no line among `known`; `source` is the text of the file.
pub(crate) fn unknown_agents(offered: &[OfferedAgent], source: &str, known: &[&str]) -> Vec<Problem> {
    let unknown = offered.iter().filter(|agent| agent.id != "*" && !known.contains(&agent.id.as_str()));
    let problem = |OfferedAgent { id, place }: &OfferedAgent| {
        let message = format!("`gateway.mcp.agents` names `{id}`, which has no line in {REGISTRY_FILE}");
        let problem = Problem::warning("unknown_agent", RUNTIME_FILE, message).at(source, place.clone());
        problem.help(match suggest(id, known.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "it is offered at `/mcp` as soon as it is registered".to_owned(),
        })
    };
    unknown.map(problem).collect()
}

/// The servers, in the order of the file. One that cannot be used is a problem, and not among them.
pub(super) fn servers(mcp: Option<View<'_, '_>>, text: &str, checker: &mut Checker<'_>) -> Vec<McpServer> {
    let Some(table) = mcp.and_then(|mcp| mcp.table("servers")) else { return Vec::new() };
    let one = |(name, span, node): (&str, _, &toml::Spanned<toml::de::DeValue<'_>>)| {
        let table = View(node.get_ref().as_table()?);
        let reach = reach(table, span, text, checker)?;
        let start_timeout = table.duration("start_timeout").unwrap_or(START);
        Some(McpServer { name: name.to_owned(), reach, start_timeout, enabled: table.flag("enabled").unwrap_or(true) })
    };
    table.entries().filter_map(one).collect()
}

fn reach(table: View<'_, '_>, span: Range<usize>, text: &str, checker: &mut Checker<'_>) -> Option<McpReach> {
    let mut command: Vec<String> = table.texts("command").into_iter().map(|(word, _)| word.to_owned()).collect();
    command.extend(table.text("command").map(str::to_owned));
    match (table.node("command"), table.text("url")) {
        (Some(_), Some(_)) => {
            let place = table.key_span("url").unwrap_or(span);
            checker.error("conflict", place, "`command` and `url` stand both").help =
                Some("keep `command` for a program to start, `url` for a server that runs elsewhere".to_owned());
            None
        }
        (None, None) => {
            // A value that was refused is a problem of its own.
            if table.node("url").is_none() {
                checker.error("missing_key", span, "the server has neither `command` nor `url`").help =
                    Some("add command = [\"program\", \"argument\"], or url = \"https://…\"".to_owned());
            }
            None
        }
        (Some(_), None) => {
            misplaced(table, &["headers"], "command", checker);
            // An empty list was refused by the checker.
            if command.is_empty() {
                return None;
            }
            command.extend(table.texts("args").into_iter().map(|(word, _)| word.to_owned()));
            let env = settings(table.table("env"), "variable", text, checker);
            let cwd = PathBuf::from(table.text("cwd").unwrap_or("."));
            Some(McpReach::Command { command, env, cwd })
        }
        (None, Some(url)) => {
            misplaced(table, &["args", "env", "cwd"], "url", checker);
            if has_credentials(url) {
                let place = table.span("url").unwrap_or(span);
                checker.error("literal_secret", place, "`url` holds credentials").help =
                    Some("write headers = { Authorization = \"Basic ${NAME}\" }".to_owned());
            }
            let headers = settings(table.table("headers"), "header", text, checker);
            Some(McpReach::Url { url: Secret::new(url), headers })
        }
    }
}

fn misplaced(table: View<'_, '_>, keys: &[&str], kind: &str, checker: &mut Checker<'_>) {
    for key in keys {
        if let Some(place) = table.key_span(key) {
            let message = format!("`{key}` does nothing for a server with `{kind}`");
            checker.error("conflict", place, message).help = Some("take it out".to_owned());
        }
    }
}

fn settings(table: Option<View<'_, '_>>, noun: &str, text: &str, checker: &mut Checker<'_>) -> Vec<Setting> {
    let mut found = Vec::new();
    for (name, span, node) in table.into_iter().flat_map(View::entries) {
        let Some(value) = node.get_ref().as_str() else { continue };
        let from_variable = text.get(node.span()).is_some_and(|written| written.contains("${"));
        let capitals = name.to_ascii_uppercase();
        let secret = SECRET_WORDS.iter().any(|word| capitals.contains(word));
        if secret && !from_variable && !value.is_empty() {
            let message = format!("the {noun} `{name}` seems to be a secret, and stands in the file itself");
            checker.warning("literal_secret", span, message).help =
                Some(format!("keep it in a variable and write {name} = \"${{NAME}}\""));
        }
        found.push(Setting { name: name.to_owned(), value: Secret::new(value), secret: secret || from_variable });
    }
    found
}
