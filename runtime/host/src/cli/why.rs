//! `roster why`: what the model calls of a turn were fed, in which tier and why, and what was left out.

mod page;
mod record;
#[cfg(test)]
mod tests;

use std::path::Path;

use roster_model::feed::{FeedRecord, FeedStore};
use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey, TurnId};
use roster_model::storage::{OperatorStore, StoreError};
use roster_storage::sqlite::SqliteStore;
use serde_json::json;

use self::record::Record;
use super::{Format, WhyArgs, store};
use crate::assemble::{self, Project, told};
use crate::error::{Exit, HostError};
use crate::{log, output};

/// Owners that are listed when there are several.
const MOST_OWNERS: usize = 10;

/// Prints the feed records of a turn; reads beside runtimes that serve.
///
/// # Errors
/// [`HostError`] for ids that are none, a thread or turn without records, several owners, or a database that cannot be
/// used.
pub(super) fn run(root: Option<&Path>, args: &WhyArgs) -> Result<Exit, HostError> {
    log::start_quiet()?;
    let project = assemble::read(root)?;
    let id = |fault: roster_model::id::IdError| HostError::environment(fault.to_string());
    let thread = ThreadId::new(&args.thread).map_err(id)?;
    let turn = args.turn.as_ref().map(TurnId::new).transpose().map_err(id)?;
    let owner = owner(&project, args)?;
    let store = store::opened(&project)?;
    let text = assemble::runtime()?.block_on(async {
        let text = text(&store, owner, thread, turn.as_ref(), args.format).await;
        store.close().await;
        text
    });
    output::print(text?)?;
    Ok(Exit::Good)
}

/// The owner that was named, by itself or by an agent.
fn owner(project: &Project, args: &WhyArgs) -> Result<Option<ResourceId>, HostError> {
    if let Some(resource) = &args.resource {
        let resource = ResourceId::new(resource).map_err(|fault| HostError::environment(fault.to_string()))?;
        return Ok(Some(resource));
    }
    let Some(name) = &args.agent else { return Ok(None) };
    let id = AgentId::new(name).map_err(|fault| HostError::environment(fault.to_string()))?;
    let agent = project.files.agents.iter().find(|agent| agent.id == id);
    let definition = agent.and_then(|agent| agent.definition.as_ref());
    match (agent, definition) {
        (_, Some(definition)) => Ok(Some(definition.resource.clone())),
        (Some(_), None) => Err(HostError::problem(format!("the file of agent `{id}` cannot be used"))
            .hint("`roster check` shows why; `--resource` names the owner itself")),
        (None, None) => Err(HostError::environment(format!("unknown agent `{id}`"))
            .hint("`roster agents` lists those that are registered")),
    }
}

async fn text(
    store: &SqliteStore,
    owner: Option<ResourceId>,
    thread: ThreadId,
    turn: Option<&TurnId>,
    format: Format,
) -> Result<String, HostError> {
    let resource = match owner {
        Some(resource) => resource,
        None => only_owner(store, &thread).await?,
    };
    let key = ThreadKey { resource, thread };
    let records = store.feed(&key, turn).await.map_err(|error| failed(&error))?;
    let Some(first) = records.first() else { return Err(nothing(&key, turn)) };
    match format {
        Format::Json => json_of(&key, &first.turn, &records),
        Format::Text => {
            let calls: Vec<(&FeedRecord, Record)> =
                records.iter().map(|record| (record, Record::read(record))).collect();
            let said = page::said(store, &key, &calls).await.map_err(|error| failed(&error))?;
            Ok(page::of(&key, &calls, &said))
        }
    }
}

async fn only_owner(store: &SqliteStore, thread: &ThreadId) -> Result<ResourceId, HostError> {
    let mut owners = store.owners(thread, MOST_OWNERS).await.map_err(|error| failed(&error))?;
    match owners.len() {
        0 => Err(HostError::problem(format!("there is no thread `{thread}`"))
            .hint("agents without memory store nothing, and plugins keep theirs elsewhere; `GET /api/conversations` lists all")),
        1 => Ok(owners.remove(0)),
        _ => {
            let names: Vec<String> = owners.iter().map(|owner| format!("`{owner}`")).collect();
            Err(HostError::problem(format!("several owners have a thread `{thread}`: {}", names.join(", ")))
                .hint("choose one with `--resource`"))
        }
    }
}

fn nothing(key: &ThreadKey, turn: Option<&TurnId>) -> HostError {
    let what = match turn {
        Some(turn) => format!("turn `{turn}` of thread `{}` of `{}` has no feed record", key.thread, key.resource),
        None => format!("thread `{}` of `{}` has no feed record", key.thread, key.resource),
    };
    HostError::problem(what)
        .hint("records are written after a turn, and kept for 30 days; conversations that plugins keep have none")
}

fn failed(error: &StoreError) -> HostError {
    let (message, hint) = told(error);
    hint.into_iter().fold(HostError::environment(message), HostError::hint)
}

fn json_of(key: &ThreadKey, turn: &TurnId, records: &[FeedRecord]) -> Result<String, HostError> {
    let of = |record: &FeedRecord| json!({"step": record.step, "at": record.at, "record": record::value(record)});
    let records: Vec<_> = records.iter().map(of).collect();
    let all = json!({"resource": key.resource, "thread": key.thread, "turn": turn, "records": records});
    let text = serde_json::to_string_pretty(&all).map_err(|error| HostError::Internal(error.to_string()))?;
    Ok(text + "\n")
}
