//! `observability/1`: where spans go.

use roster_abi::contract::{Contribution, Export, Span, kind};
use serde_json::Map;

use crate::context::Context;
use crate::error::Result;
use crate::plugin::Plugin;
use crate::registry::{Entry, Registry};

impl<P: Plugin> Registry<P> {
    /// Takes finished spans in batches, one at a time. A failure loses the batch; the host counts it.
    pub fn exporter<F>(&mut self, id: &str, description: &str, run: F) -> Entry<'_>
    where
        F: Fn(&P, Vec<Span>, &Context) -> Result<()> + Send + Sync + 'static,
    {
        let about = Contribution {
            kind: kind::OBSERVABILITY.to_owned(),
            contract: "observability/1".to_owned(),
            id: id.to_owned(),
            description: description.to_owned(),
            ..Contribution::default()
        };
        self.add(about, move |call| {
            if call.method == "export" {
                call.answer(|plugin, input: Export, cx| run(plugin, input.spans, cx).map(|()| Map::new()));
            } else {
                let error = call.unknown_method();
                call.responder.fail(&error);
            }
        })
    }
}
