//! The registry as a list for people, made here so that it is there without any script.

use roster_engine::definition::{Problem, Severity};
use roster_engine::registry::{Agent, Entry, Snapshot};

use super::filter::{Filter, Standing};
use super::html::Html;

/// The most agents on one page.
const SHOWN: usize = 200;
/// Letters of a fingerprint people are shown; the ledger takes 8 or more.
const SHORT: usize = 12;

/// Generation and counts, cards, and the problems of no single agent. `controlled`: whether somebody reloads and pins.
pub(super) fn list(snapshot: &Snapshot, filter: &Filter, controlled: bool) -> Html {
    let mut html = Html::default();
    counts(&mut html, snapshot, filter);
    let mut matching = snapshot.entries.iter().filter(|entry| filter.takes(entry));
    html.raw("<ul id=\"agents\" class=\"cards\">");
    let mut shown = 0_usize;
    for entry in matching.by_ref().take(SHOWN) {
        card(&mut html, entry, controlled);
        shown += 1;
    }
    html.raw("</ul>");
    let more = matching.count();
    if shown == 0 {
        let why = if filter.is_empty() { "No agent is registered." } else { "No agent matches the filter." };
        html.raw("<p class=\"empty\">").text(why).raw("</p>");
    }
    if more > 0 {
        html.raw("<p class=\"empty\">… and ").number(more as u64);
        html.raw(" more: narrow the filter, or read <a href=\"/admin/registry\">/admin/registry</a>.</p>");
    }
    problems(&mut html, &snapshot.problems);
    html
}

/// `generation 3`, then how many stand how; each count leads to those agents.
fn counts(html: &mut Html, snapshot: &Snapshot, filter: &Filter) {
    html.raw("<p class=\"counts\" data-generation=\"").number(snapshot.generation).raw("\"><span>generation ");
    html.number(snapshot.generation).raw("</span>");
    for standing in Standing::ALL {
        let count = snapshot.entries.iter().filter(|entry| Standing::of(entry) == standing).count();
        if count == 0 {
            continue;
        }
        html.raw(" <a class=\"state ").raw(standing.key()).raw("\" href=\"/?state=").raw(standing.key());
        html.raw(if filter.standing == Some(standing) { "\" aria-current=\"true\">" } else { "\">" });
        html.number(count as u64).raw(" ").raw(standing.label()).raw("</a>");
    }
    if !filter.is_empty() {
        html.raw(" <a href=\"/\">show all</a>");
    }
    html.raw("</p>");
}

fn card(html: &mut Html, entry: &Entry, controlled: bool) {
    let agent = entry.agent.as_deref();
    let name = agent.map_or(entry.id.as_str(), |agent| &agent.definition.name);
    let standing = Standing::of(entry);
    html.raw("<li data-agent=\"").text(entry.id.as_str()).raw("\"><h3><span>").text(name).raw("</span>");
    html.raw("<span class=\"state ").raw(standing.key()).raw("\">").raw(standing.label()).raw("</span></h3>");
    html.raw("<p class=\"id\"><code>").text(entry.id.as_str()).raw("</code> <span>").text(&entry.file);
    html.raw("</span></p>");
    if let Some(agent) = agent {
        facts(html, agent);
    }
    version(html, entry);
    problems(html, &entry.problems);
    actions(html, entry, controlled);
    html.raw("</li>");
}

fn facts(html: &mut Html, agent: &Agent) {
    let definition = &agent.definition;
    if !definition.description.is_empty() {
        html.raw("<p>").text(&definition.description).raw("</p>");
    }
    let models: Vec<&str> = agent.models.iter().map(|model| model.name.as_str()).collect();
    html.raw("<dl><dt>Model</dt><dd>").text(&models.join(", ")).raw("</dd><dt>Memory</dt><dd>");
    html.text(definition.memory.as_ref().map_or("none", |memory| &memory.factory)).raw("</dd>");
    let tools: Vec<&str> = agent.tools.iter().map(|tool| tool.written.as_str()).collect();
    if !tools.is_empty() {
        html.raw("<dt>Tools</dt><dd>").text(&tools.join(", ")).raw("</dd>");
    }
    html.raw("</dl>");
}

/// Which version is served since when, and which is pinned.
fn version(html: &mut Html, entry: &Entry) {
    if let Some(agent) = &entry.agent {
        html.raw("<p class=\"version\">version ");
        fingerprint(html, &agent.definition.fingerprint);
        html.raw(" since generation ").number(agent.generation).raw("</p>");
    }
    if let Some(pinned) = &entry.pinned {
        html.raw("<p class=\"pinned\">pinned to ");
        fingerprint(html, pinned);
        html.raw(": the file waits until it is unpinned</p>");
    }
}

fn fingerprint(html: &mut Html, fingerprint: &str) {
    let short = fingerprint.get(..SHORT).unwrap_or(fingerprint);
    html.raw("<code title=\"").text(fingerprint).raw("\">").text(short).raw("</code>");
}

/// The history is a plain link; what needs a script is hidden until there is one.
fn actions(html: &mut Html, entry: &Entry, controlled: bool) {
    html.raw("<p class=\"actions\">");
    if entry.agent.as_ref().is_some_and(|agent| agent.memory.is_some()) {
        html.raw("<button class=\"script\" data-act=\"talks\">Conversations</button>");
    }
    if controlled {
        html.raw("<a class=\"button\" data-act=\"history\" href=\"/admin/agents/").text(entry.id.as_str());
        html.raw("/history\">History</a>");
        if entry.pinned.is_some() {
            html.raw("<button class=\"script\" data-act=\"unpin\">Unpin</button>");
        }
    }
    html.raw("</p>");
}

fn problems(html: &mut Html, problems: &[Problem]) {
    if problems.is_empty() {
        return;
    }
    html.raw("<ul class=\"problems\">");
    for problem in problems {
        html.raw(match problem.severity {
            Severity::Error => "<li class=\"error\"><b>error</b> ",
            Severity::Warning => "<li class=\"warning\"><b>warning</b> ",
        });
        html.prose(&problem.message).raw("<code class=\"place\">").text(&place(problem)).raw("</code>");
        if let Some(help) = &problem.help {
            html.raw("<p>").prose(help).raw("</p>");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
}

/// `agents/keeper.toml:3:1`.
fn place(problem: &Problem) -> String {
    let Problem { file, line, column, .. } = problem;
    match (line, column) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(line), None) => format!("{file}:{line}"),
        _ => file.clone(),
    }
}
