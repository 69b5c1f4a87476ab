//! Fixed patterns of agents working together.

use std::sync::Arc;

use roster_engine::turn::{TurnEvent, start};
use roster_model::message::{MessageStatus, Part, Role};
use roster_model::provider::{Completion, PromptMessage, ProviderError, ProviderErrorKind, UserPart};
use roster_model::storage::ConversationStore;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::double::{Say, World, all, calls, key, names, text};

const TEAM: [&str; 3] = [
    "id = \"researcher-agent\"\ninstructions = \"I am researcher.\"\n",
    "id = \"writer-agent\"\ninstructions = \"I am writer.\"\nmemory = \"create_memory\"\n",
    "id = \"reviewer-agent\"\ninstructions = \"I am reviewer.\"\n",
];

fn boss(pattern: &str, more: &str) -> String {
    format!(
        "id = \"boss\"\ninstructions = \"I am boss.\"\nmemory = \"create_memory\"\n[orchestration]\npattern = \"{pattern}\"\n{more}\n\
         stages = [{{ role = \"researcher\", agent = \"researcher-agent\" }}, {{ role = \"writer\", agent = \"writer-agent\" }}, \
         {{ role = \"reviewer\", agent = \"reviewer-agent\" }}]\n"
    )
}

fn world(pattern: &str, more: &str) -> World {
    let boss = boss(pattern, more);
    World::new(&[&boss, TEAM[0], TEAM[1], TEAM[2]])
}

fn who(asked: &Completion) -> String {
    match &asked.messages[0] {
        PromptMessage::System(text) => text.trim_start_matches("I am ").trim_end_matches('.').to_owned(),
        other => panic!("{other:?}"),
    }
}

fn question(asked: &Completion) -> String {
    let words = |message: &PromptMessage| match message {
        PromptMessage::User(parts) => parts.iter().find_map(|part| match part {
            UserPart::Text(text) => Some(text.clone()),
            UserPart::File { .. } => None,
        }),
        _ => None,
    };
    asked.messages.iter().rev().find_map(words).unwrap()
}

async fn run(world: &World) -> Vec<TurnEvent> {
    all(start(&world.services, world.request("boss", "t", &[(Role::User, "explain threads")])).unwrap()).await
}

/// The result of the whole, as the client was given it.
fn result(events: &[TurnEvent]) -> Value {
    let found = events.iter().find_map(|event| match event {
        TurnEvent::ToolFinished(result) if result.name == "orchestrate" => Some(result.output.clone()),
        _ => None,
    });
    found.expect("a result")
}

fn fail() -> Vec<Say> {
    vec![Say::Fail(ProviderError::new(ProviderErrorKind::Server, "the model is down"))]
}

