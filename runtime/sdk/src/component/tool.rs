//! `tool/1`: what a model may call.

use std::sync::Arc;

use roster_abi::contract::{Contribution, kind};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::Result;
use crate::plugin::Plugin;
use crate::registry::{Entry, Registry, schema_of};
use crate::responder::Responder;

const INVOKE: &str = "invoke";

fn described(id: &str, description: &str, input: Value, output: Option<Value>) -> Contribution {
    Contribution {
        kind: kind::TOOL.to_owned(),
        contract: "tool/1".to_owned(),
        id: id.to_owned(),
        description: description.to_owned(),
        input_schema: Some(input),
        // A schema that allows everything says nothing.
        output_schema: output.filter(Value::is_object),
        ..Contribution::default()
    }
}

impl<P: Plugin> Registry<P> {
    /// A tool: arguments are read into `A` and the result is written from `R`; the schemas of both are told to the
    /// host. `description` is for the model: what it does and when to use it.
    pub fn tool<A, R, F>(&mut self, id: &str, description: &str, run: F) -> Entry<'_>
    where
        A: DeserializeOwned + JsonSchema,
        R: Serialize + JsonSchema,
        F: Fn(&P, A, &Context) -> Result<R> + Send + Sync + 'static,
    {
        let about = described(id, description, schema_of::<A>(), Some(schema_of::<R>()));
        self.add(about, move |call| {
            if call.method == INVOKE {
                call.answer(&run);
            } else {
                let error = call.unknown_method();
                call.responder.fail(&error);
            }
        })
    }

    /// A tool over bytes: the arguments as the JSON text they came as, and the duty to answer, now or later, from any
    /// thread.
    pub fn raw_tool<F>(&mut self, id: &str, description: &str, input_schema: Value, run: F) -> Entry<'_>
    where
        F: Fn(&Arc<P>, Vec<u8>, Context, Responder) + Send + Sync + 'static,
    {
        self.add(described(id, description, input_schema, None), move |call| {
            if call.method == INVOKE {
                run(&call.plugin, call.input, call.cx, call.responder);
            } else {
                let error = call.unknown_method();
                call.responder.fail(&error);
            }
        })
    }

    /// A tool whose code waits: it runs on a runtime of the plugin's own, and is dropped where it waits when the call
    /// is cancelled. Export the plugin without `blocking`.
    #[cfg(feature = "tokio")]
    pub fn async_tool<A, R, F, T>(&mut self, id: &str, description: &str, run: F) -> Entry<'_>
    where
        A: DeserializeOwned + JsonSchema,
        R: Serialize + JsonSchema,
        F: Fn(Arc<P>, A, Context) -> T + Send + Sync + 'static,
        T: Future<Output = Result<R>> + Send + 'static,
    {
        let about = described(id, description, schema_of::<A>(), Some(schema_of::<R>()));
        self.add(about, move |call| {
            let arguments = if call.method == INVOKE { call.read() } else { Err(call.unknown_method()) };
            let arguments = match arguments {
                Ok(arguments) => arguments,
                Err(error) => return call.responder.fail(&error),
            };
            let (id, responder) = (call.cx.id(), call.responder);
            let work = run(call.plugin, arguments, call.cx);
            call.tasks.spawn(id, async move { responder.finish(work.await) });
        })
    }
}
