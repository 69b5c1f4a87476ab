use std::sync::Arc;
use std::time::Duration;

use roster_model::embedder::{EmbedError, EmbedErrorKind, Embedder};
use roster_testkit::scripted::{Gate, RecordedRequest, Reply, ScriptedServer, refused_base_url};
use serde_json::{Value, json};

use super::{EmbeddingsConfig, HttpEmbedder, MAX_BYTES, PROBE, assemble};
use crate::config::{Dialect, Key, ProviderConfig};
use crate::tests::{KEY, NotedPace, client};

fn config(base_url: &str) -> EmbeddingsConfig {
    let mut provider = ProviderConfig::new("test", Dialect::OpenAi, base_url);
    provider.key = Key::Value(KEY.to_owned());
    EmbeddingsConfig::new(provider, "m/small")
}

fn embedder_with(base_url: &str, change: impl FnOnce(&mut EmbeddingsConfig)) -> (HttpEmbedder, Arc<NotedPace>) {
    let mut config = config(base_url);
    change(&mut config);
    let pace = Arc::new(NotedPace::default());
    let mut embedder = assemble(config, &client()).expect("embedder");
    embedder.endpoint.pace = Arc::<NotedPace>::clone(&pace);
    (embedder, pace)
}

fn embedder(server: &ScriptedServer) -> HttpEmbedder {
    embedder_with(&server.base_url(), |_| {}).0
}

fn texts<const COUNT: usize>(texts: [&str; COUNT]) -> Vec<String> {
    texts.map(str::to_owned).to_vec()
}

/// What a server that answers this says.
async fn answered(reply: Reply) -> Result<Vec<Vec<f32>>, EmbedError> {
    let server = ScriptedServer::start().await;
    server.always(reply);
    embedder(&server).embed(&texts(["a", "b"])).await
}

async fn failed(reply: Reply) -> EmbedError {
    answered(reply).await.expect_err("failure")
}

fn sizes(requests: &[RecordedRequest]) -> Vec<usize> {
    requests.iter().map(|request| request.inputs().len()).collect()
}

#[tokio::test]
async fn texts_become_vectors_of_length_one_in_order() {
    let server = ScriptedServer::start().await;
    server.push(Reply::embeddings(&[vec![3.0, 4.0], vec![0.0, -2.0]]));
    let embedder = embedder(&server);
    assert_eq!((embedder.space(), embedder.dimensions()), ("test/m/small", 0));
    let vectors = embedder.embed(&texts(["one", "two"])).await.expect("vectors");
    assert_eq!(vectors, [[0.6, 0.8], [0.0, -1.0]]);
    assert_eq!(embedder.dimensions(), 2);
    let request = &server.requests()[0];
    assert_eq!((request.method(), request.path()), ("POST", "/v1/embeddings"));
    assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let expected = json!({"model": "m/small", "input": ["one", "two"], "encoding_format": "float"});
    assert_eq!(request.json(), Some(&expected));
}

#[tokio::test]
async fn a_length_that_is_asked_for_is_part_of_the_space() {
    let server = ScriptedServer::start().await;
    let (embedder, _) = embedder_with(&server.base_url(), |config| config.dimensions = Some(8));
    assert_eq!((embedder.space(), embedder.dimensions()), ("test/m/small/8", 8));
    embedder.embed(&texts(["a"])).await.expect("vectors");
    assert_eq!(server.requests()[0].json().map(|body| &body["dimensions"]), Some(&json!(8)));
    server.always(Reply::embeddings(&[vec![1.0; 4]]));
    let error = embedder.embed(&texts(["a"])).await.expect_err("shorter vectors");
    assert_eq!(error.kind, EmbedErrorKind::BadAnswer);
    assert_eq!(error.to_string(), "provider `test`: its vectors have 4 numbers instead of 8");
}

