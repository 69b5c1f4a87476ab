//! `model/1`: a model provider.

use roster_abi::contract::{Contribution, Ended, Generate, kind};

use crate::context::Context;
use crate::error::Result;
use crate::plugin::Plugin;
use crate::registry::{Entry, Registry};

impl<P: Plugin> Registry<P> {
    /// A model; definitions name it `<plugin>:<id>`. The answer goes out piece by piece with
    /// `cx.chunk(&Delta::Text { … })?`; what is returned is its end. The codes of failures that the runtime tells apart
    /// stand with `roster_abi::contract::Generate`.
    pub fn model<F>(&mut self, id: &str, description: &str, run: F) -> Entry<'_>
    where
        F: Fn(&P, Generate, &Context) -> Result<Ended> + Send + Sync + 'static,
    {
        let about = Contribution {
            kind: kind::MODEL_PROVIDER.to_owned(),
            contract: "model/1".to_owned(),
            id: id.to_owned(),
            description: description.to_owned(),
            streaming: true,
            ..Contribution::default()
        };
        self.add(about, move |call| {
            if call.method == "generate" {
                call.answer(&run);
            } else {
                let error = call.unknown_method();
                call.responder.fail(&error);
            }
        })
    }
}
