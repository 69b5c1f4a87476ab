//! Reading and setting working memory.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use http::StatusCode;
use roster_engine::definition::{Scope, WorkingConfig, WorkingForm};
use roster_engine::memory::working::{SIZE_LIMIT, scope_of};
use roster_engine::registry::Agent;
use roster_model::housekeeping::SessionStore;
use roster_model::id::{ThreadId, ThreadKey};
use roster_model::storage::StoreErrorKind;
use roster_model::working::MemoryScope;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::owner::{self, Asked, By, Owner};
use super::request::{self, Body, bad};
use super::threads::unread;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::{Access, Identity};
use crate::http::json;
use crate::http::path::ThreadInPath;
use crate::http::query::Params;
use crate::http::route::Route;

/// The routes.
pub(super) fn routes(access: Access) -> Vec<Route> {
    const PATH: &str = "/api/memory/threads/{id}/working-memory";
    vec![Route::get(PATH, access, read), Route::post(PATH, access, write)]
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Working {
    working_memory: Option<String>,
    source: &'static str,
    working_memory_template: Option<Template>,
    thread_exists: bool,
}

#[derive(Serialize)]
struct Template {
    format: &'static str,
    content: String,
}

fn config(agent: Option<&Agent>) -> Option<&WorkingConfig> {
    agent?.memory.as_ref()?.policy.working.as_ref()
}

/// Where an agent's working memory is: in its own memory.
fn store<'a>(app: &'a App, agent: Option<&'a Agent>) -> &'a dyn SessionStore {
    agent.and_then(|agent| agent.memory.as_ref()).map_or(app.store.as_ref(), |memory| memory.store.as_ref())
}

/// Whose, by the same rule as in a turn.
fn scope(config: &WorkingConfig, agent: Option<&Agent>, owner: &Owner, key: &ThreadKey) -> MemoryScope {
    let named = match owner.by {
        By::Name => true,
        By::Alias | By::Agent => false,
        // A thread elsewhere than at the agent's default: somebody named its owner.
        By::Thread => agent.is_some_and(|agent| agent.definition.resource != owner.resource),
    };
    scope_of(config, key, named)
}

/// A thread need not be there yet: Studio asks for that of a chat nobody has written in.
async fn place(
    app: &App,
    identity: &Identity,
    asked: Asked<'_>,
    thread: ThreadId,
) -> Result<(Owner, ThreadKey), ApiError> {
    match owner::of_thread(app, identity, asked, thread.clone()).await {
        Err(error) if error.status == StatusCode::NOT_FOUND => {
            let owner = owner::of_list(app, identity, asked)?;
            let key = owner.key(thread);
            Ok((owner, key))
        }
        found => found,
    }
}

async fn read(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
) -> Result<Response, ApiError> {
    let agent = request::agent(&app, &params)?.agent;
    let (owner, key) = place(&app, &identity, Asked::of(&params), thread).await?;
    let thread_exists = app.store.thread(&key).await?.is_some();
    let Some(config) = config(agent.as_deref()) else {
        let source = Scope::Resource.as_str();
        let none = Working { working_memory: None, source, working_memory_template: None, thread_exists };
        return Ok(json::ok(&none));
    };
    let scope = scope(config, agent.as_deref(), &owner, &key);
    let text = store(&app, agent.as_deref()).working_memory(&scope).await?.map(|working| working.text);
    let source = match scope {
        MemoryScope::Thread(_) => Scope::Thread,
        MemoryScope::Resource(_) => Scope::Resource,
    };
    Ok(json::ok(&Working {
        working_memory: text,
        source: source.as_str(),
        working_memory_template: Some(template(&config.form)),
        thread_exists,
    }))
}

fn template(form: &WorkingForm) -> Template {
    match form {
        WorkingForm::Template(text) => Template { format: "markdown", content: text.clone() },
        WorkingForm::Schema(schema) => Template { format: "json", content: skeleton(schema).to_string() },
    }
}

/// An empty object of the schema: every property with the emptiest value of its type.
fn skeleton(schema: &Map<String, Value>) -> Value {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Value::Object(Map::new()) };
    let empty = |schema: &Value| match schema.get("type").and_then(Value::as_str) {
        Some("string") => Value::from(""),
        Some("array") => Value::Array(Vec::new()),
        Some("object") => schema.as_object().map_or(Value::Null, skeleton),
        _ => Value::Null,
    };
    properties.iter().map(|(name, schema)| (name.clone(), empty(schema))).collect::<Map<_, _>>().into()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Set {
    /// `null` clears.
    working_memory: Option<String>,
    resource_id: Option<String>,
}

#[derive(Serialize)]
struct Done {
    success: bool,
}

async fn write(
    State(app): State<Arc<App>>,
    Extension(identity): Extension<Identity>,
    ThreadInPath(thread): ThreadInPath,
    params: Params,
    Body(set): Body<Set>,
) -> Result<Response, ApiError> {
    let asking = request::remembering(&app, &params)?;
    let Some(config) = config(asking.agent.as_deref()) else {
        let message = format!("agent `{}` has no working memory", asking.id);
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "no_working_memory", message).param("agentId"));
    };
    if let Some(text) = &set.working_memory {
        check(&config.form, text)?;
    }
    let asked = Asked::of(&params).or_body(set.resource_id.as_deref());
    let (owner, key) = place(&app, &identity, asked, thread).await?;
    let store = store(&app, asking.agent.as_deref());
    replace(store, &scope(config, asking.agent.as_deref(), &owner, &key), set.working_memory).await?;
    Ok(json::ok(&Done { success: true }))
}

fn check(form: &WorkingForm, text: &str) -> Result<(), ApiError> {
    if text.len() > SIZE_LIMIT {
        let message = format!("the working memory is larger than {SIZE_LIMIT} bytes");
        let error = ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "working_memory_too_large", message);
        return Err(error.param("workingMemory").detail("limit", SIZE_LIMIT.into()));
    }
    if matches!(form, WorkingForm::Schema(_)) && serde_json::from_str::<Map<String, Value>>(text).is_err() {
        return Err(bad("workingMemory", "must be the text of a JSON object: the agent's working memory has a schema"));
    }
    Ok(())
}

/// How often others may write between our reading and our writing.
const TRIES: usize = 32;

/// The whole is replaced, whatever was there: who sets it by hand means that.
async fn replace(store: &dyn SessionStore, scope: &MemoryScope, text: Option<String>) -> Result<(), ApiError> {
    for _ in 0..TRIES {
        let seen = store.working_memory(scope).await?.map_or(0, |working| working.version);
        match store.set_working_memory(scope, text.clone(), seen).await {
            Ok(_) => return Ok(()),
            Err(error) if error.kind == StoreErrorKind::Conflict => {}
            Err(error) => return Err(unread(error)),
        }
    }
    let message = "others write to the working memory at the moment; nothing was changed";
    Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message).retry_after(std::time::Duration::from_secs(1)))
}
