//! Providers of the models that agents use, as they stand now.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use roster_engine::registry::{BoundModel, Snapshot};
use roster_model::provider::Provider;
use serde::Serialize;

use crate::app::App;
use crate::http::json;

#[derive(Serialize)]
struct Providers<'a> {
    providers: Vec<ProviderView<'a>>,
}

#[derive(Serialize)]
struct ProviderView<'a> {
    name: &'a str,
    /// `closed`: it is asked; `open`: it is left alone for a while; `half_open`: one call finds out.
    circuit: &'static str,
    /// Whether it can be asked at all, and if not, why.
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// `provider/model`, of all agents that serve.
    models: BTreeSet<&'a str>,
    agents: BTreeSet<&'a str>,
}

impl<'a> ProviderView<'a> {
    fn new(provider: &'a dyn Provider) -> Self {
        let problem = provider.ready().err().map(|error| error.message);
        Self {
            name: provider.name(),
            circuit: provider.circuit().as_str(),
            ready: problem.is_none(),
            problem,
            models: BTreeSet::new(),
            agents: BTreeSet::new(),
        }
    }
}

/// `GET /admin/providers`.
pub(super) async fn list(State(app): State<Arc<App>>) -> Response {
    let snapshot = app.registry.snapshot();
    json::ok(&Providers { providers: views(&snapshot) })
}

/// One a connection: a provider that an agent describes in its own file stands apart from one of the same name.
fn views(snapshot: &Snapshot) -> Vec<ProviderView<'_>> {
    let mut views = BTreeMap::new();
    for agent in snapshot.serving() {
        for BoundModel { name, provider, .. } in &agent.models {
            let place = (provider.name(), Arc::as_ptr(provider).cast::<()>());
            let view = views.entry(place).or_insert_with(|| ProviderView::new(provider.as_ref()));
            view.models.insert(name.as_str());
            view.agents.insert(agent.definition.id.as_str());
        }
    }
    views.into_values().collect()
}
