//! Where the agent's processors see what is said: before each model call, with each piece of its words, and before the
//! answer is stored. They run in the order of the definition.

use roster_model::message::{Part, Role};
use roster_model::processor::{Passed, Piece, ProcessorContext, ProcessorError, Row, Stage};
use serde_json::Value;

use super::answer::Answer;
use super::context::Context;
use super::event::{Failure, FailureKind, FinishReason};
use super::open::text_of;
use super::run::Turn;
use crate::definition::OnProcessorError;

/// What the processors hold back of the words that are being said: one state each.
pub(super) struct Pieces {
    states: Vec<Value>,
    /// Words went in, and the end was not told yet.
    open: bool,
}

fn context(turn: &Turn) -> ProcessorContext {
    let agent = turn.request.agent.definition.id.clone();
    ProcessorContext { agent, turn: turn.id.clone(), key: turn.request.key.clone() }
}

/// A failure that ends the turn; none when the definition lets what a processor cannot handle pass.
fn failed(turn: &Turn, name: &str, error: ProcessorError) -> Option<Failure> {
    match error {
        ProcessorError::Blocked(reason) => Some(Failure::new(FailureKind::Blocked, "processor_blocked", reason)),
        ProcessorError::Failed(message) => {
            let definition = &turn.request.agent.definition;
            let passes = definition.on_processor_error == OnProcessorError::Pass;
            tracing::warn!(agent = %definition.id, turn = %turn.id, processor = name, passes, message, "processor failed");
            let told = format!("the processor `{name}` failed, and nothing passes it unseen");
            (!passes).then(|| Failure::new(FailureKind::Processor, "processor_failed", told))
        }
    }
}

/// As many rows, with the same roles: nothing may be slipped in or lost.
fn fits(before: &[Row], after: &[Row]) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|(one, other)| one.0 == other.0)
}

async fn messages(turn: &Turn, stage: Stage, mut rows: Vec<Row>) -> Result<Vec<Row>, Failure> {
    for (name, processor) in &turn.request.agent.processors {
        let hooks = processor.hooks();
        let wanted = if stage == Stage::Input { hooks.input } else { hooks.output };
        if !wanted || rows.is_empty() {
            continue;
        }
        let given = processor.messages(stage, rows.clone(), context(turn)).await.and_then(|given| {
            let fault = || ProcessorError::Failed("it gave other messages back than it was given".to_owned());
            fits(&rows, &given).then_some(given).ok_or_else(fault)
        });
        match given {
            Ok(given) => rows = given,
            Err(error) => failed(turn, name, error).map_or(Ok(()), Err)?,
        }
    }
    Ok(rows)
}

/// What stands before the answer, as it is fed in every step of the turn: history and question, and among the system
/// texts all but the agent's own instructions (what was recalled may hold what was said).
pub(super) async fn input(turn: &Turn, context: &mut Context) -> Result<(), Failure> {
    if turn.request.agent.processors.is_empty() {
        return Ok(());
    }
    let system = std::mem::take(&mut context.system);
    let count = system.len();
    let mut rows: Vec<Row> = system.into_iter().map(|text| (Role::System, vec![Part::text(text)])).collect();
    rows.append(&mut context.rows);
    let mut rows = messages(turn, Stage::Input, rows).await?;
    context.rows = rows.split_off(count);
    context.system = rows.into_iter().map(|(_, parts)| text_of(&parts)).collect();
    let question = context.rows.iter().rev().find(|(role, _)| *role == Role::User).map(|(_, parts)| text_of(parts));
    if let Some(remembered) = &mut context.remembered {
        remembered.fed_question = question;
    }
    Ok(())
}

/// Puts words among what is fed, as the processors make them.
pub(super) async fn add(turn: &Turn, context: &mut Context, words: String) -> Result<(), Failure> {
    let row = vec![(Role::User, vec![Part::text(words)])];
    context.rows.extend(messages(turn, Stage::Input, row).await?);
    Ok(())
}

/// What this turn said so far, with its tools' results, as it is fed in the next step.
pub(super) async fn fed(turn: &Turn, answer: &Answer) -> Result<Vec<Row>, Failure> {
    if turn.request.agent.processors.is_empty() {
        return Ok(answer.said_cut());
    }
    // They see results whole: what one hides must not get past it in two halves.
    let mut rows = messages(turn, Stage::Input, answer.said()).await?;
    rows.iter_mut().for_each(|(_, parts)| turn.cap().cut(parts));
    Ok(rows)
}

/// What is stored of the answer. When that cannot be told, its words are not stored and the turn fails.
pub(super) async fn output(
    turn: &Turn,
    outcome: Result<FinishReason, Failure>,
    answer: &mut Answer,
) -> Result<FinishReason, Failure> {
    if turn.request.agent.processors.is_empty() || answer.parts.is_empty() {
        return outcome;
    }
    match messages(turn, Stage::Output, vec![(Role::Assistant, answer.parts.clone())]).await {
        Ok(rows) => {
            answer.parts = rows.into_iter().flat_map(|(_, parts)| parts).collect();
            outcome
        }
        Err(failure) => {
            answer.parts.retain(|part| !matches!(part, Part::Text { .. } | Part::Reasoning { .. }));
            outcome.and(Err(failure))
        }
    }
}

impl Pieces {
    pub(super) fn of(turn: &Turn) -> Self {
        Self { states: vec![Value::Null; turn.request.agent.processors.len()], open: false }
    }

    /// What of these words goes on now.
    pub(super) async fn pass(&mut self, turn: &Turn, text: String) -> Result<String, Failure> {
        self.open = true;
        self.through(turn, text, false).await
    }

    /// What was held back, now that something else than words comes.
    pub(super) async fn end(&mut self, turn: &Turn) -> Result<String, Failure> {
        if !std::mem::take(&mut self.open) {
            return Ok(String::new());
        }
        self.through(turn, String::new(), true).await
    }

    async fn through(&mut self, turn: &Turn, mut text: String, last: bool) -> Result<String, Failure> {
        for ((name, processor), state) in turn.request.agent.processors.iter().zip(&mut self.states) {
            if !processor.hooks().chunk || (text.is_empty() && !last) {
                continue;
            }
            let piece = Piece { text: text.clone(), state: std::mem::take(state), last };
            match processor.piece(piece, context(turn)).await {
                Ok(Passed { text: on, state: kept }) => {
                    text = on;
                    *state = if last { Value::Null } else { kept };
                }
                Err(error) => failed(turn, name, error).map_or(Ok(()), Err)?,
            }
        }
        Ok(text)
    }
}