#[tokio::test]
async fn many_texts_go_in_several_requests() {
    let server = ScriptedServer::start().await;
    let (embedder, _) = embedder_with(&server.base_url(), |config| config.texts_at_once = 3);
    let all = texts(["a", "b", "c", "d", "e", "f", "g"]);
    let vectors = embedder.embed(&all).await.expect("vectors");
    assert_eq!(sizes(&server.requests()), [3, 3, 1]);
    for (text, vector) in all.iter().zip(&vectors) {
        let alone = embedder.embed(std::slice::from_ref(text)).await.expect("vector");
        assert_eq!(alone, std::slice::from_ref(vector), "{text}");
    }
    server.clear_requests();
    assert_eq!(embedder.embed(&[]).await.expect("nothing"), Vec::<Vec<f32>>::new());
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn blank_texts_are_not_sent_and_get_zeros() {
    let server = ScriptedServer::start().await;
    let embedder = embedder(&server);
    let vectors = embedder.embed(&texts(["", " \n"])).await.expect("vectors");
    assert_eq!(vectors, vec![vec![0.0; 8]; 2]);
    assert_eq!(server.requests()[0].inputs(), [PROBE]);
    let vectors = embedder.embed(&texts(["", "x", " "])).await.expect("vectors");
    assert_eq!((&vectors[0], &vectors[2]), (&vec![0.0; 8], &vec![0.0; 8]));
    assert_ne!(vectors[1], vec![0.0; 8]);
    assert_eq!(server.requests()[1].inputs(), ["x"]);
    embedder.embed(&texts([""])).await.expect("vectors");
    assert_eq!(server.requests().len(), 2, "the length was known");
}

#[tokio::test]
async fn failures_that_may_pass_are_tried_again_after_the_wait_asked_for() {
    let server = ScriptedServer::start().await;
    server.push(Reply::error(429, "rate_limit", None, "slow down").header("retry-after", "7"));
    server.push(Reply::error(503, "overloaded", None, "busy").header("retry-after", "0"));
    let (embedder, pace) = embedder_with(&server.base_url(), |_| {});
    embedder.embed(&texts(["a"])).await.expect("vectors");
    assert_eq!(pace.seconds(), [7.125, 0.0]);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_failure_that_stays_is_told_with_its_kind() {
    use EmbedErrorKind as Kind;
    for (status, code, kind) in [
        (500, None, Kind::Unreachable),
        (503, None, Kind::Unreachable),
        (429, None, Kind::Unreachable),
        (429, Some("insufficient_quota"), Kind::Refused),
        (401, None, Kind::Refused),
        (404, Some("model_not_found"), Kind::Refused),
        (400, None, Kind::Refused),
        (400, Some("context_length_exceeded"), Kind::TooLong),
    ] {
        let error = failed(Reply::error(status, "some_type", code, "no, with sk-very-secret-0123456789")).await;
        assert_eq!(error.kind, kind, "{status} {code:?}");
        let message = error.to_string();
        assert!(message.starts_with(&format!("provider `test`: error {status} ")), "{message}");
        assert!(message.ends_with("no, with [secret]"), "{message}");
    }
    let (embedder, pace) = embedder_with(&refused_base_url(), |_| {});
    let error = embedder.embed(&texts(["a"])).await.expect_err("nobody there");
    assert_eq!((error.kind, pace.seconds().len()), (Kind::Unreachable, 2));
}

#[tokio::test]
async fn a_missing_key_is_told_before_anything_is_sent() {
    let server = ScriptedServer::start().await;
    let (embedder, _) = embedder_with(&server.base_url(), |config| {
        config.provider.key = Key::Missing { variable: "SOME_KEY".to_owned() };
    });
    let error = embedder.embed(&texts(["a"])).await.expect_err("no key");
    assert_eq!(error.kind, EmbedErrorKind::KeyMissing);
    assert_eq!(error.to_string(), "provider `test`: the variable `SOME_KEY` that holds the key is not set");
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn answers_that_do_not_fit_are_refused() {
    let item = |index: usize, embedding: Value| json!({"index": index, "embedding": embedding});
    let two = |a: Value, b: Value| json!({"data": [a, b]});
    for (expected, body) in [
        ("1 vectors came for 2 texts", json!({"data": [item(0, json!([1]))]})),
        ("the answer's `index` values are no order", two(item(0, json!([1])), item(0, json!([1])))),
        ("the answer's `index` values are no order", two(item(0, json!([1])), item(2, json!([1])))),
        ("the answer's vectors have different lengths", two(item(0, json!([1])), item(1, json!([1, 2])))),
        ("a vector of the answer is empty", two(item(0, json!([])), item(1, json!([])))),
        ("the answer holds no `data`", json!({"object": "list"})),
        ("the answer cannot be read: ", two(item(0, json!("AAAA")), item(1, json!("AAAA")))),
        ("error: no such model", json!({"error": {"message": "no such model"}})),
    ] {
        let error = failed(Reply::json(200, &body)).await;
        assert!(error.to_string().starts_with(&format!("provider `test`: {expected}")), "{error} for {body}");
        assert!(error.kind.is_transient(), "{error}");
    }
    // Told by us or by the JSON reader, which notices it itself when it is built to read floats exactly.
    let error = failed(Reply::json(200, &two(item(0, json!([1e300])), item(1, json!([1]))))).await;
    assert!(error.to_string().contains("number out of range"), "{error}");
    let error = failed(Reply::raw(200, "<!DOCTYPE html><p>Welcome")).await;
    assert_eq!(error.to_string(), "provider `test`: it answered with a web page; is `base_url` right?");
    assert!(!error.kind.is_transient(), "{error}");
}

#[tokio::test]
async fn vectors_are_put_in_the_order_of_the_texts() {
    let reply = json!({"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]});
    assert_eq!(answered(Reply::json(200, &reply)).await.expect("vectors"), [[1.0, 0.0], [0.0, 1.0]]);
    let reply = json!({"data": [{"embedding": [1.0, 0.0]}, {"embedding": [0.0, 0.0]}]});
    assert_eq!(answered(Reply::json(200, &reply)).await.expect("vectors"), [[1.0, 0.0], [0.0, 0.0]]);
}

#[tokio::test]
async fn a_provider_that_takes_fewer_texts_is_asked_with_fewer() {
    let server = ScriptedServer::start().await;
    server.default_reply(|request| {
        if request.inputs().len() > 10 {
            Reply::error(400, "invalid_request_error", None, "batch size should not be larger than 10")
        } else {
            Reply::embeddings_of(request)
        }
    });
    let embedder = embedder(&server);
    let all: Vec<_> = (0..32).map(|number| format!("text {number}")).collect();
    assert_eq!(embedder.embed(&all).await.expect("vectors").len(), 32);
    assert_eq!(sizes(&server.requests()), [32, 16, 8, 8, 8, 8]);
    server.clear_requests();
    embedder.embed(&all).await.expect("vectors");
    assert_eq!(sizes(&server.requests()), [8, 8, 8, 8], "it is remembered");
}

#[tokio::test]
async fn a_text_that_is_too_long_is_halved_until_it_fits() {
    let server = ScriptedServer::start().await;
    server.default_reply(|request| {
        if request.inputs().iter().any(|text| text.len() > 5000) {
            Reply::error(400, "invalid_request_error", Some("context_length_exceeded"), "too long")
        } else {
            Reply::embeddings_of(request)
        }
    });
    let embedder = embedder(&server);
    let long = "é".repeat(MAX_BYTES);
    let all = [texts(["a", "b"]), vec![long], texts(["c", "d"])].concat();
    let vectors = embedder.embed(&all).await.expect("vectors");
    // 32 KiB, then the halves.
    let cut = "é".repeat(MAX_BYTES / 16);
    assert_eq!(vectors[2], embedder.embed(&[cut]).await.expect("vector")[0]);
    // Halves of the list until the long text stands alone, halves of the text until it fits, then on as usual; the
    // last request is the one above.
    assert_eq!(sizes(&server.requests()), [5, 3, 2, 2, 1, 1, 1, 1, 2, 1]);
    assert_eq!(vectors.len(), 5);
    server.clear_requests();
    embedder.embed(&texts(["a", "b", "c"])).await.expect("vectors");
    assert_eq!(sizes(&server.requests()), [3], "the number was not at fault");
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_given_up() {
    let server = ScriptedServer::start().await;
    let gate = Gate::new();
    server.always(Reply::embeddings(&[vec![1.0]]).hold(&gate));
    let (embedder, pace) = embedder_with(&server.base_url(), |config| {
        config.provider.timeouts.first_token = Duration::from_millis(2);
    });
    let error = embedder.embed(&texts(["a"])).await.expect_err("no answer");
    assert_eq!((error.kind, pace.seconds().len()), (EmbedErrorKind::Unreachable, 2));
    assert!(error.to_string().starts_with("provider `test`: no whole answer came within 0.0 s"), "{error}");
}

#[tokio::test]
async fn bad_addresses_are_told_when_it_is_made() {
    let error = super::build(config("ftp://host"), &client()).err().map(|error| error.to_string());
    assert_eq!(error.as_deref(), Some("base_url of provider `test` is no http or https address: its scheme is `ftp`"));
}
