use roster_engine::turn::{FinishReason, TurnEvent};
use roster_model::message::ToolResult;
use roster_model::provider::Usage;
use serde_json::{Map, Value, json};

use super::approval::decision;
use super::screen::{Screen, Style};

fn text(words: &str) -> TurnEvent {
    TurnEvent::Text(words.to_owned())
}

fn thinking(words: &str) -> TurnEvent {
    TurnEvent::Reasoning(words.to_owned())
}

fn called(id: &str, arguments: Value) -> TurnEvent {
    let arguments = match arguments {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    TurnEvent::ToolCalled { id: id.into(), name: "get_time".into(), arguments, approval: false }
}

fn finished(id: &str, output: Value, is_error: bool) -> TurnEvent {
    TurnEvent::ToolFinished(ToolResult {
        call_id: id.into(),
        name: "get_time".into(),
        output,
        is_error,
        duration_ms: 3,
    })
}

fn end() -> TurnEvent {
    TurnEvent::Finished { reason: FinishReason::Stop, usage: Usage::default() }
}

fn check(style: Style, events: &[TurnEvent], expected: &str) {
    let mut bytes = Vec::new();
    let mut screen = Screen::<_, Vec<u8>>::new(&mut bytes, style);
    for event in events {
        screen.show(event).expect("a Vec takes everything");
    }
    assert_eq!(String::from_utf8(bytes).expect("text"), expected);
}

#[test]
fn kinds_stand_on_lines_of_their_own() {
    let events = [
        thinking("hm "),
        thinking("yes"),
        text("Let me "),
        text("look."),
        called("c1", json!({"zone": "Europe/Berlin"})),
        finished("c1", json!({"iso": "2030"}), false),
        text("It is late."),
        end(),
    ];
    let plain = "(thinking) hm yes\nLet me look.\n-> get_time {\"zone\":\"Europe/Berlin\"}\n\
                 <- get_time {\"iso\":\"2030\"}\nIt is late.\n";
    check(Style::default(), &events, plain);
    let dimmed = "\u{1b}[2m(thinking) hm yes\u{1b}[0m\nLet me look.\n\
                  \u{1b}[2m-> get_time {\"zone\":\"Europe/Berlin\"}\u{1b}[0m\n\
                  \u{1b}[2m<- get_time {\"iso\":\"2030\"}\u{1b}[0m\nIt is late.\n";
    check(Style { colour: true, terminal: true }, &events, dimmed);
}

#[test]
fn an_answer_that_ends_its_line_gets_no_second_end() {
    check(Style::default(), &[text("a\n"), end(), text("b"), end()], "a\nb\n");
}

#[test]
fn results_are_one_short_line() {
    let long = format!("a\nb{}", "漢".repeat(400));
    let shown = format!("<- get_time failed: a b{}…\n", "漢".repeat(297));
    check(
        Style::default(),
        &[called("c1", json!({})), finished("c1", json!(long), true)],
        &format!("-> get_time {{}}\n{shown}"),
    );
}

#[test]
fn a_model_cannot_steer_the_terminal_and_a_file_gets_every_byte() {
    let events = [text("a\u{1b}]0;title\u{7}\tb\r"), end()];
    check(Style { colour: false, terminal: true }, &events, "a\u{fffd}]0;title\u{fffd}\tb\u{fffd}\n");
    check(Style::default(), &events, "a\u{1b}]0;title\u{7}\tb\r\n");
}

#[test]
fn apart_the_answer_stands_alone() {
    let (mut answer, mut aside) = (Vec::new(), Vec::new());
    let mut screen = Screen::apart(&mut answer, Style::default(), &mut aside, Style::default());
    let events = [
        thinking("hm "),
        thinking("yes"),
        text("Let me look."),
        called("c1", json!({})),
        finished("c1", json!(1), false),
        thinking("so"),
        text("It is "),
        text("late."),
        end(),
    ];
    for event in &events {
        screen.show(event).expect("a Vec takes everything");
    }
    assert_eq!(String::from_utf8(answer).expect("text"), "Let me look.\nIt is late.\n");
    let beside = "(thinking) hm yes\n-> get_time {}\n<- get_time 1\n(thinking) so\n";
    assert_eq!(String::from_utf8(aside).expect("text"), beside);
}

#[test]
fn only_a_clear_word_decides() {
    for (line, said) in [("y", Some(true)), (" YES\n", Some(true)), ("No", Some(false)), ("n", Some(false))] {
        assert_eq!(decision(line), said, "{line:?}");
    }
    for line in ["", "yes please", "nothing", "ja"] {
        assert_eq!(decision(line), None, "{line:?}");
    }
}
