//! Whose threads a Mastra request means.
//!
//! An identity's resource always wins. Without one, a `resourceId` that is a registered agent's id (what the stock
//! Studio sends) means that agent's own resource, and a list asked so holds the threads the agent took part in; what is
//! answered carries the `resourceId` that was asked with.

use http::StatusCode;
use roster_engine::definition::DEFAULT_RESOURCE;
use roster_engine::registry::{Entry, Snapshot};
use roster_model::id::{AgentId, ResourceId, ThreadId, ThreadKey};

use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::Identity;
use crate::http::query::Params;

/// What a request says about the owner.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Asked<'a> {
    /// `resourceId`, of the query or the body.
    pub(super) resource: Option<&'a str>,
    /// `agentId`.
    pub(super) agent: Option<&'a str>,
}

impl<'a> Asked<'a> {
    /// What the query says.
    pub(super) fn of(params: &'a Params) -> Self {
        Self { resource: params.text("resourceId"), agent: params.text("agentId") }
    }

    /// The body's `resourceId` before the query's.
    pub(super) fn or_body(self, resource: Option<&'a str>) -> Self {
        Self { resource: resource.or(self.resource), ..self }
    }
}

/// Whose, and under which name the answer says so.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    /// The owner.
    pub(super) resource: ResourceId,
    /// What answers carry as `resourceId`.
    pub(super) shown: ResourceId,
    /// Lists hold only the threads this agent took part in.
    pub(super) agent: Option<AgentId>,
    /// How the owner was found.
    pub(super) by: By,
}

/// How an owner was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// An identity or the request's own words.
    Name,
    /// An agent's id in place of an owner: the default that everybody shares who names none.
    Alias,
    /// `agentId` alone.
    Agent,
    /// The thread has one owner only.
    Thread,
}

impl Owner {
    fn plain(resource: ResourceId, by: By) -> Self {
        Self { shown: resource.clone(), resource, agent: None, by }
    }

    /// The key of one of its threads.
    pub(super) fn key(&self, thread: ThreadId) -> ThreadKey {
        ThreadKey { resource: self.resource.clone(), thread }
    }
}

fn legal(text: &str) -> Result<ResourceId, ApiError> {
    ResourceId::new(text).map_err(|error| ApiError::invalid(error.to_string()).param("resourceId"))
}

fn entry<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a Entry> {
    AgentId::new(name).ok().and_then(|id| snapshot.entry(&id))
}

fn resource_of(entry: &Entry) -> Result<ResourceId, ApiError> {
    match &entry.agent {
        Some(agent) => Ok(agent.definition.resource.clone()),
        None => legal(DEFAULT_RESOURCE),
    }
}

/// The owner the request names, if it names one.
fn named(app: &App, identity: &Identity, asked: Asked<'_>) -> Result<Option<Owner>, ApiError> {
    let snapshot = app.registry.snapshot();
    let alias = asked.resource.and_then(|asked| entry(&snapshot, asked));
    if let Identity::Known { resource, .. } = identity {
        let agent = alias.map(|entry| entry.id.clone());
        return Ok(Some(Owner { agent, ..Owner::plain(resource.clone(), By::Name) }));
    }
    if let (Some(asked), Some(entry)) = (asked.resource, alias) {
        let (resource, shown) = (resource_of(entry)?, legal(asked)?);
        return Ok(Some(Owner { resource, shown, agent: Some(entry.id.clone()), by: By::Alias }));
    }
    if let Some(asked) = asked.resource {
        return Ok(Some(Owner::plain(legal(asked)?, By::Name)));
    }
    match asked.agent.and_then(|agent| entry(&snapshot, agent)) {
        Some(entry) => Ok(Some(Owner::plain(resource_of(entry)?, By::Agent))),
        None => Ok(None),
    }
}

/// Whose list; also whose thread, where it need not be there yet.
pub(super) fn of_list(app: &App, identity: &Identity, asked: Asked<'_>) -> Result<Owner, ApiError> {
    match named(app, identity, asked)? {
        Some(owner) => Ok(owner),
        None => Ok(Owner::plain(legal(DEFAULT_RESOURCE)?, By::Agent)),
    }
}

/// 404 in the words its clients know; another owner's thread is no different from none.
pub(super) fn no_thread() -> ApiError {
    ApiError::not_found("thread_not_found", "Thread not found")
}

/// Whose thread. A request that names no owner means the agent's own; when that one has no such thread, the one owner
/// of that id.
pub(super) async fn of_thread(
    app: &App,
    identity: &Identity,
    asked: Asked<'_>,
    thread: ThreadId,
) -> Result<(Owner, ThreadKey), ApiError> {
    let owner = match named(app, identity, asked)? {
        Some(owner) if owner.by != By::Agent => owner,
        Some(owner) if app.store.thread(&owner.key(thread.clone())).await?.is_some() => owner,
        _ => only_owner(app, &thread).await?,
    };
    let key = owner.key(thread);
    Ok((owner, key))
}

async fn only_owner(app: &App, thread: &ThreadId) -> Result<Owner, ApiError> {
    let owners = app.operator.owners(thread, 2).await?;
    only(owners, "a thread")?.ok_or_else(no_thread)
}

/// The owner that is the only one of something, if there is one.
///
/// # Errors
/// 400 when there are several.
pub(super) fn only(mut owners: Vec<ResourceId>, what: &str) -> Result<Option<Owner>, ApiError> {
    let last = owners.pop();
    if owners.is_empty() {
        return Ok(last.map(|only| Owner::plain(only, By::Thread)));
    }
    let message = format!("several owners have {what} of this id; say which with `resourceId`");
    Err(ApiError::new(StatusCode::BAD_REQUEST, "resource_required", message).param("resourceId"))
}
