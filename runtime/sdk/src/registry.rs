//! The components of a plugin, by name.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use roster_abi::code;
use roster_abi::contract::{Contribution, Description};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::responder::Responder;

/// Collects components in [`Plugin::register`]; the methods that add one stand with their kind in
/// [`crate::component`].
pub struct Registry<P> {
    contributes: Vec<Contribution>,
    handlers: HashMap<String, Handler<P>>,
    fault: Option<String>,
}

pub(crate) type Handler<P> = Box<dyn Fn(Invocation<P>) + Send + Sync>;

/// A call on its way to a component.
pub(crate) struct Invocation<P> {
    pub(crate) plugin: Arc<P>,
    pub(crate) method: String,
    pub(crate) encoding: u32,
    pub(crate) input: Vec<u8>,
    pub(crate) cx: Context,
    pub(crate) responder: Responder,
    #[cfg(feature = "tokio")]
    pub(crate) tasks: Arc<crate::component::Tasks>,
}

impl<P: Plugin> Registry<P> {
    /// The components of `P`.
    pub(crate) fn of_plugin() -> Self {
        let mut registry = Self { contributes: Vec::new(), handlers: HashMap::new(), fault: None };
        P::register(&mut registry);
        registry
    }

    /// What `describe` answers.
    pub(crate) fn description(&self) -> Result<Description> {
        if let Some(fault) = &self.fault {
            return Err(Error::invalid(fault.clone()));
        }
        Ok(Description { config_schema: schema_of::<P::Config>(), contributes: self.contributes.clone() })
    }

    pub(crate) fn handler(&self, component: &str) -> Result<&Handler<P>> {
        self.handlers.get(component).ok_or_else(|| Error::not_found(format!("there is no component `{component}`")))
    }

    pub(crate) fn add(
        &mut self,
        contribution: Contribution,
        handler: impl Fn(Invocation<P>) + Send + Sync + 'static,
    ) -> Entry<'_> {
        let id = contribution.id.clone();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if id.is_empty() || !id.chars().all(legal) {
            self.fault = Some(format!("`{id}` is no name of a component: letters, digits, `_`, `-` and `.`"));
        } else if self.handlers.insert(id.clone(), Box::new(handler)).is_some() {
            self.fault = Some(format!("two components are called `{id}`"));
        }
        self.contributes.push(contribution);
        let last = self.contributes.len() - 1;
        Entry(&mut self.contributes[last])
    }
}

/// What more can be said about a component.
pub struct Entry<'a>(pub(crate) &'a mut Contribution);

impl Entry<'_> {
    /// A call may be made a second time without harm: the host does so when the process dies under it.
    pub fn idempotent(self) -> Self {
        self.0.idempotent = true;
        self
    }

    /// It emits chunks.
    pub fn streaming(self) -> Self {
        self.0.streaming = true;
        self
    }

    /// A deadline of the component's own; the smaller of this and the operator's holds.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.0.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

impl<P> Invocation<P> {
    /// The input as `A`.
    pub(crate) fn read<A: DeserializeOwned>(&self) -> Result<A> {
        if self.encoding != code::ENC_JSON {
            return Err(Error::invalid(format!("the input is no JSON but of encoding {}", self.encoding)));
        }
        serde_json::from_slice(&self.input).map_err(|error| Error::invalid(format!("the input does not fit: {error}")))
    }

    pub(crate) fn unknown_method(&self) -> Error {
        Error::not_found(format!("this component has no method `{}`", self.method))
    }

    /// Answers with what `run` gives for the input.
    pub(crate) fn answer<A: DeserializeOwned, R: Serialize>(self, run: impl FnOnce(&P, A, &Context) -> Result<R>) {
        let result = self.read().and_then(|input| run(&self.plugin, input, &self.cx));
        self.responder.finish(result);
    }
}

/// The JSON Schema of `T`: without the names of Rust types, in one piece.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let inlined = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = inlined.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.to_value()
}
