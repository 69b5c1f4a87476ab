//! MCP servers: each is connected to, asked for its tools, and let go again.

use std::path::Path;

use roster_model::source::SourceState;

use super::finding::Finding;
use crate::assemble;
use crate::config::McpServer;
use crate::error::HostError;
use crate::mcp;

/// How each server answers now.
///
/// # Errors
/// [`HostError::Internal`] when the means to ask them cannot be made.
pub(super) fn findings(root: &Path, servers: &[McpServer]) -> Result<Vec<Finding>, HostError> {
    if servers.is_empty() {
        return Ok(Vec::new());
    }
    let states = assemble::runtime()?.block_on(mcp::look(root, servers))?;
    Ok(states.iter().map(finding).collect())
}

fn finding(state: &SourceState) -> Finding {
    let subject = format!("mcp server {}", state.name);
    let about = state.server.as_deref().unwrap_or("a server without a name");
    match state.state {
        "ready" if state.left_out.is_empty() => {
            Finding::ok(&subject, format_args!("{about}, {} tools over {}", state.tools, state.transport))
        }
        "ready" => Finding::warn(
            &subject,
            format_args!("{about}, {} tools over {}, {} left out", state.tools, state.transport, state.left_out.len()),
            format_args!("the first: {}", state.left_out[0]),
        ),
        "disabled" => Finding::ok(&subject, "disabled by its configuration"),
        _ => Finding::warn(
            &subject,
            state.error.as_deref().unwrap_or("did not answer in time"),
            "agents serve without its tools; it is tried again while serving",
        ),
    }
}