#[tokio::test]
async fn a_pipeline_hands_on_what_was_said_and_revises_once() {
    let world = world("pipeline", "");
    world.model.always(|asked| match who(asked).as_str() {
        "researcher" => text("facts"),
        "writer" if question(asked).contains("## Your draft\ndraft one") => text("draft two"),
        "writer" => text("draft one"),
        _ => text("Too short.\n**Verdict: Revise**"),
    });
    let events = run(&world).await;
    let told = names(&events);
    assert!(told.starts_with("started tool-started:"), "{told}");
    assert!(told.ends_with("text:draft two done:stop"), "{told}");
    let order: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::ToolCalled { name, .. } => Some(format!("+{name}")),
            TurnEvent::ToolFinished(result) => Some(format!("-{}", result.name)),
            _ => None,
        })
        .collect();
    let (r, w, v) = ("agent_researcher-agent", "agent_writer-agent", "agent_reviewer-agent");
    let expected = format!("+orchestrate +{r} -{r} +{w} -{w} +{v} -{v} +{w} -{w} -orchestrate");
    assert_eq!(order.join(" "), expected);

    let told_stages: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::ToolFinished(result) if result.name != "orchestrate" => Some(result.output["meta"].to_string()),
            _ => None,
        })
        .collect();
    let (plain, revise) = ("{\"retried\":false,\"verdict\":null}", "{\"retried\":false,\"verdict\":\"revise\"}");
    assert_eq!(told_stages, [plain, plain, revise, "{\"retried\":true,\"verdict\":null}"], "as they end");

    let result = result(&events);
    assert_eq!((&result["pattern"], &result["task"]), (&json!("pipeline"), &json!("explain threads")));
    assert_eq!(result["finalDraft"], "draft two");
    let stages = result["stages"].as_array().unwrap();
    assert_eq!(stages.len(), 3);
    assert_eq!(stages[1]["meta"], json!({"retried": true, "verdict": null}));
    assert_eq!(stages[2]["meta"], json!({"retried": false, "verdict": "revise"}));
    assert_eq!((&stages[1]["output"], &stages[1]["status"]), (&json!("draft two"), &json!("completed")));
    assert_eq!(stages[1]["usage"], json!({"inputTokens": 14, "outputTokens": 6, "totalTokens": 20}), "both calls");
    assert_eq!((&stages[0]["model"], &stages[0]["agentId"]), (&json!("stub/echo"), &json!("researcher-agent")));
    assert!(
        matches!(events.last(), Some(TurnEvent::Finished { usage, .. }) if usage.total_tokens == Some(40)),
        "{told}"
    );

    let prompts: Vec<_> = world.model.asked.lock().unwrap().iter().map(question).collect();
    assert_eq!(prompts.len(), 4, "the documented number of model calls");
    assert!(prompts[1].contains("## Task\nexplain threads") && prompts[1].contains("## From the researcher\nfacts"));
    assert!(prompts[2].contains("## Draft\ndraft one") && !prompts[2].contains("facts"));
    assert!(prompts[3].contains("## What the reviewer says\nToo short."));
}

#[tokio::test]
async fn an_orchestration_is_on_record_and_never_fed_as_a_call() {
    let world = world("parallel", "");
    world.model.always(|asked| match who(asked).as_str() {
        "boss" => text("together"),
        role => text(&format!("{role} says so")),
    });
    let events = run(&world).await;
    assert!(names(&events).contains("text:together"), "{}", names(&events));
    assert_eq!(result(&events)["finalDraft"], "together");
    let rows = world.store.tail(&key("t"), 10, None).await.unwrap();
    assert_eq!(rows.len(), 2, "nobody writes into the caller's thread");
    let parts = &rows[1].message.parts;
    assert!(
        matches!(&parts[0], Part::ToolCall(call) if call.name == "orchestrate" && call.arguments["pattern"] == "parallel")
    );
    assert!(matches!(&parts[1], Part::ToolResult(result) if result.output["stages"].as_array().unwrap().len() == 3));
    assert_eq!(rows[1].message.text(), "together");

    let synthesis = question(world.model.asked.lock().unwrap().last().unwrap());
    assert!(synthesis.contains("## From the writer\nwriter says so"), "{synthesis}");
    run(&world).await;
    let again = world.model.prompts().pop().unwrap();
    assert!(again.contains("user: explain threads | assistant: together | user: explain threads"), "{again}");
    assert!(!again.contains("orchestrate"), "{again}");
}

#[tokio::test]
async fn a_failed_stage_is_told_plainly_and_the_others_go_on() {
    for pattern in ["pipeline", "parallel"] {
        let world = world(pattern, "");
        world.model.always(|asked| match who(asked).as_str() {
            "researcher" => fail(),
            "reviewer" => text("VERDICT: approve"),
            "boss" => text("together"),
            _ => text("a draft"),
        });
        let events = run(&world).await;
        let result = result(&events);
        assert_eq!(
            (&result["stages"][0]["status"], &result["stages"][1]["status"]),
            (&json!("failed"), &json!("completed"))
        );
        assert_eq!(result["stages"][0]["error"]["code"], "provider_error");
        let told = names(&events);
        let note = "Note: the researcher (`researcher-agent`) gave no answer: the model is down.";
        assert!(told.contains(note) && told.ends_with("done:stop"), "{told}");
        let prompts = world.model.prompts().join("\n");
        assert!(prompts.contains("## From the researcher\n(No answer: the model is down.)"), "{prompts}");
    }
}

