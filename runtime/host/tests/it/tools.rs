//! Tool calls as models really write them.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};
use serde_json::{Value, json};

use crate::http::{Frames, chat, messages, question};
use crate::project::Project;
use crate::restart::with_weather;
use crate::roster::Roster;

/// TO-f2.
#[tokio::test]
async fn broken_arguments_run_nothing_and_are_told_to_the_model() {
    let server = ScriptedServer::builder().strict().start().await;
    let weather = ScriptedServer::start().await;
    let project = Project::scripted(&server).agent("keeper", &with_weather(&weather));
    let roster = Roster::serve(&project).await;
    let cases = [
        ("get_time", "", true),
        ("get_time", "  ", true),
        ("get_time", "{}", true),
        ("get_weather", "", false),
        ("get_weather", r#"{"city": "Oslo""#, false),
        ("get_weather", r#"{"city":"Oslo"}{"city":"Rome"}"#, false),
        ("get_weather", "null", false),
        ("get_weather", "[]", false),
        ("get_weather", r#""Oslo""#, false),
        ("get_weather", "5", false),
        ("get_weather", r#"{"city":5}"#, false),
    ];
    for (at, (tool, arguments, runs)) in cases.into_iter().enumerate() {
        let thread = format!("c{at}");
        server.clear_requests();
        server.push(Reply::tool_calls([("call", tool, arguments)]));
        let frames = chat(&roster, &question("keeper", &thread, "go")).await;
        assert_eq!(frames.done()["finishReason"], "stop", "{arguments:?}");
        let result = &frames.of("tool_result").next().expect("a result")["metadata"];
        assert_eq!(result.get("error").is_none(), runs, "{arguments:?}: {result}");
        let told = server.requests()[1].messages().last().expect("messages").clone();
        assert_eq!(told["role"], "tool", "{told}");
        let again = chat(&roster, &question("keeper", &thread, "and now?")).await;
        assert_eq!(again.text(), "echo: and now?", "{arguments:?} replays: the strict server takes it");
    }
    assert_eq!(weather.requests().len(), 0, "nothing ran on broken arguments");
    roster.terminate().await;
}

/// Three calls, each in a frame of its own and all with index 0.
fn melted(ids: [Option<&str>; 3]) -> Reply {
    let mut stream = String::new();
    for (id, city) in ids.into_iter().zip(["One", "Two", "Three"]) {
        let mut call = json!({"index": 0, "type": "function",
            "function": {"name": "get_weather", "arguments": json!({"city": city}).to_string()}});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        stream.push_str(&frame(&json!({"tool_calls": [call]}), None));
    }
    stream.push_str(&frame(&json!({}), Some("tool_calls")));
    stream.push_str("data: [DONE]\n\n");
    Reply::raw_sse(stream)
}

fn frame(delta: &Value, finish: Option<&str>) -> String {
    let chunk = json!({"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    format!("data: {chunk}\n\n")
}

/// Call id → city asked for, and result id → what came back.
fn pairs(frames: &Frames) -> Vec<(String, String, String)> {
    let calls: Vec<&Value> = frames.of("tool_call").map(|frame| &frame["metadata"]).collect();
    let one = |call: &&Value| {
        let id = call["id"].as_str().expect("an id");
        let result = frames.of("tool_result").find(|frame| frame["metadata"]["id"] == id).expect("its result");
        (
            id.to_owned(),
            call["arguments"]["city"].as_str().expect("a city").to_owned(),
            result["metadata"]["error"].to_string(),
        )
    };
    calls.iter().map(one).collect()
}

/// TO-f3.
#[tokio::test]
async fn three_calls_stay_three_and_keep_their_results() {
    let server = ScriptedServer::builder().strict().start().await;
    let weather = ScriptedServer::start().await;
    let (first, second) = (Gate::new(), Gate::new());
    // They finish in the order three, one, two.
    let gates = [("One", first.clone()), ("Two", second.clone())];
    weather.default_reply(move |request| {
        let held = gates.iter().find(|(city, _)| request.path().contains(*city));
        let reply = Reply::json(200, &json!({}));
        held.map_or(reply.clone(), |(_, gate)| reply.hold(gate))
    });
    let project = Project::scripted(&server).agent("keeper", &with_weather(&weather));
    let roster = Roster::serve(&project).await;
    let mut seen = Vec::new();
    for (turn, ids) in [[Some("a"), Some("b"), Some("c")], [None, None, None], [Some("a"), Some("b"), Some("c")]]
        .into_iter()
        .enumerate()
    {
        server.push(melted(ids));
        let body = question("keeper", "c", &format!("turn {turn}"));
        let (frames, ()) = tokio::join!(chat(&roster, &body), async {
            if turn == 0 {
                weather.wait_for_requests(3).await;
                first.open();
                second.open();
            }
        });
        let pairs = pairs(&frames);
        assert_eq!(pairs.iter().map(|(_, city, _)| city.as_str()).collect::<Vec<_>>(), ["One", "Two", "Three"]);
        for (id, city, told) in pairs {
            assert!(told.contains(&city), "{id}: {told}");
            assert!(!seen.contains(&id), "{id} was given before");
            seen.push(id);
        }
        assert_eq!(frames.text(), format!("echo: turn {turn}"));
    }
    assert_eq!(seen.len(), 9);
    let stored = messages(&roster, "c").await;
    assert_eq!(stored[1]["toolCalls"].as_array().map(Vec::len), Some(3));
    roster.terminate().await;
}
