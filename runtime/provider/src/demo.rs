//! A provider without a model: scripted, repeatable, and honest about it.
//!
//! It shows that streaming, thinking, tool calls, sub-agents and memory work before any key is set. `pro` streams word
//! by word with small pauses, `flash` is `pro` without them, `thinking` shows reasoning first. The same context always
//! gives the same answer, in English or, to a question in Chinese, in Chinese. Tokens are an estimate: one for every
//! four characters, and at least one. Of an agent with an `output_schema` it says the least document that fits.

mod ask;
mod facts;
mod form;
mod reply;
mod stage;
#[cfg(test)]
mod tests;
mod words;

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::stream::unfold;
use roster_model::BoxFuture;
use roster_model::provider::{
    Completion, Delta, DeltaStream, PromptMessage, Provider, ProviderError, ProviderErrorKind, StopReason, Usage,
    UserPart,
};

use reply::Reply;

/// The pause between two words of the models that have one.
const PAUSE: Duration = Duration::from_millis(15);

/// The names of its models, the usual one first.
pub const MODELS: [&str; 3] = [Model::Pro.name(), Model::Flash.name(), Model::Thinking.name()];

/// The models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    Pro,
    Flash,
    Thinking,
}

impl Model {
    fn named(name: &str) -> Result<Self, ProviderError> {
        let known = [Self::Pro, Self::Flash, Self::Thinking].into_iter().find(|model| model.name() == name);
        known.ok_or_else(|| {
            let has = MODELS.map(|name| format!("`{name}`")).join(", ");
            let message = format!("provider `demo`: there is no model `{name}`; it has {has}");
            ProviderError::new(ProviderErrorKind::NotFound, message)
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Pro => "pro",
            Self::Flash => "flash",
            Self::Thinking => "thinking",
        }
    }

    fn pause(self) -> Option<Duration> {
        match self {
            Self::Pro | Self::Thinking => Some(PAUSE),
            Self::Flash => None,
        }
    }
}

/// The provider `demo`.
#[derive(Debug, Default)]
pub struct DemoProvider;

impl DemoProvider {
    /// The provider; it needs nothing.
    #[must_use]
    pub fn new() -> Self {
        Self
    }
}

impl Provider for DemoProvider {
    fn name(&self) -> &'static str {
        "demo"
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        Box::pin(async move {
            let model = Model::named(&completion.model)?;
            Ok(stream(deltas(model, &completion), model.pause()))
        })
    }
}

/// The whole answer, cut into deltas.
fn deltas(model: Model, completion: &Completion) -> VecDeque<Delta> {
    let mut reply = reply::reply_to(completion);
    if let (Some(schema), true) = (&completion.output_schema, reply.calls.is_empty()) {
        reply.text = form::least(schema).to_string();
    }
    let reasoning = if model == Model::Thinking { reply.reasoning.as_str() } else { "" };
    let mut deltas: VecDeque<Delta> = words::pieces(reasoning).map(|word| Delta::Reasoning(word.to_owned())).collect();
    deltas.extend(words::pieces(&reply.text).map(|word| Delta::Text(word.to_owned())));
    for (index, (name, arguments)) in reply.calls.iter().enumerate() {
        deltas.push_back(Delta::ToolCall { index, id: None, name: name.clone() });
        deltas.push_back(Delta::ToolArguments { index, fragment: arguments.to_string() });
    }
    let reason = if reply.calls.is_empty() { StopReason::Stop } else { StopReason::ToolCalls };
    let usage = usage(completion, &reply, reasoning);
    deltas.push_back(Delta::End { reason, usage, model: Some(model.name().to_owned()) });
    deltas
}

fn stream(deltas: VecDeque<Delta>, pause: Option<Duration>) -> DeltaStream {
    Box::pin(unfold((deltas, true), move |(mut deltas, is_first)| async move {
        let delta = deltas.pop_front()?;
        let is_word = matches!(delta, Delta::Text(_) | Delta::Reasoning(_));
        if let (Some(pause), true, false) = (pause, is_word, is_first) {
            tokio::time::sleep(pause).await;
        }
        Some((Ok(delta), (deltas, false)))
    }))
}

fn usage(completion: &Completion, reply: &Reply, reasoning: &str) -> Usage {
    let input = estimate(completion.messages.iter().map(characters).sum());
    let calls: usize = reply.calls.iter().map(|(name, arguments)| name.len() + arguments.to_string().len()).sum();
    let thought = reasoning.chars().count();
    let output = estimate(reply.text.chars().count() + calls + thought);
    Usage {
        input_tokens: Some(input),
        output_tokens: Some(output),
        total_tokens: Some(input + output),
        cached_input_tokens: None,
        reasoning_tokens: (thought > 0).then(|| estimate(thought)),
    }
}

fn estimate(characters: usize) -> u64 {
    u64::try_from(characters.div_ceil(4).max(1)).unwrap_or(u64::MAX)
}

fn characters(message: &PromptMessage) -> usize {
    match message {
        PromptMessage::System(text) => text.chars().count(),
        PromptMessage::User(parts) => user_text(parts).chars().count(),
        PromptMessage::Assistant { text, calls, .. } => {
            let calls: usize = calls.iter().map(|call| call.name.len() + 2 + call.arguments.len() * 8).sum();
            text.chars().count() + calls
        }
        PromptMessage::Tool(results) => results.iter().map(|result| result.output.to_string().chars().count()).sum(),
    }
}

/// The words of a user's message.
fn user_text(parts: &[UserPart]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            UserPart::Text(text) => Some(text.as_str()),
            UserPart::File { .. } => None,
        })
        .collect();
    texts.join("\n")
}