#[tokio::test]
async fn without_a_draft_nothing_is_reviewed_and_without_any_answer_the_turn_fails() {
    let world = world("pipeline", "");
    world.model.always(|_| fail());
    let events = run(&world).await;
    assert!(names(&events).ends_with("failed:provider_error"), "{}", names(&events));
    let Some(TurnEvent::Failed(failure)) = events.last() else { panic!("no failure") };
    assert_eq!(failure.message, "no stage gave an answer; the researcher (`researcher-agent`): the model is down");
    assert_eq!(world.model.asked.lock().unwrap().len(), 2, "the reviewer is not asked");
    let rows = world.store.tail(&key("t"), 10, None).await.unwrap();
    assert_eq!(rows[1].message.status, MessageStatus::Failed);
    assert!(world.rows("t").await[1].contains("skipped"), "what the stages did is on record");
}

#[tokio::test(start_paused = true)]
async fn a_stage_that_takes_too_long_is_given_up_and_the_others_go_on() {
    let world = world("parallel", "stage_timeout = \"5s\"");
    world.model.always(|asked| match who(asked).as_str() {
        "writer" => vec![Say::Wait(Arc::new(Notify::new()))],
        _ => text("done"),
    });
    let events = run(&world).await;
    let result = result(&events);
    let writer = &result["stages"][1];
    assert_eq!((&writer["status"], &writer["error"]["code"]), (&json!("failed"), &json!("stage_timeout")));
    assert_eq!(writer["error"]["message"], "it took longer than 5 s");
    assert!(names(&events).ends_with("done:stop"), "{}", names(&events));
}

#[tokio::test]
async fn a_model_that_delegates_has_its_calls_listed() {
    let world = world("delegate", "");
    world.model.always(|asked| match (who(asked).as_str(), asked.messages.last()) {
        ("boss", Some(PromptMessage::Tool(_))) => text("here it is"),
        ("boss", _) => calls(&[("", "agent_writer-agent", "{\"prompt\":\"write\"}")]),
        _ => text("a draft"),
    });
    let events = run(&world).await;
    let result = result(&events);
    assert_eq!(result["stages"].as_array().unwrap().len(), 1);
    assert_eq!((&result["stages"][0]["role"], &result["finalDraft"]), (&json!("writer"), &json!("here it is")));
    assert!(matches!(events.last(), Some(TurnEvent::Finished { usage, .. }) if usage.total_tokens == Some(30)));
    let offered = world.registry.snapshot().serving().next().unwrap().tools.offered();
    assert_eq!(offered.len(), 3, "each stage is offered");
    assert!(offered[1].description.contains("(writer)"), "{}", offered[1].description);
}

#[tokio::test]
async fn cancelling_the_root_stops_every_stage_and_frees_its_thread() {
    let world = world("parallel", "");
    let (began, mut seen) = tokio::sync::mpsc::unbounded_channel();
    world.model.always(move |_| {
        began.send(()).unwrap();
        vec![Say::Delta(roster_model::provider::Delta::Text("half".into())), Say::Wait(Arc::new(Notify::new()))]
    });
    let turn = start(&world.services, world.request("boss", "t", &[(Role::User, "go")])).unwrap();
    for _ in 0..3 {
        seen.recv().await.unwrap();
    }
    drop(turn);
    world.settled().await;
    assert_eq!(world.model.cut.load(std::sync::atomic::Ordering::SeqCst), 3, "all three streams were dropped");
    assert_eq!(world.model.asked.lock().unwrap().len(), 3, "nobody is asked any more");
    world.model.always(|_| text("ok"));
    assert!(names(&run(&world).await).ends_with("done:stop"), "the thread is free");
    let rows = world.rows("t").await;
    assert!(rows[1].starts_with("assistant(interrupted): [orchestrate"), "{rows:?}");
}
