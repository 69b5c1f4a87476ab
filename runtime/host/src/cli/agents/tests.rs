use serde_json::json;

use super::{history, table};
use crate::listing::{Row, ToolRow};

fn agent(id: &str, tools: &[&str]) -> Row {
    let tool = |name: &&str| ToolRow { written: (*name).to_owned(), offered: (*name).to_owned() };
    Row {
        id: id.to_owned(),
        state: "serving".to_owned(),
        models: vec!["demo/pro".to_owned()],
        memory: Some("create_memory".to_owned()),
        tools: tools.iter().map(tool).collect(),
        file: "agents/x.toml".to_owned(),
        ..Row::default()
    }
}

#[test]
fn rows_stand_in_columns() {
    let mut rejected = agent("b", &[]);
    rejected.state = "rejected".to_owned();
    rejected.models.clear();
    rejected.memory = None;
    assert_eq!(
        table::of(&[agent("chat-agent", &["get_time", "get_weather"]), rejected]),
        "AGENT                     STATE              MODEL                 MEMORY\n\
         chat-agent                serving            demo/pro              create_memory\n\
         \x20 tools: get_time, get_weather\n  file:  agents/x.toml\n\
         b                         rejected           -                     -\n  file:  agents/x.toml\n"
    );
}

#[test]
fn nothing_is_wider_than_80() {
    let long = "x".repeat(64);
    let tool = "y".repeat(60);
    let mut row = agent(&long, &[tool.as_str(), tool.as_str(), "get_time"]);
    row.models = vec!["provider/with-a-very-long-model-name".to_owned(), "demo/pro".to_owned()];
    row.pinned = Some("0123456789abcdef".to_owned());
    let text = table::of(&[row]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains(&format!("{tool},\n         {tool},")), "{text}");
    assert!(text.contains("get_time\n"), "{text}");
}

#[test]
fn an_empty_registry_says_what_to_do() {
    assert_eq!(table::of(&[]), "no agent is registered; `roster new agent ID` makes one\n");
}

#[test]
fn a_history_marks_what_is_served_now() {
    let new = "a".repeat(64);
    let old = "b".repeat(64);
    let answer = json!({
        "agent": "x", "served": old, "pinned": old,
        "entries": [
            {"at": "2030-01-01T00:00:02.000Z", "change": "pinned", "fingerprint": old, "keys": []},
            {"at": "2030-01-01T00:00:01.000Z", "change": "changed", "fingerprint": new, "keys": ["instructions", "tools"]},
            {"at": "2030-01-01T00:00:00.000Z", "change": "added", "fingerprint": old, "keys": []},
        ],
    });
    assert_eq!(
        history::table(&answer),
        "WHEN                      CHANGE    VERSION       WHAT CHANGED\n\
         2030-01-01T00:00:02.000Z  pinned    bbbbbbbbbbbb  (served now, pinned)\n\
         2030-01-01T00:00:01.000Z  changed   aaaaaaaaaaaa  instructions, tools\n\
         2030-01-01T00:00:00.000Z  added     bbbbbbbbbbbb\n"
    );
}
