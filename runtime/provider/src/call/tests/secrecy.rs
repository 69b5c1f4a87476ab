//! What a provider repeats of its key and address in failures is not shown, wherever a message is cut.

use roster_model::provider::ProviderErrorKind as Kind;
use roster_testkit::scripted::{Reply, ScriptedServer, refused_base_url};
use serde_json::json;

use super::only;
use crate::tests::{KEY, all, hello, provider_at};

#[tokio::test]
async fn no_message_shows_the_key_or_credentials_of_the_address() {
    let server = ScriptedServer::start().await;
    let base_url = server.base_url().replace("http://", "http://user:pass-word@");
    let (provider, _) = provider_at(&base_url);
    server.push(Reply::error(
        401,
        "invalid_request_error",
        Some("invalid_api_key"),
        &format!("Incorrect key {KEY} of pass-word."),
    ));
    let (_, error) = all(&provider, hello()).await;
    let error = error.expect("refused");
    assert_eq!((error.kind, error.status), (Kind::Auth, Some(401)));
    assert_eq!(error.message, "provider `test`: error 401 invalid_api_key: Incorrect key [secret] of [secret]");
    let refused = refused_base_url().replace("http://", "http://user:pass-word@");
    let (provider, _) = provider_at(&refused);
    let (_, error) = all(&provider, hello()).await;
    let error = error.expect("refused");
    assert!(!format!("{error} {error:?}").contains("pass-word"), "{error:?}");
}

/// Every form in which a provider reports a failure with these words.
fn reports(words: &str) -> Vec<Reply> {
    let error = json!({"error": {"message": words}});
    let begun = r#"data: {"choices":[{"delta":{"content":"a"}}]}"#;
    vec![
        Reply::error(401, "x", None, words),
        Reply::raw(400, words.to_owned()),
        Reply::json(200, &error),
        Reply::raw_sse(format!("data: {error}\n\n")),
        Reply::raw_sse(format!("{begun}\n\ndata: {error}\n\n")),
        Reply::raw_sse(format!("{begun}\n\nevent: error\ndata: {words}\n\n")),
        Reply::json(400, &json!({"error": {"message": "m", "code": format!("{}{words}", "c".repeat(50))}})),
        Reply::json(400, &json!({"error": {"message": "m", "type": words}})),
        Reply::json(400, &json!({"error": {"unknown": [words]}})),
    ]
}

#[tokio::test]
async fn the_cut_of_a_long_message_shows_no_part_of_the_key() {
    for before in (262..=300).step_by(6) {
        for reply in reports(&format!("{}{KEY}", "y".repeat(before))) {
            let label = format!("{before} {reply:?}");
            let error = only(reply).await.1.expect("reported");
            assert!(!error.message.contains("sk-"), "{label}: {error}");
            assert!(error.message.chars().count() <= 320, "{label}: {error}");
        }
    }
    for reply in reports(KEY) {
        let label = format!("{reply:?}");
        let error = only(reply).await.1.expect("reported");
        assert!(!error.message.contains("sk-"), "{label}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_that_breaks_off_in_the_key_does_not_show_its_half() {
    let words = format!("bad key {KEY}");
    let (_, error) = only(Reply::raw(401, words.clone()).cut_after(words.len() - 5)).await;
    assert_eq!(error.expect("refused").message, "provider `test`: error 401: bad key [secret]");
    // The most that is read ends in the key, which only blanks precede.
    let words = format!("{}{KEY} and more", " ".repeat(64 * 1024 - 10));
    let (_, error) = only(Reply::raw(401, words)).await;
    assert!(!error.expect("refused").message.contains("sk-"));
}

#[tokio::test]
async fn values_of_the_addresses_query_are_masked() {
    let server = ScriptedServer::start().await;
    server.always(Reply::error(401, "x", None, "bad code abc/def-123 (abc%2Fdef-123) of some-tenant"));
    let base_url = server.base_url().replace("http://", "http://some-tenant@") + "?code=abc%2Fdef-123";
    let (_, error) = all(&provider_at(&base_url).0, hello()).await;
    assert_eq!(
        error.expect("refused").message,
        "provider `test`: error 401 x: bad code [secret] ([secret]) of [secret]"
    );
}
