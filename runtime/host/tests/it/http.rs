//! Asking a runtime over HTTP.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

use crate::roster::Roster;

/// A client; each test has a tokio runtime of its own, and connections belong to one.
fn client() -> Client {
    static PROVIDER: OnceLock<()> = OnceLock::new();
    PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
    Client::builder().no_proxy().timeout(Duration::from_secs(60)).build().expect("client")
}

/// Status and JSON body; `null` for an empty one.
pub async fn ask(method: Method, url: &str, body: Option<&Value>) -> (u16, Value) {
    let mut request = client().request(method, url);
    if let Some(body) = body {
        request = request.json(body);
    }
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    let body = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap_or(Value::String(text)) };
    (status, body)
}

pub async fn get(url: &str) -> (u16, Value) {
    ask(Method::GET, url, None).await
}

pub async fn post(url: &str, body: &Value) -> (u16, Value) {
    ask(Method::POST, url, Some(body)).await
}

/// The frames of one answer of `/api/chat`.
#[derive(Debug)]
pub struct Frames(pub Vec<Value>);

impl Frames {
    fn parse(text: &str) -> Self {
        let frames = text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
        Self(frames.map(|json| serde_json::from_str(json).expect("a JSON frame")).collect())
    }

    pub fn text(&self) -> String {
        self.of("text").filter_map(|frame| frame["content"].as_str()).collect()
    }

    pub fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.0.iter().filter(move |frame| frame["type"] == kind)
    }

    /// The metadata of the `done` frame, which is there once and last.
    pub fn done(&self) -> &Value {
        assert_eq!(self.of("done").count(), 1, "{:?}", self.0);
        let last = self.0.last().expect("frames");
        assert_eq!(last["type"], "done", "{last}");
        &last["metadata"]
    }
}

/// The body of a chat request that asks one thing.
pub fn question(agent: &str, conversation: &str, text: &str) -> Value {
    json!({"model": agent, "conversationId": conversation, "messages": [{"role": "user", "content": text}]})
}

/// Opens a chat and leaves the answer to be read.
pub async fn open_chat(roster: &Roster, body: &Value) -> Response {
    post_open(&roster.gateway, body).await
}

/// The same of a gateway at this address.
pub async fn post_open(gateway: &str, body: &Value) -> Response {
    client().post(format!("{gateway}/api/chat")).json(body).send().await.expect("an answer")
}

/// One turn of a runtime that may die meanwhile; the client leaves after so many pieces of the answer, and when nothing
/// comes any more.
pub async fn chat_or_not(gateway: &str, body: &Value, pieces: usize) {
    let asked = async {
        let mut response = client().post(format!("{gateway}/api/chat")).json(body).send().await?;
        for _ in 0..pieces {
            if response.chunk().await?.is_none() {
                break;
            }
        }
        Ok::<_, reqwest::Error>(())
    };
    let _left_or_lost = tokio::time::timeout(Duration::from_secs(1), asked).await;
}

/// One turn to its end.
pub async fn chat(roster: &Roster, body: &Value) -> Frames {
    let response = open_chat(roster, body).await;
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    assert_eq!(status, 200, "{text}");
    Frames::parse(&text)
}

/// Reads until the answer so far contains `words`.
pub async fn read_until(response: &mut Response, words: &str) -> String {
    let mut text = String::new();
    while !text.contains(words) {
        let piece = response.chunk().await.expect("more").expect("the answer ended early");
        text.push_str(&String::from_utf8_lossy(&piece));
    }
    text
}

/// Reads the rest of an answer.
pub async fn rest(response: Response, before: &str) -> Frames {
    let text = response.text().await.expect("a body");
    Frames::parse(&format!("{before}{text}"))
}

/// The messages of a conversation as the gateway lists them.
pub async fn messages(roster: &Roster, conversation: &str) -> Vec<Value> {
    let (status, body) = get(&format!("{}/api/conversations/{conversation}/messages", roster.gateway)).await;
    assert_eq!(status, 200, "{body}");
    body["messages"].as_array().expect("messages").clone()
}

/// `role: content` of each message.
pub fn lines(messages: &[Value]) -> Vec<String> {
    let line = |message: &Value| {
        format!("{}: {}", message["role"].as_str().expect("role"), message["content"].as_str().expect("content"))
    };
    messages.iter().map(line).collect()
}

/// Machines are busy: a wait that takes longer than this has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits for a condition.
pub async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !condition().await {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What an operator's page says.
pub async fn admin(roster: &Roster, path: &str) -> Value {
    let (status, body) = get(&format!("{}{path}", roster.studio)).await;
    assert_eq!(status, 200, "{body}");
    body
}
