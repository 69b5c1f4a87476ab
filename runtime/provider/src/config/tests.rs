use roster_model::provider::{Completion, ProviderErrorKind};
use roster_testkit::scripted::ScriptedServer;

use super::*;
use crate::tests::{client, hello};

fn config(base_url: &str, key: Key) -> ProviderConfig {
    ProviderConfig { key, ..ProviderConfig::new("acme", Dialect::OpenAi, base_url) }
}

fn value(key: &str) -> Key {
    Key::Value(key.to_owned())
}

fn refused(base_url: &str, key: Key) -> String {
    match build(config(base_url, key), &client()) {
        Ok(_) => panic!("{base_url} was taken"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn bad_addresses_and_keys_are_named_and_never_shown() {
    for bad in ["", "no address", "ftp://example.com", "file:///etc/passwd", "http://user:hush@", "/v1"] {
        let message = refused(bad, Key::None);
        assert!(message.contains("`acme`") && !message.contains("hush"), "{bad}: {message}");
    }
    let message = refused("http://127.0.0.1:1/v1", value("sk-a\nb"));
    assert!(message.contains("key of provider `acme`") && !message.contains("sk-a"), "{message}");
}

#[test]
fn debug_never_shows_the_key() {
    let shown = format!("{:?}", config("http://me:pass-word@127.0.0.1:1/?code=in-query", value("sk-hidden")));
    assert!(
        !shown.contains("sk-hidden")
            && !shown.contains("pass-word")
            && !shown.contains("in-query")
            && shown.contains("127.0.0.1")
            && shown.contains("Value(…)"),
        "{shown}"
    );
    let shown = format!("{:?}", Key::Missing { variable: "ACME_KEY".to_owned() });
    assert!(shown.contains("ACME_KEY"), "{shown}");
}

#[test]
fn the_path_is_put_after_the_address() {
    for (base, expected) in [
        ("https://a.example/v1", "https://a.example/v1/chat/completions"),
        ("https://a.example/v1/", "https://a.example/v1/chat/completions"),
        ("https://a.example", "https://a.example/chat/completions"),
        ("https://a.example/d?api-version=1#x", "https://a.example/d/chat/completions?api-version=1"),
    ] {
        let base = Url::parse(base).expect("url");
        assert_eq!(Dialect::OpenAi.wire(true).url(&base, "m").as_str(), expected);
    }
}

async fn refusal(provider: &dyn Provider, completion: Completion) -> roster_model::provider::ProviderError {
    match provider.complete(completion).await {
        Ok(_) => panic!("an answer came"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_missing_key_names_its_variable_and_asks_nobody() {
    let server = ScriptedServer::start().await;
    let key = Key::Missing { variable: "ACME_KEY".to_owned() };
    let provider = build(config(&server.base_url(), key), &client()).expect("provider");
    assert_eq!(provider.name(), "acme");
    let error = refusal(&*provider, hello()).await;
    assert_eq!(error.kind, ProviderErrorKind::KeyMissing);
    assert_eq!(error.message, "provider `acme`: the variable `ACME_KEY` that holds the key is not set");
    assert_eq!(provider.ready().expect_err("not ready").kind, ProviderErrorKind::KeyMissing);
    assert!(server.requests().is_empty());
}
