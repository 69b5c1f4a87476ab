use super::*;
use crate::client::Connection;
use serde_json::json;

async fn ask(witness: &Witness, system: &str, words: &str) {
    let mut connection = Connection::open(witness.server().address()).await.expect("it listens");
    let messages = json!([{"role": "system", "content": system}, {"role": "user", "content": words}]);
    let body = json!({"model": "x", "messages": messages}).to_string();
    connection.post("/v1/chat/completions", body.into()).await.expect("it answers");
}

#[test]
fn a_version_is_known_by_its_whole_text_only() {
    let text = instructions(17);
    assert_eq!(version_of(&text), Some(17));
    for torn in
        ["", &text[..text.len() - 1], &text.replace("Version 17, line 9", "Version 16, line 9"), &(text.clone() + "x")]
    {
        assert_eq!(version_of(torn), None, "{torn}");
    }
}

#[test]
fn definitions_differ_in_text_and_sometimes_in_memory() {
    let memory = |number| definition(number).split_once("[memory]").expect("a section").1.to_owned();
    assert!(definition(3).contains(&instructions(3)));
    assert_eq!(memory(0), memory(6));
    let changes = (1..=50).filter(|number| memory(*number) != memory(number - 1)).count();
    assert_eq!(u64::try_from(changes).expect("few"), memory_changes(50));
}

#[tokio::test]
async fn the_first_answer_of_a_version_is_told() {
    let witness = Witness::start().await;
    let begun = Instant::now();
    ask(&witness, &instructions(0), &question(1)).await;
    assert_eq!(witness.answered(1, begun), Some(0));
    assert_eq!(witness.answered(1, begun), None, "answered already");
    witness.begin(2);
    ask(&witness, &instructions(2), &question(2)).await;
    let at = Instant::now();
    assert_eq!(witness.answered(2, at), Some(2));
    for number in [0, 1, 2] {
        assert_eq!(witness.first_answer(number, Duration::from_secs(9)).await.expect("answered"), at);
    }
    let fault = witness.first_answer(3, Duration::ZERO).await.expect_err("not saved");
    assert!(format!("{fault:#}").contains("no answer from version 3"), "{fault:#}");
    assert_eq!(witness.torn(), (0, None));
}

#[tokio::test]
async fn what_never_was_whole_is_counted() {
    let witness = Witness::start().await;
    let half = &instructions(0)[..40];
    ask(&witness, half, &question(1)).await;
    ask(&witness, &instructions(1), &question(2)).await;
    ask(&witness, "Somebody else's.", "Hello").await;
    assert_eq!(witness.torn(), (2, Some(half.to_owned())), "a half one, and one not saved yet");
}
