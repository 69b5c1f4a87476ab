//! The doors that are asked, and what a good answer of each looks like. An answer that is not good is a failure of the
//! whole measurement, never a fast turn.

use std::borrow::Cow;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;
use tokio::time::Instant;

use crate::client::Connection;
use crate::sse::SseReader;

/// A way to ask. The first two are spoken by the model server as well, which makes it the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// `POST /v1/chat/completions`, one body.
    Whole,
    /// `POST /v1/chat/completions`, streamed.
    Stream,
    /// `POST /api/chat`.
    Chat,
}

/// How long an answer took, from before the request was written.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Until the first piece of the answer's text; of [`Door::Whole`] the same as `total`.
    pub first: Duration,
    /// Until the body's end.
    pub total: Duration,
}

/// One question.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// The agent's id, or the model's name at the model server.
    pub model: &'a str,
    /// What is asked.
    pub text: &'a str,
    /// [`Door::Chat`] only: whose conversation it is; `None` for the agent's default.
    pub owner: Option<&'a str>,
    /// [`Door::Chat`] only: the conversation it belongs to; `None` for a fresh one.
    pub conversation: Option<&'a str>,
}

impl Door {
    /// Where it is.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Whole | Self::Stream => "/v1/chat/completions",
            Self::Chat => "/api/chat",
        }
    }

    /// The request's body.
    #[must_use]
    pub fn body(self, question: Question<'_>) -> Bytes {
        let mut body = json!({"model": question.model, "messages": [{"role": "user", "content": question.text}]});
        if self == Self::Stream {
            body["stream"] = json!(true);
        }
        if self == Self::Chat {
            let named = [("resource", question.owner), ("conversationId", question.conversation)];
            named
                .into_iter()
                .filter_map(|(key, name)| Some((key, name?)))
                .for_each(|(key, name)| body[key] = json!(name));
        }
        Bytes::from(body.to_string())
    }

    /// Asks and reads the answer to its end.
    ///
    /// # Errors
    /// When the connection breaks or the answer is not a good one: another status than 200, an error in it, no text,
    /// no end, or another end than `stop`.
    pub async fn ask(self, connection: &mut Connection, body: Bytes) -> anyhow::Result<Timing> {
        let begun = Instant::now();
        let response = connection.post(self.path(), body).await?;
        if self == Self::Whole {
            let body = response.into_body().collect().await?.to_bytes();
            let total = begun.elapsed();
            check_whole(&body)?;
            return Ok(Timing { first: total, total });
        }
        let (first, end) = read_events(self, response, begun).await?;
        end.check()?;
        let first = first.context("the answer holds no text")?;
        Ok(Timing { first, total: begun.elapsed() })
    }
}

async fn read_events(
    door: Door,
    response: Response<Incoming>,
    begun: Instant,
) -> anyhow::Result<(Option<Duration>, Reading)> {
    let mut body = response.into_body();
    let mut reader = SseReader::default();
    let mut reading = Reading::default();
    let mut first = None;
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        reader.push(&piece, |data| if door == Door::Chat { reading.chat(data) } else { reading.chunk(data) })?;
        if first.is_none() && reading.has_text {
            first = Some(begun.elapsed());
        }
    }
    ensure!(!reader.is_in_event(), "the stream ends within an event");
    Ok((first, reading))
}

/// What was seen of a streamed answer.
#[derive(Debug, Default)]
struct Reading {
    has_text: bool,
    finish: Option<String>,
    ended: bool,
}

#[derive(Deserialize)]
struct ChatEvent<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    content: Cow<'a, str>,
    metadata: Option<Done>,
}

#[derive(Deserialize)]
struct Done {
    #[serde(rename = "finishReason")]
    finish: Option<String>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Option<Words>,
    message: Option<Words>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Words {
    content: Option<String>,
}

impl Words {
    fn any(words: Option<&Self>) -> bool {
        words.and_then(|words| words.content.as_deref()).is_some_and(|text| !text.is_empty())
    }
}

impl Reading {
    fn chat(&mut self, data: &[u8]) -> anyhow::Result<()> {
        ensure!(!self.ended, "something follows the `done` frame");
        let event: ChatEvent<'_> = serde_json::from_slice(data).context("failed to read a frame")?;
        match event.kind.as_ref() {
            "text" => self.has_text |= !event.content.is_empty(),
            "error" => bail!("the turn failed: {}", event.content),
            "done" => {
                self.ended = true;
                self.finish = event.metadata.and_then(|done| done.finish);
            }
            _ => {}
        }
        Ok(())
    }

    fn chunk(&mut self, data: &[u8]) -> anyhow::Result<()> {
        ensure!(!self.ended, "something follows the done mark");
        if data == b"[DONE]" {
            self.ended = true;
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(data).context("failed to read a chunk")?;
        for choice in chunk.choices {
            self.has_text |= Words::any(choice.delta.as_ref());
            self.finish = choice.finish_reason.or(self.finish.take());
        }
        Ok(())
    }

    fn check(&self) -> anyhow::Result<()> {
        ensure!(self.ended, "the stream has no end");
        let finish = self.finish.as_deref().unwrap_or("nothing");
        ensure!(finish == "stop", "the answer ends with `{finish}` instead of `stop`");
        Ok(())
    }
}

fn check_whole(body: &[u8]) -> anyhow::Result<()> {
    let answer: Chunk = serde_json::from_slice(body).context("failed to read the answer")?;
    let choice = answer.choices.first().context("the answer has no choice")?;
    ensure!(Words::any(choice.message.as_ref()), "the answer holds no text");
    ensure!(choice.finish_reason.as_deref() == Some("stop"), "the answer does not end with `stop`");
    Ok(())
}

#[cfg(test)]
mod tests;
