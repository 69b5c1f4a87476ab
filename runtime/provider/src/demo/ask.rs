//! Which tool a question asks for, and with which arguments.

use roster_model::provider::{Completion, OfferedTool, ToolChoice};
use serde_json::{Map, Value, json};

use super::words::{has_any, has_word};

/// A call to be made: the tool's name and its arguments.
pub(super) type Call = (String, Value);

/// What a question leads to.
#[derive(Debug, PartialEq)]
pub(super) enum Wanted {
    /// A call.
    Call(Call),
    /// The weather, but of no city.
    CityMissing,
    /// No tool.
    Nothing,
}

/// The call this question asks for, among the tools offered.
pub(super) fn wanted(question: &str, completion: &Completion) -> Wanted {
    let tools = &completion.tools;
    match &completion.settings.tool_choice {
        Some(ToolChoice::None) => return Wanted::Nothing,
        Some(ToolChoice::Named(name)) => {
            let named = tools.iter().find(|tool| tool.name == *name);
            return named.map_or(Wanted::Nothing, |tool| Wanted::Call(forced(tool, question)));
        }
        Some(ToolChoice::Auto | ToolChoice::Required) | None => {}
    }
    let matched = named(question, tools).unwrap_or_else(|| matching(question, tools));
    let must = completion.settings.tool_choice == Some(ToolChoice::Required);
    match (must, tools.first()) {
        (true, Some(tool)) if !matches!(matched, Wanted::Call(_)) => Wanted::Call(forced(tool, question)),
        _ => matched,
    }
}

/// A call of the tool whose whole name stands in the question, with what comes after it: `tide-table_greet Ann`.
fn named(question: &str, tools: &[OfferedTool]) -> Option<Wanted> {
    // Names without a line in them may be words that mean something else.
    let (tool, at) = tools.iter().filter(|tool| tool.name.contains('_')).find_map(|tool| {
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let (at, _) = question.match_indices(&tool.name).find(|(at, name)| {
            !question[..*at].ends_with(inside) && !question[at + name.len()..].starts_with(inside)
        })?;
        Some((tool, at))
    })?;
    let rest =
        question[at + tool.name.len()..].trim_matches(|c: char| c.is_whitespace() || matches!(c, '`' | ':' | '：'));
    Some(Wanted::Call(forced(tool, if rest.is_empty() { question } else { rest })))
}

fn matching(question: &str, tools: &[OfferedTool]) -> Wanted {
    if let Some(call) = delegation(question, tools) {
        return Wanted::Call(call);
    }
    let tool = |name: &str| tools.iter().find(|tool| tool.name == name);
    let asks_weather = has_word(question, &["weather", "forecast"]) || has_any(question, &["天气", "气温"]);
    if let (true, Some(tool)) = (asks_weather, tool("get_weather")) {
        return match city(question) {
            Some(city) => Wanted::Call((tool.name.clone(), json!({ "city": city }))),
            None => Wanted::CityMissing,
        };
    }
    let asks_time = has_word(question, &["time", "clock", "o'clock"]) || has_any(question, &["几点", "时间"]);
    if let (true, Some(tool)) = (asks_time, tool("get_time")) {
        return Wanted::Call((tool.name.clone(), time_arguments(question)));
    }
    if let (true, Some(tool)) = (asks_documents(question), tool("search_docs")) {
        return Wanted::Call((tool.name.clone(), json!({ "query": question.chars().take(500).collect::<String>() })));
    }
    Wanted::Nothing
}

/// A question that documents may answer, or their name.
fn asks_documents(question: &str) -> bool {
    has_word(question, &["docs", "document", "documents", "documentation", "how", "explain", "search"])
        || has_any(question, &["文档", "如何", "怎么", "怎样", "解释", "搜索", "查找"])
}

fn delegation(question: &str, tools: &[OfferedTool]) -> Option<Call> {
    let asks = has_word(question, &["ask", "delegate", "research", "write"])
        || has_any(question, &["问一下", "去问", "请问问", "委托", "研究", "写一"]);
    if !asks {
        return None;
    }
    let agents = || tools.iter().filter(|tool| tool.name.starts_with("agent_"));
    let agent = agents().find(|tool| is_named(question, &tool.name)).or_else(|| agents().next())?;
    Some((agent.name.clone(), json!({ "prompt": question })))
}

/// True when a word of the agent's id, other than `agent`, stands in the question.
fn is_named(question: &str, tool: &str) -> bool {
    let words: Vec<&str> = tool.split(['_', '-']).filter(|word| *word != "agent" && !word.is_empty()).collect();
    has_word(question, &words)
}

/// A zone named as such (`Asia/Tokyo`); otherwise the tool's own default.
fn time_arguments(question: &str) -> Value {
    let zone = question
        .split(|c: char| c.is_whitespace() || matches!(c, '?' | ',' | '？' | '，' | '。' | '的'))
        .map(|word| word.trim_end_matches('.'))
        .find(|word| is_zone(word));
    zone.map_or_else(|| json!({}), |zone| json!({ "zone": zone }))
}

fn is_zone(word: &str) -> bool {
    word.split_once('/').is_some_and(|(area, place)| {
        area.starts_with(|c: char| c.is_ascii_uppercase()) && place.starts_with(|c: char| c.is_ascii_uppercase())
    })
}

/// The city in "weather in Berlin today?" or "今天北京的天气怎么样".
fn city(question: &str) -> Option<String> {
    chinese_city(question).or_else(|| english_city(question))
}

fn english_city(question: &str) -> Option<String> {
    let lower = question.to_ascii_lowercase();
    let start = [" in ", " for ", " at ", " of "].iter().find_map(|word| Some(lower.find(word)? + word.len()))?;
    let rest = &question[start..];
    let end = rest.find(['?', '.', '!', ';', '\n']).unwrap_or(rest.len());
    let kept: Vec<&str> = rest[..end].split_whitespace().filter(|word| !is_filler(word)).collect();
    let city = kept.join(" ");
    let city = city.trim_matches(',').trim();
    (!city.is_empty()).then(|| city.to_owned())
}

fn is_filler(word: &str) -> bool {
    let word = word.trim_matches(',').to_ascii_lowercase();
    ["today", "now", "right", "tomorrow", "tonight", "please", "currently", "the", "like"].contains(&word.as_str())
}

fn chinese_city(question: &str) -> Option<String> {
    let end = question.find("天气").or_else(|| question.find("气温"))?;
    let before = question[..end].rsplit(['，', '。', '？', ',', ' ']).find(|part| !part.is_empty())?;
    let mut city = before.to_owned();
    for filler in ["请问", "请", "帮我", "告诉我", "查一下", "查", "看看", "今天", "明天", "现在", "一下", "的", "在"]
    {
        city = city.replace(filler, "");
    }
    (!city.is_empty()).then_some(city)
}

/// A call the settings demand: every required text argument is the question.
fn forced(tool: &OfferedTool, question: &str) -> Call {
    if let Wanted::Call(call) = matching(question, std::slice::from_ref(tool)) {
        return call;
    }
    let required = tool.input_schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let mut arguments = Map::new();
    for name in required.iter().filter_map(Value::as_str) {
        arguments.insert(name.to_owned(), filler(&tool.input_schema["properties"][name], question));
    }
    (tool.name.clone(), Value::Object(arguments))
}

fn filler(schema: &Value, question: &str) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(question),
    }
}
