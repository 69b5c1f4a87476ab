//! A server's list of tools, page after page, and what of it is believed.

use std::collections::HashSet;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{PaginatedRequestParams, Tool};
use rmcp::service::Peer;
use roster_model::tool::ToolSpec;
use serde_json::{Map, Value};
use tokio::time::timeout;

use super::secrets::{Secrets, cut};

/// Tools of one server; more are left out, and that is said.
const MOST_TOOLS: usize = 1_000;
const MOST_PAGES: usize = 200;
/// How long one page may take.
const PAGE: Duration = Duration::from_secs(20);
const LONGEST_NAME: usize = 128;
/// The longest description a model is given, in characters.
const LONGEST_DESCRIPTION: usize = 4_000;
/// The largest schema, in bytes of JSON.
const LARGEST_SCHEMA: usize = 64 * 1024;
/// Reasons that are listed; the others are counted.
const MOST_REASONS: usize = 20;

/// The tools of a server that can be offered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Listing {
    /// In the server's order, named as definitions name them.
    pub(super) tools: Vec<ToolSpec>,
    /// What was left out, and why.
    pub(super) left_out: Vec<String>,
}

/// Asks for all pages.
///
/// # Errors
/// Says what went wrong, as a fragment.
pub(super) async fn list(server: &str, peer: &Peer<RoleClient>, secrets: &Secrets) -> Result<Listing, String> {
    let mut reading = Reading::new(server);
    let mut cursor: Option<String> = None;
    let mut seen = HashSet::new();
    for _ in 0..MOST_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.take());
        let page = match timeout(PAGE, peer.list_tools(Some(params))).await {
            Ok(Ok(page)) => page,
            Ok(Err(error)) => return Err(format!("gave no list of tools: {}", secrets.shown(&error.to_string(), 300))),
            Err(_) => return Err(format!("gave no list of tools within {} s", PAGE.as_secs())),
        };
        page.tools.into_iter().for_each(|tool| reading.add(tool));
        match page.next_cursor {
            Some(next) if reading.over == 0 && seen.insert(next.clone()) => cursor = Some(next),
            Some(_) if reading.over == 0 => return Err("lists the same page of tools again and again".to_owned()),
            _ => return Ok(reading.finish()),
        }
    }
    Ok(reading.finish())
}

struct Reading<'a> {
    server: &'a str,
    names: HashSet<String>,
    listing: Listing,
    /// Reasons beyond those listed.
    unlisted: usize,
    /// Tools beyond the bound.
    over: usize,
}

impl<'a> Reading<'a> {
    fn new(server: &'a str) -> Self {
        Self { server, names: HashSet::new(), listing: Listing::default(), unlisted: 0, over: 0 }
    }

    fn add(&mut self, tool: Tool) {
        if self.listing.tools.len() >= MOST_TOOLS {
            self.over += 1;
            return;
        }
        match self.spec(tool) {
            Ok(spec) => self.listing.tools.push(spec),
            Err(reason) if self.listing.left_out.len() < MOST_REASONS => self.listing.left_out.push(reason),
            Err(_) => self.unlisted += 1,
        }
    }

    fn spec(&mut self, tool: Tool) -> Result<ToolSpec, String> {
        let name = tool.name.into_owned();
        let shown = cut(&name, 80);
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(format!("`{shown}`: no usable name (1 to {LONGEST_NAME} bytes without blanks)"));
        }
        if !self.names.insert(name.clone()) {
            return Err(format!("`{shown}`: the name stands twice; the first is taken"));
        }
        let schema = schema((*tool.input_schema).clone()).map_err(|reason| format!("`{shown}`: {reason}"))?;
        let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
        Ok(ToolSpec {
            description: cut(description, LONGEST_DESCRIPTION),
            name: format!("mcp:{}/{name}", self.server),
            input_schema: schema,
        })
    }

    fn finish(mut self) -> Listing {
        if self.unlisted > 0 {
            self.listing.left_out.push(format!("{} more", self.unlisted));
        }
        if self.over > 0 {
            self.listing.left_out.push(format!("everything after the first {MOST_TOOLS} tools"));
        }
        self.listing
    }
}

/// A schema of arguments must be one of objects; a missing `type` is taken as that.
fn schema(mut schema: Map<String, Value>) -> Result<Value, &'static str> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "object" => {}
        None => drop(schema.insert("type".to_owned(), Value::from("object"))),
        Some(_) => return Err("its schema is not one of objects"),
    }
    let schema = Value::Object(schema);
    if schema.to_string().len() > LARGEST_SCHEMA {
        return Err("its schema is larger than 64 KiB");
    }
    Ok(schema)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use serde_json::json;

    fn tool(name: &str, schema: Value) -> Tool {
        let Value::Object(schema) = schema else { panic!("an object") };
        Tool::new(name.to_owned(), "does things", Arc::new(schema))
    }

    fn listing(tools: Vec<Tool>) -> Listing {
        let mut reading = Reading::new("x");
        tools.into_iter().for_each(|tool| reading.add(tool));
        reading.finish()
    }

    #[test]
    fn what_cannot_be_offered_is_left_out_by_name() {
        let good = json!({"type": "object"});
        let found = listing(vec![
            tool("read", good.clone()),
            tool("read", good.clone()),
            tool("", good.clone()),
            tool("two words", good),
            tool("bare", json!({})),
            tool("list", json!({"type": "array"})),
            tool("huge", json!({"type": "object", "description": "x".repeat(LARGEST_SCHEMA)})),
        ]);
        let names: Vec<&str> = found.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["mcp:x/read", "mcp:x/bare"]);
        assert_eq!(found.tools[1].input_schema, json!({"type": "object"}));
        assert_eq!(found.left_out.len(), 5, "{:?}", found.left_out);
    }

    #[test]
    fn ten_thousand_tools_are_cut_and_said() {
        let many = (0..10_000).map(|n| tool(&format!("t{n}"), json!({"type": "object"}))).collect();
        let found = listing(many);
        assert_eq!(found.tools.len(), MOST_TOOLS);
        assert_eq!(found.left_out, ["everything after the first 1000 tools"]);
        let bad = (0..500).map(|_| tool("", json!({}))).collect();
        assert_eq!(listing(bad).left_out.len(), MOST_REASONS + 1);
    }
}
