//! Tools of MCP servers, which come and go: `mcp:server/tool`, and `mcp:server/*` for all a server has. A server that is
//! not there takes away its tools and nothing else.

use std::ops::Range;
use std::sync::Arc;

use roster_model::source::{Standing, ToolGroup};
use roster_model::tool::{SettingsError, Tool};

use super::catalog::Catalog;
use super::resolve::{TOOL_TIMEOUT, bad_setting, known};
use crate::definition::{Definition, Positions, Problem, ToolSettings, suggest};
use crate::tool::Unbound;

/// All tools of a server.
const ALL: &str = "*";
/// What a server's tools begin with in definitions.
const PREFIX: &str = "mcp:";

/// A name of `tools` that means a server's.
#[derive(Clone, Copy)]
pub(super) struct ServerTool<'a> {
    /// As written.
    written: &'a str,
    server: &'a str,
    /// The server's own name of the tool, or [`ALL`].
    tool: &'a str,
}

impl<'a> ServerTool<'a> {
    /// Reads a name; `None` when it means no server's tool.
    pub(super) fn read(written: &'a str) -> Option<Self> {
        let (server, tool) = written.strip_prefix(PREFIX)?.split_once('/')?;
        Some(Self { written, server, tool })
    }
}

/// Each server an agent uses, with the revision of its tools: what an agent was assembled from.
pub(super) fn facts(definition: &Definition, catalog: &Catalog) -> Vec<(String, String)> {
    let mut servers: Vec<&str> =
        definition.tools.iter().filter_map(|name| ServerTool::read(name)).map(|tool| tool.server).collect();
    servers.sort_unstable();
    servers.dedup();
    let fact = |server: &str| {
        let group = catalog.servers.group(server);
        let revision = group.map_or_else(|| "none".to_owned(), |group| group.revision.to_string());
        (format!("{PREFIX}{server}"), revision)
    };
    servers.into_iter().map(fact).collect()
}

/// Where what is found goes.
pub(super) struct Found<'a> {
    pub(super) positions: &'a Positions,
    pub(super) catalog: &'a Catalog,
    pub(super) unbound: &'a mut Vec<Unbound>,
    pub(super) problems: &'a mut Vec<Problem>,
    pub(super) warnings: &'a mut Vec<Problem>,
}

impl Found<'_> {
    /// Binds what this name stands for now. A server nobody configured is an error; whatever else is missing is a
    /// warning, and joins when it comes.
    pub(super) fn bind(&mut self, definition: &Definition, wanted: ServerTool<'_>, span: Option<Range<usize>>) {
        let ServerTool { server, written, .. } = wanted;
        let Some(group) = self.catalog.servers.group(server) else {
            let problem = self.unknown_server(wanted, span);
            return self.problems.push(problem);
        };
        let (code, reason) = match &group.standing {
            Standing::Here => return self.here(definition, wanted, &group, span),
            Standing::Unasked => return,
            Standing::Connecting => ("server_connecting", "is still being connected to"),
            Standing::Absent(reason) => ("server_absent", reason.as_str()),
        };
        let message = format!("tool `{written}` is not there now: the MCP server `{server}` {reason}");
        let problem = self.positions.warning(code, span, message);
        self.warnings.push(problem.help("the agent serves without it; it joins when the server is there"));
    }

    fn here(&mut self, definition: &Definition, wanted: ServerTool<'_>, group: &ToolGroup, span: Option<Range<usize>>) {
        let ServerTool { tool, written, .. } = wanted;
        if tool == ALL {
            // A tool that is also named by itself is bound there, with the settings it has there.
            let named = |other: &&Arc<dyn Tool>| !definition.tools.contains(&other.spec().name);
            for one in group.tools.iter().filter(named) {
                self.offer(definition, one, Some(written), span.clone());
            }
        } else if let Some(one) = group.tools.iter().find(|one| one.spec().name == written) {
            self.offer(definition, one, None, span);
        } else {
            let problem = self.unknown_tool(wanted, group, span);
            self.warnings.push(problem);
        }
    }

    fn offer(
        &mut self,
        definition: &Definition,
        tool: &Arc<dyn Tool>,
        wildcard: Option<&str>,
        span: Option<Range<usize>>,
    ) {
        let spec = tool.spec();
        if let Err(fault) = self.catalog.schemas.get(spec.input_schema.clone()) {
            let message = format!("tool `{}` is left out: its schema cannot be used: {fault}", spec.name);
            return self.warnings.push(self.positions.warning("tool_schema", span, message));
        }
        let settings = [Some(spec.name.as_str()), wildcard].into_iter().flatten();
        let settings = settings.into_iter().find_map(|name| Some((name, definition.tool_settings.get(name)?)));
        let none = ToolSettings::default();
        let (name, settings) = settings.unwrap_or((&spec.name, &none));
        if let Some(key) = settings.own.keys().next() {
            let fault = SettingsError {
                key: key.clone(),
                message: format!("unknown key `{key}`: tools of MCP servers have no settings of their own"),
                help: None,
            };
            let problem = bad_setting(name, self.positions, fault);
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
            return;
        }
        let timeout = settings.timeout.unwrap_or(TOOL_TIMEOUT);
        let tool = Unbound::tool(Arc::clone(tool), &spec.name, timeout, settings.concurrency);
        self.unbound.push(tool.with_approval(settings.approval));
    }

    fn unknown_server(&self, wanted: ServerTool<'_>, span: Option<Range<usize>>) -> Problem {
        let ServerTool { server, written, .. } = wanted;
        let message = format!("tool `{written}`: there is no MCP server `{server}` in config/runtime.toml");
        let servers = self.catalog.servers.servers();
        let help = match servers.is_empty() {
            true => format!("add [mcp.servers.{server}] there with `command` or `url`"),
            false => known(server, servers.iter(), "MCP servers"),
        };
        self.positions.error("unknown_server", span, message).help(help)
    }

    fn unknown_tool(&self, wanted: ServerTool<'_>, group: &ToolGroup, span: Option<Range<usize>>) -> Problem {
        let ServerTool { server, tool, written } = wanted;
        let message = format!("the MCP server `{server}` has no tool `{tool}` now");
        let names: Vec<&str> = group.tools.iter().map(|one| one.spec().name.as_str()).collect();
        let help = match suggest(written, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`? The agent serves without it"),
            None => "the agent serves without it; it joins when the server offers it".to_owned(),
        };
        self.positions.warning("tool_absent", span, message).help(help)
    }
}
