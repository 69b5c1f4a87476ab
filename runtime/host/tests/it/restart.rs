//! What is left when a process ends, in every way it can.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};

use crate::http::{chat, lines, messages, open_chat, question, read_until};
use crate::project::Project;
use crate::roster::Roster;

#[tokio::test]
async fn history_survives_a_restart() {
    let project = Project::new().keeper();
    let roster = Roster::serve(&project).await;
    let told = chat(&roster, &question("keeper", "c", "Hello, my name is Ada.")).await;
    assert_eq!(told.done()["finishReason"], "stop");
    assert_eq!(roster.terminate().await.code, Some(0));

    let roster = Roster::serve(&project).await;
    let asked = chat(&roster, &question("keeper", "c", "What is my name?")).await;
    assert!(asked.text().contains("Ada"), "{}", asked.text());
    assert_eq!(messages(&roster, "c").await.len(), 4);
    roster.terminate().await;
}

#[tokio::test]
async fn a_kill_between_turns_loses_nothing() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).keeper();
    let mut expected = Vec::new();
    for n in 0..3 {
        let roster = Roster::serve(&project).await;
        for m in 0..2 {
            let text = format!("turn {n}.{m}");
            chat(&roster, &question("keeper", "c", &text)).await.done();
            expected.push(format!("user: {text}"));
            expected.push(format!("assistant: echo: {text}"));
        }
        roster.kill().await;
    }
    let roster = Roster::serve(&project).await;
    assert_eq!(lines(&messages(&roster, "c").await), expected);
    roster.terminate().await;
}

#[tokio::test]
async fn a_kill_in_mid_answer_keeps_the_question_and_the_next_turn_works() {
    let server = ScriptedServer::builder().strict().start().await;
    let gate = Gate::new();
    server.push(Reply::text("one two three").hold_before(3, &gate));
    let project = Project::scripted(&server).keeper();
    let roster = Roster::serve(&project).await;
    let mut answer = open_chat(&roster, &question("keeper", "c", "count")).await;
    read_until(&mut answer, "two ").await;
    roster.kill().await;
    gate.open();

    let roster = Roster::serve(&project).await;
    let next = chat(&roster, &question("keeper", "c", "again")).await;
    assert_eq!(next.text(), "echo: again");
    assert_eq!(next.done()["finishReason"], "stop");
    let stored = messages(&roster, "c").await;
    assert_eq!(stored[0]["content"], "count");
    let unfinished: Vec<_> = stored.iter().filter(|message| message["status"] == "running").collect();
    assert!(unfinished.is_empty(), "{unfinished:?}");
    assert_eq!(lines(&stored[stored.len() - 2..]), ["user: again", "assistant: echo: again"]);
    roster.terminate().await;
}

/// TO-b2, killed hard while one tool of two is at work.
#[tokio::test]
async fn a_kill_between_a_call_and_its_result_leaves_a_thread_that_works() {
    let server = ScriptedServer::builder().strict().start().await;
    let weather = ScriptedServer::start().await;
    let gate = Gate::new();
    weather.always(Reply::nothing().hold(&gate));
    server.push(Reply::tool_calls([("a", "get_time", "{}"), ("b", "get_weather", r#"{"city":"Oslo"}"#)]));
    let project = Project::scripted(&server).agent("keeper", &with_weather(&weather));
    let roster = Roster::serve(&project).await;
    let answer = open_chat(&roster, &question("keeper", "c", "weather?")).await;
    gate.reached().await;
    roster.kill().await;
    drop(answer);

    let roster = Roster::serve(&project).await;
    let next = chat(&roster, &question("keeper", "c", "hello")).await;
    assert_eq!(next.text(), "echo: hello", "the strict server takes the history");
    let stored = messages(&roster, "c").await;
    assert_eq!(stored[1]["role"], "assistant");
    assert_eq!(stored[1]["status"], "interrupted", "{}", stored[1]);
    let calls = stored[1]["toolCalls"].as_array().expect("the record shows what was called");
    assert_eq!(calls.len(), 2);
    let weather_call = calls.iter().find(|call| call["name"] == "get_weather").expect("there");
    assert!(weather_call.get("result").is_none(), "no made-up success: {weather_call}");
    roster.terminate().await;
}

/// An agent that remembers and asks this weather service.
pub fn with_weather(weather: &ScriptedServer) -> String {
    let url = weather.base_url();
    format!(
        "instructions = \"x\"\nmemory = \"create_memory\"\ntools = [\"get_time\", \"get_weather\"]\n\
         [tool_settings.get_weather]\nbase_url = \"{url}\"\ngeocoding_url = \"{url}\""
    )
}
