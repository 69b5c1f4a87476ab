use super::*;
use roster_testkit::scripted::{Reply, ScriptedServer};

fn question(conversation: Option<&str>) -> Question<'_> {
    Question { model: "clerk", text: "how \"heavy\"?", owner: None, conversation }
}

#[test]
fn bodies_are_what_the_doors_take() {
    let check = |door: Door, conversation, expected: &str| {
        assert_eq!(door.body(question(conversation)), expected);
    };
    let messages = r#""messages":[{"role":"user","content":"how \"heavy\"?"}]"#;
    check(Door::Whole, None, &format!(r#"{{"model":"clerk",{messages}}}"#));
    check(Door::Stream, None, &format!(r#"{{"model":"clerk",{messages},"stream":true}}"#));
    check(Door::Chat, None, &format!(r#"{{"model":"clerk",{messages}}}"#));
    check(Door::Chat, Some("c1"), &format!(r#"{{"model":"clerk",{messages},"conversationId":"c1"}}"#));
}

async fn ask(door: Door, reply: Reply) -> anyhow::Result<Timing> {
    let server = ScriptedServer::start().await;
    server.push(reply);
    let mut connection = Connection::open(server.address()).await?;
    door.ask(&mut connection, door.body(question(None))).await
}

async fn check_fails(door: Door, reply: Reply, words: &str) {
    let fault = ask(door, reply).await.expect_err("no good answer");
    assert!(format!("{fault:#}").contains(words), "{fault:#}");
}

#[tokio::test]
async fn good_answers_are_timed() {
    for door in [Door::Whole, Door::Stream] {
        let timing = ask(door, Reply::text("It weighs three kilograms.")).await.expect("a good answer");
        assert!(timing.first > Duration::ZERO && timing.first <= timing.total);
    }
}

#[tokio::test]
async fn one_connection_serves_many_questions() {
    let server = ScriptedServer::start().await;
    let mut connection = Connection::open(server.address()).await.expect("it listens");
    for door in [Door::Whole, Door::Stream, Door::Whole] {
        door.ask(&mut connection, door.body(question(None))).await.expect("a good answer");
    }
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn bad_answers_fail_the_measurement() {
    check_fails(Door::Whole, Reply::text(""), "holds no text").await;
    check_fails(Door::Stream, Reply::text(""), "holds no text").await;
    check_fails(Door::Whole, Reply::text("cut").finish("length"), "does not end with `stop`").await;
    check_fails(Door::Stream, Reply::text("cut").finish("length"), "ends with `length` instead of `stop`").await;
    check_fails(Door::Stream, Reply::text("no mark").without_done(), "has no end").await;
    check_fails(Door::Stream, Reply::text("cut within").end_after(40), "within an event").await;
    check_fails(Door::Whole, Reply::error(503, "overloaded", None, "too busy"), "503").await;
}

fn read_chat(frames: &[&str]) -> anyhow::Result<()> {
    let mut reading = Reading::default();
    frames.iter().try_for_each(|frame| reading.chat(frame.as_bytes()))?;
    ensure!(reading.has_text, "no text");
    reading.check()
}

const TEXT: &str = r#"{"type":"text","content":"It \"weighs\" 3 kg"}"#;
const DONE: &str = r#"{"type":"done","content":"","metadata":{"conversationId":"c","finishReason":"stop","usage":{}}}"#;

#[test]
fn a_chat_turn_ends_with_exactly_one_done() {
    let check = |frames: &[&str], words: Option<&str>| match (read_chat(frames), words) {
        (Ok(()), None) => {}
        (Err(fault), Some(words)) => assert!(format!("{fault:#}").contains(words), "{fault:#}"),
        (done, _) => panic!("{frames:?}: {done:?}"),
    };
    check(&[TEXT, DONE], None);
    check(&[r#"{"type":"thinking","content":"hm"}"#, TEXT, TEXT, DONE], None);
    check(&[DONE], Some("no text"));
    check(&[TEXT], Some("no end"));
    check(&[TEXT, DONE, DONE], Some("follows the `done` frame"));
    check(&[TEXT, r#"{"type":"error","content":"disk full"}"#, DONE], Some("disk full"));
    check(&[TEXT, r#"{"type":"done","metadata":{"finishReason":"error"}}"#], Some("`error` instead of `stop`"));
    check(&["text"], Some("failed to read a frame"));
}
