use roster_engine::registry::AgentState;

use super::{Row, ToolRow, table};

fn agent<'a>(id: &'a str, tools: &[&'a str]) -> Row<'a> {
    Row {
        id,
        state: AgentState::Serving,
        models: vec!["demo/pro"],
        memory: Some("create_memory"),
        tools: tools.iter().map(|name| ToolRow { written: name, offered: name }).collect(),
        file: "agents/x.toml",
        problems: &[],
    }
}

#[test]
fn rows_stand_in_columns() {
    let mut rejected = agent("b", &[]);
    rejected.state = AgentState::Rejected;
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
    row.models = vec!["provider/with-a-very-long-model-name", "demo/pro"];
    let text = table::of(&[row]);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains(&format!("{tool},\n         {tool},")), "{text}");
    assert!(text.contains("get_time\n"), "{text}");
}

#[test]
fn an_empty_registry_says_what_to_do() {
    assert_eq!(table::of(&[]), "no agent is registered; `roster new agent ID` makes one\n");
}
