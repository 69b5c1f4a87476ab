//! The demonstration model: the same context always gives the same answer, and it never pretends.

use std::sync::Arc;

use roster_model::message::{ToolCall, ToolResult};
use roster_model::provider::{OfferedTool, ToolChoice};
use serde_json::{Map, Value, json};

use super::*;
use crate::tests::{all, completion, text, user};

fn tool(name: &str, input_schema: Value) -> OfferedTool {
    OfferedTool { name: name.to_owned(), description: String::new(), input_schema: Arc::new(input_schema) }
}

fn tools() -> Arc<[OfferedTool]> {
    let prompt = || json!({"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]});
    Arc::from([
        tool("get_time", json!({"type": "object", "properties": {"zone": {"type": "string"}}})),
        tool(
            "get_weather",
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}),
        ),
        tool("tide-table_greet", json!({"properties": {"name": {"type": "string"}}, "required": ["name"]})),
        tool("agent_chat-agent", prompt()),
        tool("agent_docs-agent", prompt()),
    ])
}

fn ask(messages: Vec<PromptMessage>) -> Completion {
    Completion { model: "flash".to_owned(), tools: tools(), ..completion(messages) }
}

async fn answer(completion: Completion) -> Vec<Delta> {
    let (deltas, error) = all(&DemoProvider::new(), completion).await;
    assert!(error.is_none(), "{error:?}");
    assert!(matches!(deltas.last(), Some(Delta::End { .. })), "{deltas:?}");
    deltas
}

/// The call made, as `name arguments`; empty when it answers in words.
async fn called(question: &str) -> String {
    let deltas = answer(ask(vec![user(question)])).await;
    let mut call = String::new();
    for delta in &deltas {
        match delta {
            Delta::ToolCall { index: 0, name, .. } => call.push_str(name),
            Delta::ToolArguments { index: 0, fragment } => {
                assert!(serde_json::from_str::<Map<String, Value>>(fragment).is_ok(), "{fragment}");
                call.push(' ');
                call.push_str(fragment);
            }
            Delta::End { reason, .. } => assert_eq!(*reason == StopReason::ToolCalls, !call.is_empty()),
            _ => {}
        }
    }
    call
}

