//! `memory/1`: conversations kept by a plugin.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roster_abi::contract::{
    Append, Closed, Contribution, Created, Deleted, Erased, Messages, NewThread, Of, Open, Opened, Page, Row, Rows,
    Save, Seqs, SetWorking, Tail, Thread, Threads, UpdateThread, Versioned, Working, kind,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::registry::{Entry, Invocation, Registry, schema_of};

/// A memory that a factory made. What each method owes stands with its input in `roster_abi::contract`; `Ok` of a write
/// means durable. The same thread id under two resources is two threads. May be called by several threads at once.
pub trait Memory: Send + Sync + 'static {
    /// Appends messages, all or none, and makes the thread first if it is to; the same key again writes nothing and gives
    /// the same numbers.
    fn append(&self, input: Append) -> Result<Seqs>;
    /// Writes a message, or overwrites the one of its id in place.
    fn save(&self, input: Save) -> Result<Seqs>;
    /// The newest rows, oldest first.
    fn tail(&self, input: Tail) -> Result<Rows>;
    /// A page of rows.
    fn messages(&self, input: Messages) -> Result<Page<Row>>;
    /// Makes a thread, or gives the one that is there.
    fn create_thread(&self, input: NewThread) -> Result<Created>;
    /// A thread.
    fn thread(&self, input: Of) -> Result<Option<Thread>>;
    /// A page of an owner's threads.
    fn threads(&self, input: Threads) -> Result<Page<Thread>>;
    /// Changes fields.
    fn update_thread(&self, input: UpdateThread) -> Result<Thread>;
    /// Deletes a thread and those of its sub-agents, also where it is not here itself.
    fn delete_thread(&self, input: Of) -> Result<Deleted>;
    /// The working memory of a thread or an owner.
    fn working_memory(&self, input: Of) -> Result<Option<Working>>;
    /// Writes it, if its version is still the one that was seen.
    fn set_working_memory(&self, input: SetWorking) -> Result<Versioned>;
    /// Everything of an owner goes.
    fn erase(&self, input: Of) -> Result<Erased>;
}

type Opener<P> = Box<dyn Fn(&P, Value) -> Result<Arc<dyn Memory>> + Send + Sync>;

struct Factory<P> {
    open: Opener<P>,
    next: AtomicU64,
    /// In every handle: no instance gives one that another gave.
    instance: u64,
    memories: Mutex<HashMap<String, Arc<dyn Memory>>>,
}

impl<P: Plugin> Registry<P> {
    /// A memory factory; definitions name it `<plugin>:<id>`. It is called when an agent that names it is registered, once for
    /// all agents that give it the same `config`, and once more in each new instance of the plugin.
    pub fn memory_factory<C, M, F>(&mut self, id: &str, description: &str, open: F) -> Entry<'_>
    where
        C: DeserializeOwned + JsonSchema,
        M: Memory,
        F: Fn(&P, C) -> Result<M> + Send + Sync + 'static,
    {
        let about = Contribution {
            kind: kind::MEMORY_FACTORY.to_owned(),
            contract: "memory/1".to_owned(),
            id: id.to_owned(),
            description: description.to_owned(),
            config_schema: Some(schema_of::<C>()),
            ..Contribution::default()
        };
        let opener = move |plugin: &P, config: Value| {
            let config = if config.is_null() { json!({}) } else { config };
            let config = serde_json::from_value(config);
            let config =
                config.map_err(|error| Error::invalid(format!("the memory's `config` does not fit: {error}")))?;
            Ok(Arc::new(open(plugin, config)?) as Arc<dyn Memory>)
        };
        let factory = Factory {
            open: Box::new(opener),
            next: AtomicU64::new(1),
            instance: RandomState::new().hash_one(id),
            memories: Mutex::new(HashMap::new()),
        };
        self.add(about, move |call| factory.serve(call))
    }
}

impl<P> Factory<P> {
    fn memories(&self) -> MutexGuard<'_, HashMap<String, Arc<dyn Memory>>> {
        self.memories.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, call: Invocation<P>) {
        match call.method.as_str() {
            "open" => call.answer(|plugin, Open { config }, _| {
                let memory = (self.open)(plugin, config)?;
                let handle = format!("{:016x}-{}", self.instance, self.next.fetch_add(1, Ordering::Relaxed));
                self.memories().insert(handle.clone(), memory);
                Ok(Opened { handle })
            }),
            "close" => call.answer(|_, Opened { handle }, _| {
                self.memories().remove(&handle);
                Ok(Closed {})
            }),
            _ => self.dispatch(call),
        }
    }

    fn dispatch(&self, call: Invocation<P>) {
        let memory = match self.memory_of(&call) {
            Ok(memory) => memory,
            Err(error) => return call.responder.fail(&error),
        };
        match call.method.as_str() {
            "append" => call.answer(|_, input, _| memory.append(input)),
            "save" => call.answer(|_, input, _| memory.save(input)),
            "tail" => call.answer(|_, input, _| memory.tail(input)),
            "messages" => call.answer(|_, input, _| memory.messages(input)),
            "create_thread" => call.answer(|_, input, _| memory.create_thread(input)),
            "thread" => call.answer(|_, input, _| Ok(json!({ "thread": memory.thread(input)? }))),
            "threads" => call.answer(|_, input, _| memory.threads(input)),
            "update_thread" => call.answer(|_, input, _| Ok(json!({ "thread": memory.update_thread(input)? }))),
            "delete_thread" => call.answer(|_, input, _| memory.delete_thread(input)),
            "working_memory.get" => call.answer(|_, input, _| Ok(json!({ "memory": memory.working_memory(input)? }))),
            "working_memory.set" => call.answer(|_, input, _| memory.set_working_memory(input)),
            "erase" => call.answer(|_, input, _| memory.erase(input)),
            _ => {
                let error = call.unknown_method();
                call.responder.fail(&error);
            }
        }
    }

    fn memory_of(&self, call: &Invocation<P>) -> Result<Arc<dyn Memory>> {
        #[derive(Deserialize)]
        struct Handle {
            handle: String,
        }
        let Handle { handle } = call.read()?;
        let known = self.memories().get(&handle).cloned();
        known.ok_or_else(|| {
            let message = format!("there is no open memory `{handle}`: handles die with the instance");
            Error::with(roster_abi::code::E_NOT_FOUND, "no_such_handle", message)
        })
    }
}
