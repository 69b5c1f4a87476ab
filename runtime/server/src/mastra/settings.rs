//! Whether an agent has a memory, and with which policies.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use roster_engine::definition::{RecallConfig, WorkingConfig, WorkingForm};
use roster_engine::memory::Policy;
use serde_json::{Value, json};

use super::request;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::identity::Access;
use crate::http::json;
use crate::http::query::Params;
use crate::http::route::Route;

/// The routes.
pub(super) fn routes(access: Access) -> Vec<Route> {
    vec![Route::get("/api/memory/status", access, status), Route::get("/api/memory/config", access, config)]
}

async fn status(State(app): State<Arc<App>>, params: Params) -> Result<Response, ApiError> {
    let agent = request::agent(&app, &params)?.agent;
    Ok(json::ok(&match agent.and_then(|agent| agent.memory.clone()) {
        Some(_) => json!({"result": true, "memoryType": "local"}),
        None => json!({"result": false}),
    }))
}

async fn config(State(app): State<Arc<App>>, params: Params) -> Result<Response, ApiError> {
    let agent = request::agent(&app, &params)?.agent;
    let config = agent.and_then(|agent| agent.memory.as_ref().map(|memory| policy(&memory.policy)));
    Ok(json::ok(&json!({"config": config})))
}

/// `false` stands for a tier that is off.
fn policy(policy: &Policy) -> Value {
    let window = match policy.window.last_messages {
        0 => Value::Bool(false),
        most => most.into(),
    };
    json!({
        "lastMessages": window,
        "semanticRecall": policy.recall.as_ref().map_or(Value::Bool(false), recall),
        "generateTitle": policy.generate_title,
        "workingMemory": policy.working.as_ref().map_or_else(|| json!({"enabled": false, "template": ""}), working),
        "observationalMemory": {"enabled": false},
    })
}

fn recall(config: &RecallConfig) -> Value {
    json!({
        "topK": config.top_k,
        "messageRange": {"before": config.before, "after": config.after},
        "scope": config.scope.as_str(),
        "threshold": config.threshold,
    })
}

fn working(config: &WorkingConfig) -> Value {
    let scope = config.scope.as_str();
    match &config.form {
        WorkingForm::Template(template) => json!({"enabled": true, "template": template, "scope": scope}),
        WorkingForm::Schema(schema) => json!({"enabled": true, "template": "", "scope": scope, "schema": schema}),
    }
}
