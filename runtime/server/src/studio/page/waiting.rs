//! Turns that wait for a person, for the operator who looks at the page.

use roster_model::suspension::SuspendedTurn;
use serde_json::Value;

use super::html::Html;

/// The most turns on the page; `/admin/turns` tells all.
pub(super) const SHOWN: usize = 20;
/// Letters of a call's arguments that are shown.
const LONGEST: usize = 200;

/// The newest turns that wait; nothing when none does.
pub(super) fn list(turns: &[SuspendedTurn]) -> Html {
    let mut html = Html::default();
    if turns.is_empty() {
        return html;
    }
    html.raw("<h3>Waiting for a person</h3><ul class=\"problems\">");
    for turn in turns.iter().take(SHOWN) {
        one(&mut html, turn);
    }
    html.raw("</ul><p class=\"about\">Decide with <code>POST /admin/turns/…/approve</code> or <code>/decline</code>; ");
    html.raw("<a href=\"/admin/turns\">/admin/turns</a> lists all that wait.</p>");
    html
}

fn one(html: &mut Html, turn: &SuspendedTurn) {
    let message = &turn.row.message;
    let agent = message.origin.as_ref().map_or("an agent", |origin| origin.agent.as_str());
    html.raw("<li><b>").text(agent).raw("</b> asks for <code>").text(turn.key.resource.as_str()).raw("</code>:");
    for call in turn.calls() {
        let arguments: String = Value::Object(call.arguments.clone()).to_string().chars().take(LONGEST).collect();
        html.raw(" <code>").text(&call.name).raw(" ").text(&arguments).raw("</code>");
    }
    html.raw("<span class=\"place\">").text(turn.turn.as_str()).raw(", since ").text(&message.created_at.to_string());
    html.raw("</span></li>");
}