#[tokio::test]
async fn questions_that_match_a_tool_call_it() {
    for (question, expected) in [
        ("What time is it?", "get_time {}"),
        ("what's the time in Asia/Tokyo?", r#"get_time {"zone":"Asia/Tokyo"}"#),
        ("现在几点了？", "get_time {}"),
        ("What is the weather in Berlin today?", r#"get_weather {"city":"Berlin"}"#),
        ("weather in New York, please", r#"get_weather {"city":"New York"}"#),
        ("Weather forecast for São Paulo!", r#"get_weather {"city":"São Paulo"}"#),
        ("今天北京的天气怎么样？", r#"get_weather {"city":"北京"}"#),
        ("你好，上海天气", r#"get_weather {"city":"上海"}"#),
        ("Ask the docs agent what a thread is", r#"agent_docs-agent {"prompt":"Ask the docs agent what a thread is"}"#),
        ("Please research owls", r#"agent_chat-agent {"prompt":"Please research owls"}"#),
        ("写一首诗", r#"agent_chat-agent {"prompt":"写一首诗"}"#),
        ("Use tide-table_greet: Ann", r#"tide-table_greet {"name":"Ann"}"#),
        ("Call `tide-table_greet`", r#"tide-table_greet {"name":"Call `tide-table_greet`"}"#),
        ("What are tide-table_greetings?", ""),
        ("Hello", ""),
        ("What is the weather?", ""),
        ("Sometimes I am timeless", ""),
    ] {
        assert_eq!(called(question).await, expected, "{question}");
    }
}

#[tokio::test]
async fn without_the_tool_it_answers_in_words() {
    let mut completion = ask(vec![user("What time is it?")]);
    completion.tools = Arc::from([]);
    assert!(text(&answer(completion).await).contains("not a language model"));
}

#[tokio::test]
async fn the_choice_of_tools_is_obeyed() {
    let mut completion = ask(vec![user("What time is it?")]);
    completion.settings.tool_choice = Some(ToolChoice::None);
    assert!(text(&answer(completion.clone()).await).contains("script"));
    completion.settings.tool_choice = Some(ToolChoice::Named("get_weather".to_owned()));
    let deltas = answer(completion.clone()).await;
    let fragment = r#"{"city":"What time is it?"}"#.to_owned();
    assert_eq!(deltas[0], Delta::ToolCall { index: 0, id: None, name: "get_weather".to_owned() });
    assert_eq!(deltas[1], Delta::ToolArguments { index: 0, fragment });
    completion.messages = vec![user("hello")];
    completion.settings.tool_choice = Some(ToolChoice::Required);
    assert!(matches!(&answer(completion).await[0], Delta::ToolCall { name, .. } if name == "get_time"));
}

fn after_tool(question: &str, output: Value, is_error: bool) -> Completion {
    let call = ToolCall { id: "c".to_owned(), name: "get_weather".to_owned(), arguments: Map::new(), malformed: None };
    let result =
        ToolResult { call_id: "c".to_owned(), name: "get_weather".to_owned(), output, is_error, duration_ms: 1 };
    ask(vec![
        user(question),
        PromptMessage::Assistant { text: String::new(), reasoning: Vec::new(), calls: vec![call] },
        PromptMessage::Tool(vec![result]),
    ])
}

#[tokio::test]
async fn results_are_answered_in_words_and_never_with_another_call() {
    let result = json!({"city": "Berlin", "temperature": 21.5, "sky": "clear"});
    let deltas = answer(after_tool("weather in Berlin", result, false)).await;
    assert_eq!(text(&deltas), "The tool `get_weather` answered: city: Berlin, temperature: 21.5, sky: clear");
    let deltas = answer(after_tool("weather in Berlin", json!("no network"), true)).await;
    assert_eq!(text(&deltas), "The tool `get_weather` failed, so I cannot answer from it. It said: no network");
    let deltas = answer(after_tool("北京天气", json!("晴"), false)).await;
    assert_eq!(text(&deltas), "工具 `get_weather` 的结果：晴");
    let deltas = answer(after_tool("北京天气", json!("超时"), true)).await;
    assert!(text(&deltas).contains("执行失败"), "{}", text(&deltas));
}

async fn recalled(earlier: &[&str], question: &str) -> String {
    let said = |_: &str| PromptMessage::Assistant { text: "ok".to_owned(), reasoning: Vec::new(), calls: Vec::new() };
    let mut messages = vec![PromptMessage::System("my name is Nobody".to_owned())];
    messages.extend(earlier.iter().flat_map(|line| [user(line), said(line)]));
    messages.push(user(question));
    text(&answer(ask(messages)).await)
}

async fn recalls(earlier: &[&str], question: &str, expected: &str) {
    let answer = recalled(earlier, question).await;
    assert!(answer.contains(expected), "{earlier:?} {question}: {answer}");
}

#[tokio::test]
async fn what_the_context_holds_is_recalled() {
    recalls(&["Hi, my name is Ada and I live in Paris."], "What is my name?", "Your name is Ada:").await;
    recalls(&["Hi, my name is Ada and I live in Paris."], "Where do I live?", "You live in Paris:").await;
    recalls(&["my name is Ada", "Call me Countess!"], "what's my name", "Your name is Countess:").await;
    recalls(&["My name is Ada Lovelace"], "Do you remember my name?", "Your name is Ada Lovelace:").await;
    recalls(&["My name is Ada", "I like owls"], "What did I say before?", "Your name is Ada.").await;
    recalls(&["My name is Ada", "I like owls"], "do you remember what I like", "\n- I like owls").await;
    recalls(&["I like owls"], "What is my name?", "tells me your name").await;
    recalls(&["我叫小明，我住在上海"], "我叫什么？", "您叫小明，").await;
    recalls(&["我叫小明，我住在上海"], "我住在哪里？", "您住在上海，").await;
    recalls(&["我喜欢猫"], "我之前说了什么？", "\n- 我喜欢猫").await;
}

#[tokio::test]
async fn an_empty_context_is_said_plainly() {
    recalls(&[], "What is my name?", "My context holds nothing before this question").await;
    recalls(&[], "Do you remember me?", "My context holds nothing before this question").await;
    recalls(&[], "我叫什么名字？", "我的上下文里没有任何内容").await;
    let many: Vec<String> = (0..30).map(|number| format!("line {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let answer = recalled(&many, "what did I say?").await;
    assert!(answer.contains("\n- line 29") && !answer.contains("\n- line 19"), "{answer}");
}

#[tokio::test]
async fn a_greeting_is_honest_and_says_how_to_set_a_model() {
    for (greeting, honest) in [("Hello", "not a language model"), ("你好", "不是语言模型")] {
        let answer = text(&answer(ask(vec![user(greeting)])).await);
        assert!(answer.contains(honest) && answer.contains("ROSTER_MODEL") && answer.contains(greeting), "{answer}");
    }
    recalls(&[], "My name is Ada", "Noted: Ada.").await;
    assert!(!text(&answer(ask(Vec::new())).await).is_empty());
}

#[tokio::test]
async fn thinking_comes_first_and_only_from_the_model_that_shows_it() {
    let mut completion = ask(vec![user("Hello")]);
    completion.model = "thinking".to_owned();
    let (deltas, _) = all(&DemoProvider::new(), completion).await;
    let first_text = deltas.iter().position(|delta| matches!(delta, Delta::Text(_))).expect("text");
    assert!(first_text > 3 && deltas[..first_text].iter().all(|delta| matches!(delta, Delta::Reasoning(_))));
    assert!(matches!(deltas.last(), Some(Delta::End { usage: Usage { reasoning_tokens: Some(1..), .. }, .. })));
    let deltas = answer(ask(vec![user("Hello")])).await;
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::Reasoning(_))));
}

#[tokio::test]
async fn an_unknown_model_is_refused_naming_the_known_ones() {
    let completion = Completion { model: "ultra".to_owned(), ..ask(vec![user("Hello")]) };
    let (_, error) = all(&DemoProvider::new(), completion).await;
    let error = error.expect("refused");
    assert_eq!(error.kind, ProviderErrorKind::NotFound);
    assert_eq!(error.message, "provider `demo`: there is no model `ultra`; it has `pro`, `flash`, `thinking`");
    for model in MODELS {
        let completion = Completion { model: model.to_owned(), ..ask(vec![user("Hello")]) };
        assert!(DemoProvider::new().complete(completion).await.is_ok(), "{model}");
    }
}

#[tokio::test(start_paused = true)]
async fn pro_takes_its_time_and_says_the_same_as_flash() {
    let time = |model: &'static str| async move {
        let begun = tokio::time::Instant::now();
        let completion = Completion { model: model.to_owned(), ..ask(vec![user("Hello")]) };
        let (deltas, _) = all(&DemoProvider::new(), completion).await;
        (text(&deltas), deltas.len(), begun.elapsed())
    };
    let (fast, _, none) = time("flash").await;
    let (slow, deltas, some) = time("pro").await;
    assert_eq!((fast, none), (slow, Duration::ZERO));
    let words = u32::try_from(deltas - 2).expect("few");
    assert!(some >= PAUSE * words, "{some:?} for {words} words");
}

#[tokio::test]
async fn tokens_are_characters_over_four() {
    let deltas = answer(ask(vec![user("12345678")])).await;
    let characters = text(&deltas).chars().count();
    let Some(Delta::End { usage, model, .. }) = deltas.last() else { panic!("{deltas:?}") };
    assert_eq!((usage.input_tokens, model.as_deref()), (Some(2), Some("flash")));
    assert_eq!(usage.output_tokens, u64::try_from(characters.div_ceil(4)).ok());
}

#[test]
fn pieces_joined_are_the_text() {
    for whole in ["", "one", "one two  three\nfour ", "北京的天气很好。ok 再见", "  \n"] {
        assert_eq!(words::pieces(whole).collect::<String>(), whole);
    }
    assert_eq!(words::pieces("今天天气 ok").collect::<Vec<_>>(), ["今天天", "气 ", "ok"]);
}

fn in_role(role: &str, sections: &str) -> Completion {
    let question =
        format!("You are the {role} in a team. Answer.\n\n## Task\nexplain threads\n{sections}\nGive only that.\n");
    ask(vec![user(&question)])
}

#[tokio::test]
async fn in_an_orchestration_it_plays_its_part() {
    let said = async |completion| text(&answer(completion).await);
    assert!(said(in_role("researcher", "")).await.starts_with("As the researcher, I note the task: explain threads."));
    let draft = said(in_role("writer", "\n## From the researcher\nfacts\n")).await;
    assert!(draft.contains("first draft") && draft.contains("notes: facts") && !draft.contains("Give only"), "{draft}");
    let review = said(in_role("reviewer", "\n## Draft\nsome words\n")).await;
    assert!(review.starts_with("I read 10 characters.") && review.ends_with("VERDICT: revise"), "{review}");
    let again = said(in_role("writer", "\n## From the researcher\nfacts\n\n## Your draft\nsome words\n")).await;
    assert!(again.contains("second draft"), "{again}");
    let together = "These are the answers of those who worked on it:\n\n## From the a\none\n\n## From the b\ntwo\n\nPut them together.";
    assert_eq!(said(ask(vec![user(together)])).await, "What the others found, side by side:\n- a: one\n- b: two");
}

#[tokio::test]
async fn an_answer_of_a_form_is_the_least_document_and_tools_come_first() {
    let said = async |schema: &Value, question: &str| {
        let form = Some(Arc::new(schema.clone()));
        answer(Completion { output_schema: form, ..ask(vec![user(question)]) }).await
    };
    let schema = json!({"type": "object", "required": ["topic", "sum", "who", "tags", "sure", "low", "text", "none"],
        "properties": {
            "topic": {"enum": ["order", "other"]}, "sum": {"type": "integer", "minimum": 3}, "more": {"type": "string"},
            "who": {"$ref": "#/$defs/person"}, "tags": {"type": "array", "minItems": 2, "items": {"type": "string"}},
            "sure": {"type": ["boolean", "null"]}, "low": {"type": "number", "exclusiveMaximum": -1},
            "text": {"anyOf": [{"type": "string", "minLength": 6}, {"type": "null"}]}, "none": {"type": "null"}},
        "$defs": {"person": {"required": ["name"], "properties": {"name": {"type": "string", "maxLength": 2},
            "boss": {"$ref": "#/$defs/person"}}}}});
    let document: Value = serde_json::from_str(&text(&said(&schema, "hello").await)).expect("a document");
    let expected = json!({"topic": "order", "sum": 3, "who": {"name": "de"}, "tags": ["demo", "demo"], "sure": false,
        "low": -2, "text": "demo..", "none": null});
    assert_eq!(document, expected);
    let deltas = said(&schema, "what time is it?").await;
    assert!(
        deltas.iter().any(|delta| matches!(delta, Delta::ToolCall { name, .. } if name == "get_time")),
        "{deltas:?}"
    );
    let endless = json!({"$ref": "#"});
    assert_eq!(text(&said(&endless, "hello").await), "null");
}
