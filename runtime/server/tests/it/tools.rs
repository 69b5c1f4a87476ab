//! Tools that a request brings.

use roster_model::message::MessageStatus;
use serde_json::{Value, json};

use crate::double::{Say, call, end, stop, words};
use crate::world::World;
use roster_model::provider::{Delta, StopReason};

const PATH: &str = "/v1/chat/completions";

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "look_up", "description": "Looks up.",
        "parameters": {"type": "object", "properties": {"key": {"type": "string"}}}}}])
}

fn body(model: &str, conversation: Option<&str>, messages: impl Into<Value>) -> Value {
    let messages = messages.into();
    let mut body = json!({"model": model, "messages": messages, "tools": tools()});
    if let Some(conversation) = conversation {
        body["conversation_id"] = conversation.into();
        body["resource"] = "shop".into();
    }
    body
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// The model's answer and the result of its call, as clients send them back.
fn answered(answer: &Value, result: &str) -> [Value; 2] {
    let message = answer["choices"][0]["message"].clone();
    let id = message["tool_calls"][0]["id"].clone();
    [message, json!({"role": "tool", "tool_call_id": id, "content": result})]
}

#[tokio::test]
async fn a_call_goes_out_and_its_result_comes_with_the_history() {
    let world = World::new();
    world.model.say(call("look_up", r#"{"key": "k"}"#));
    let first = world.post(PATH, &body("echo", None, json!([user("find k")]))).await.json();
    let choice = &first["choices"][0];
    assert_eq!((&choice["finish_reason"], &choice["message"]["content"]), (&json!("tool_calls"), &Value::Null));
    let called = &choice["message"]["tool_calls"][0];
    assert_eq!((&called["type"], &called["function"]["name"]), (&json!("function"), &json!("look_up")));
    assert_eq!(called["function"]["arguments"], r#"{"key": "k"}"#);
    assert_eq!(world.model.asked()[0].tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(), ["look_up"]);
    world.model.say([words("it is 7"), stop()]);
    let [message, result] = answered(&first, "7");
    let second = world.post(PATH, &body("echo", None, json!([user("find k"), message, result]))).await.json();
    assert_eq!(second["choices"][0]["message"]["content"], "it is 7");
    assert!(world.model.prompt().ends_with("tool: \"7\""), "{}", world.model.prompt());
}

#[tokio::test]
async fn a_kept_conversation_waits_for_the_result_and_goes_on_in_the_same_message() {
    let world = World::new();
    world.model.say(call("look_up", r#"{"key": "k"}"#));
    let first = world.post(PATH, &body("clerk", Some("c"), json!([user("find k")]))).await.json();
    let rows = world.rows("shop", "c").await;
    assert_eq!((rows.len(), rows[1].message.status), (2, MessageStatus::Awaiting));
    let [message, result] = answered(&first, "7");
    let mut wrong = result.clone();
    wrong["tool_call_id"] = "call_other".into();
    let mut other = message.clone();
    other["tool_calls"][0]["id"] = "call_other".into();
    let refused = world.post(PATH, &body("clerk", Some("c"), json!([other, wrong]))).await;
    assert_eq!(refused.openai_error().0, 400);
    world.model.say([words("it is 7"), stop()]);
    let list = json!([user("find k"), message, result]);
    let second = world.post(PATH, &body("clerk", Some("c"), list.clone())).await.json();
    assert_eq!(second["choices"][0]["message"]["content"], "it is 7");
    let rows = world.rows("shop", "c").await;
    assert_eq!((rows.len(), rows[1].message.status), (2, MessageStatus::Complete));
    assert_eq!(rows[1].message.parts.len(), 3, "{rows:?}");
    assert!(world.model.prompt().ends_with("tool: \"7\""), "{}", world.model.prompt());
    let again = world.post(PATH, &body("clerk", Some("c"), list)).await;
    assert_eq!(again.openai_error(), (409, "results_not_awaited".into(), None));
}

#[tokio::test]
async fn results_go_to_the_agent_that_asked_for_them() {
    let world = World::new();
    world.model.say(call("look_up", "{}"));
    let first = world.post(PATH, &body("clerk", Some("c"), json!([user("find")]))).await.json();
    let wrong = world.post(PATH, &body("keeper", Some("c"), json!(answered(&first, "1")))).await;
    assert_eq!(wrong.openai_error(), (409, "results_not_awaited".into(), Some("model".into())));
    assert!(wrong.text.contains("with agent `clerk`"), "{}", wrong.text);
    assert_eq!(world.rows("shop", "c").await[1].message.status, MessageStatus::Awaiting, "it waits on");
    world.model.say([words("it is 1"), stop()]);
    let right = world.post(PATH, &body("clerk", Some("c"), json!(answered(&first, "1")))).await.json();
    assert_eq!(right["choices"][0]["message"]["content"], "it is 1");
}

#[tokio::test]
async fn the_result_may_come_without_its_question_and_a_new_question_goes_first() {
    let world = World::new();
    world.model.say(call("look_up", "{}"));
    let first = world.post(PATH, &body("clerk", Some("c"), json!([user("find")]))).await.json();
    world.model.say(call("look_up", "{}"));
    let second = world.post(PATH, &body("clerk", Some("c"), json!(answered(&first, "1")))).await.json();
    assert_eq!(second["choices"][0]["finish_reason"], "tool_calls");
    world.post(PATH, &body("clerk", Some("c"), json!([user("never mind")]))).await.json();
    let rows = world.rows("shop", "c").await;
    assert_eq!((rows.len(), rows[1].message.status), (4, MessageStatus::Interrupted));
    assert!(world.model.prompt().contains("without a result"), "{}", world.model.prompt());
}

#[tokio::test]
async fn the_agents_own_calls_run_and_the_clients_go_out_in_the_stream() {
    let world = World::new();
    world.model.say([
        Say::Delta(Delta::ToolCall { index: 0, id: Some("call_a_long_enough_id".into()), name: "add".into() }),
        Say::Delta(Delta::ToolArguments { index: 0, fragment: r#"{"a": 2, "b": 3}"#.into() }),
        Say::Delta(Delta::ToolCall { index: 1, id: None, name: "look_up".into() }),
        end(StopReason::ToolCalls),
    ]);
    let mut asked = body("clerk", Some("c"), json!([user("both")]));
    asked["stream"] = true.into();
    let frames = world.post(PATH, &asked).await.frames();
    let pieces: Vec<&Value> = frames
        .iter()
        .map(|frame| &frame["choices"][0]["delta"]["tool_calls"][0])
        .filter(|piece| piece.is_object())
        .collect();
    assert_eq!(pieces.len(), 2, "{frames:?}");
    assert_eq!((&pieces[0]["index"], &pieces[0]["function"]["name"]), (&json!(0), &json!("look_up")));
    assert_eq!(pieces[1]["function"], json!({"arguments": "{}"}));
    let last = &frames[frames.len() - 2]["choices"][0];
    assert_eq!(last["finish_reason"], "tool_calls");
    let chat = json!({"model": "clerk", "conversationId": "d", "tools": tools(),
        "messages": [{"role": "user", "content": "find"}]});
    world.model.say(call("look_up", "{}"));
    let frames = world.post("/api/chat", &chat).await.frames();
    assert_eq!((&frames[0]["type"], &frames[0]["metadata"]["client"]), (&json!("tool_call"), &json!(true)));
    assert_eq!(frames[1]["metadata"]["finishReason"], "tool-calls");
    let id = &frames[0]["metadata"]["id"];
    let back = json!({"model": "clerk", "conversationId": "d", "tools": tools(), "messages": [
        {"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": {"name": "look_up", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": id, "content": "7"}]});
    let frames = world.post("/api/chat", &back).await.frames();
    assert_eq!(frames.last().expect("done")["metadata"]["finishReason"], "stop");
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_refused() {
    let world = World::new();
    for (tools, at) in [
        (json!([{"type": "function", "function": {"name": "add"}}]), "tools.0"),
        (
            json!([{"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "a"}}]),
            "tools.1",
        ),
        (json!([{"type": "function", "function": {"name": "a b"}}]), "tools.0"),
        (json!([{"type": "function", "function": {"name": "orchestrate"}}]), "tools.0"),
        (json!([{"type": "web_search"}]), "tools.0"),
    ] {
        let body = json!({"model": "clerk", "messages": [user("x")], "tools": tools});
        let answer = world.post(PATH, &body).await;
        assert_eq!(answer.openai_error(), (400, "invalid_request".into(), Some(at.into())), "{tools}");
    }
    let body = json!({"model": "clerk", "messages": [user("x")], "tools": tools(),
        "tool_choice": {"type": "function", "function": {"name": "nobody"}}});
    assert_eq!(world.post(PATH, &body).await.openai_error().1, "unsupported_parameter");
    assert!(world.model.asked().is_empty());
}
