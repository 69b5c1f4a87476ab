//! `processor/1` as a [`Processor`].

use std::sync::Arc;

use roster_abi::contract::{Abort, CallContext, Chunk, ChunkOut, Message, Processed, ProcessorMessages, kind};
use roster_model::BoxFuture;
use roster_model::message::{Part, Role};
use roster_model::processor::{Hooks, Passed, Piece, Processor, ProcessorContext, ProcessorError, Row, Stage};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::call::{CallError, Payload};
use crate::plugin::{Ask, Plugin};

/// A processor of a plugin. It stands for its name also while the plugin is not there: then it fails.
pub struct PluginProcessor {
    plugin: Arc<Plugin>,
    component: String,
}

/// The processor of this id, whether the plugin has it now or not.
#[must_use]
pub fn processor(plugin: &Arc<Plugin>, id: &str) -> Arc<dyn Processor> {
    Arc::new(PluginProcessor { plugin: Arc::clone(plugin), component: id.to_owned() })
}

impl PluginProcessor {
    async fn ask<T: DeserializeOwned>(
        &self,
        method: &str,
        input: &impl Serialize,
        context: &ProcessorContext,
    ) -> Result<T, ProcessorError> {
        let about = CallContext {
            run: Some(context.turn.to_string()),
            agent: Some(context.agent.to_string()),
            thread: Some(context.key.thread.to_string()),
            resource: Some(context.key.resource.to_string()),
            ..CallContext::default()
        };
        let input = Payload::json(input);
        let ask = Ask { component: &self.component, method, input, context: &about, chunks: false, timeout: None };
        // What a processor does to a text it does again.
        let answer = self.plugin.ask(ask, true).await.and_then(|payload| payload.read());
        answer.map_err(|error| failed(&error))
    }
}

fn failed(error: &CallError) -> ProcessorError {
    ProcessorError::Failed(format!("{} ({})", error.message, error.code))
}

fn blocked(abort: Option<Abort>) -> Result<(), ProcessorError> {
    abort.map_or(Ok(()), |abort| Err(ProcessorError::Blocked(abort.reason)))
}

fn bad(what: &str) -> ProcessorError {
    failed(&CallError::host("plugin_bad_output", what, false))
}

fn told((role, parts): &Row) -> Result<Message, ProcessorError> {
    let parts = parts.iter().map(serde_json::to_value).collect::<Result<_, _>>();
    let parts = parts.map_err(|_| bad("a message cannot be written as JSON"))?;
    Ok(Message { role: role.as_str().to_owned(), parts, ..Message::default() })
}

fn row(message: Message) -> Result<Row, ProcessorError> {
    let role = Role::parse(&message.role).ok_or_else(|| bad("it gave back a message of no known role"))?;
    let parts = message.parts.into_iter().map(serde_json::from_value::<Part>).collect::<Result<_, _>>();
    Ok((role, parts.map_err(|_| bad("it gave back a part of no known form"))?))
}

impl Processor for PluginProcessor {
    fn hooks(&self) -> Hooks {
        // Without the plugin everything is asked for, so that everything fails.
        let Some(one) = self.plugin.contribution(kind::PROCESSOR, &self.component) else {
            return Hooks { input: true, chunk: true, output: true };
        };
        let wants = |hook: &str| one.hooks.iter().any(|wanted| wanted == hook);
        Hooks { input: wants("input"), chunk: wants("chunk"), output: wants("output") }
    }

    fn messages(
        &self,
        stage: Stage,
        rows: Vec<Row>,
        context: ProcessorContext,
    ) -> BoxFuture<'_, Result<Vec<Row>, ProcessorError>> {
        Box::pin(async move {
            let method = if stage == Stage::Input { "input" } else { "output" };
            let messages = rows.iter().map(told).collect::<Result<_, _>>()?;
            let processed: Processed = self.ask(method, &ProcessorMessages { messages }, &context).await?;
            blocked(processed.abort)?;
            match processed.messages {
                Some(messages) => messages.into_iter().map(row).collect(),
                None => Ok(rows),
            }
        })
    }

    fn piece(&self, piece: Piece, context: ProcessorContext) -> BoxFuture<'_, Result<Passed, ProcessorError>> {
        Box::pin(async move {
            let part = json!({ "type": "text", "text": piece.text });
            let chunk = Chunk { part, state: piece.state, last: piece.last };
            let out: ChunkOut = self.ask("chunk", &chunk, &context).await?;
            blocked(out.abort)?;
            let text = match &out.part {
                part if part.is_null() => String::new(),
                part => part["text"].as_str().ok_or_else(|| bad("it gave back a piece that is no text"))?.to_owned(),
            };
            Ok(Passed { text, state: out.state })
        })
    }
}
