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

/// Whose, and under which name the answer says so.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    /// The owner.
    pub(super) resource: ResourceId,
    /// What answers carry as `resourceId`.
    pub(super) shown: ResourceId,
    /// Lists hold only the threads this agent took part in.
    pub(super) agent: Option<AgentId>,
}

impl Owner {
    fn plain(resource: ResourceId) -> Self {
        Self { shown: resource.clone(), resource, agent: None }
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
fn named(app: &App, identity: &Identity, params: &Params) -> Result<Option<Owner>, ApiError> {
    let snapshot = app.registry.snapshot();
    let asked = params.text("resourceId");
    let alias = asked.and_then(|asked| entry(&snapshot, asked));
    if let Identity::Known { resource, .. } = identity {
        let agent = alias.map(|entry| entry.id.clone());
        return Ok(Some(Owner { agent, ..Owner::plain(resource.clone()) }));
    }
    if let (Some(asked), Some(entry)) = (asked, alias) {
        let owner = Owner { resource: resource_of(entry)?, shown: legal(asked)?, agent: Some(entry.id.clone()) };
        return Ok(Some(owner));
    }
    if let Some(asked) = asked {
        return Ok(Some(Owner::plain(legal(asked)?)));
    }
    match params.text("agentId").and_then(|agent| entry(&snapshot, agent)) {
        Some(entry) => Ok(Some(Owner::plain(resource_of(entry)?))),
        None => Ok(None),
    }
}

/// Whose list.
pub(super) fn of_list(app: &App, identity: &Identity, params: &Params) -> Result<Owner, ApiError> {
    match named(app, identity, params)? {
        Some(owner) => Ok(owner),
        None => legal(DEFAULT_RESOURCE).map(Owner::plain),
    }
}

/// 404 in the words its clients know; another owner's thread is no different from none.
pub(super) fn no_thread() -> ApiError {
    ApiError::not_found("thread_not_found", "Thread not found")
}

/// Whose thread; a request that names no owner means the one owner of that id.
pub(super) async fn of_thread(
    app: &App,
    identity: &Identity,
    params: &Params,
    thread: ThreadId,
) -> Result<(Owner, ThreadKey), ApiError> {
    let owner = match named(app, identity, params)? {
        Some(owner) => owner,
        None => {
            let mut owners = app.operator.owners(&thread, 2).await?;
            match (owners.pop(), owners.is_empty()) {
                (Some(only), true) => Owner::plain(only),
                (None, _) => return Err(no_thread()),
                (Some(_), false) => {
                    let message = "several owners have a thread of this id; say which with `resourceId`";
                    let error = ApiError::new(StatusCode::BAD_REQUEST, "resource_required", message);
                    return Err(error.param("resourceId"));
                }
            }
        }
    };
    let key = ThreadKey { resource: owner.resource.clone(), thread };
    Ok((owner, key))
}
