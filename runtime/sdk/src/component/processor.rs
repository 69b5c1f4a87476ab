//! `processor/1`: what is said on its way to the model and back.

use std::sync::{Arc, OnceLock};

use roster_abi::contract::{Chunk, ChunkOut, Contribution, Message, Processed, ProcessorMessages, kind};

use crate::context::Context;
use crate::error::Result;
use crate::plugin::Plugin;
use crate::registry::{Entry, Registry};

type Whole<P> = Box<dyn Fn(&P, Vec<Message>, &Context) -> Result<Processed> + Send + Sync>;
type Piece<P> = Box<dyn Fn(&P, Chunk, &Context) -> Result<ChunkOut> + Send + Sync>;

struct Hooks<P> {
    input: OnceLock<Whole<P>>,
    chunk: OnceLock<Piece<P>>,
    output: OnceLock<Whole<P>>,
}

impl<P: Plugin> Registry<P> {
    /// A processor; the hooks are added to what this gives. One without hooks is never called.
    pub fn processor(&mut self, id: &str, description: &str) -> ProcessorEntry<'_, P> {
        let hooks = Arc::new(Hooks { input: OnceLock::new(), chunk: OnceLock::new(), output: OnceLock::new() });
        let called = Arc::clone(&hooks);
        let about = Contribution {
            kind: kind::PROCESSOR.to_owned(),
            contract: "processor/1".to_owned(),
            id: id.to_owned(),
            description: description.to_owned(),
            idempotent: true,
            ..Contribution::default()
        };
        let entry = self.add(about, move |call| {
            let whole = match call.method.as_str() {
                "input" => called.input.get(),
                "output" => called.output.get(),
                _ => None,
            };
            if let Some(hook) = whole {
                call.answer(|plugin, input: ProcessorMessages, cx| hook(plugin, input.messages, cx));
            } else if let Some(hook) = called.chunk.get().filter(|_| call.method == "chunk") {
                call.answer(hook);
            } else {
                let error = call.unknown_method();
                call.responder.fail(&error);
            }
        });
        ProcessorEntry { entry, hooks }
    }
}

/// A processor that is given its hooks. A hook set twice keeps the first.
pub struct ProcessorEntry<'a, P> {
    entry: Entry<'a>,
    hooks: Arc<Hooks<P>>,
}

impl<P: Plugin> ProcessorEntry<'_, P> {
    /// What is about to be fed to the model.
    pub fn input<F>(self, hook: F) -> Self
    where
        F: Fn(&P, Vec<Message>, &Context) -> Result<Processed> + Send + Sync + 'static,
    {
        if self.hooks.input.set(Box::new(hook)).is_ok() {
            self.entry.0.hooks.push("input".to_owned());
        }
        self
    }

    /// A piece of the answer on its way to the client; what has to be kept until the next piece goes into the state.
    pub fn chunk<F>(self, hook: F) -> Self
    where
        F: Fn(&P, Chunk, &Context) -> Result<ChunkOut> + Send + Sync + 'static,
    {
        if self.hooks.chunk.set(Box::new(hook)).is_ok() {
            self.entry.0.hooks.push("chunk".to_owned());
        }
        self
    }

    /// The whole answer before it is stored.
    pub fn output<F>(self, hook: F) -> Self
    where
        F: Fn(&P, Vec<Message>, &Context) -> Result<Processed> + Send + Sync + 'static,
    {
        if self.hooks.output.set(Box::new(hook)).is_ok() {
            self.entry.0.hooks.push("output".to_owned());
        }
        self
    }
}
