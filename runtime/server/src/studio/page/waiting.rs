//! Turns that wait for a person, for the operator who looks at the page.

use roster_model::suspension::SuspendedTurn;
use serde_json::Value;

use super::html::Html;

/// The most turns on the page; `/admin/turns` tells all.
pub(super) const SHOWN: usize = 20;
/// Letters of a call's arguments that are shown.
const LONGEST: usize = 200;

/// The newest turns that wait; nothing when none does. `None`: they could not be read.
pub(super) fn list(turns: Option<&[SuspendedTurn]>) -> Html {
    let mut html = Html::default();
    let Some(turns) = turns else {
        html.raw("<h3>Waiting for a person</h3><p class=\"about\">The turns that wait cannot be read now.</p>");
        return html;
    };
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
        let arguments = plainly(&Value::Object(call.arguments.clone()).to_string());
        html.raw(" <code>").text(&call.name).raw(" ").text(&arguments).raw("</code>");
    }
    html.raw("<span class=\"place\">").text(turn.turn.as_str()).raw(", since ").text(&message.created_at.to_string());
    html.raw("</span></li>");
}

/// The beginning of what a model wrote, as a person may decide about it: that more follows is shown, and no letter can
/// hide or turn round what stands beside it.
fn plainly(text: &str) -> String {
    let mut shown = String::new();
    for (at, letter) in text.chars().enumerate() {
        if at == LONGEST {
            shown.push_str("… (cut)");
            break;
        }
        match letter {
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
                shown.extend(letter.escape_unicode());
            }
            letter if letter.is_control() => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_decides_about_is_shown_plainly() {
        assert_eq!(plainly("pay 5 €"), "pay 5 €");
        assert_eq!(plainly("a\u{202e}b\n"), "a\\u{202e}b\\u{a}");
        let long = plainly(&"x".repeat(LONGEST + 1));
        assert!(long.ends_with("x… (cut)") && long.len() < LONGEST + 20, "{long}");
    }
}
