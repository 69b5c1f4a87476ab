//! What a plugin may ask of the host: the log, the clock, and the services the operator granted.

use std::sync::Arc;

use roster_abi::code;
use roster_abi::contract::{Fetch, Fetched, KvKey, KvKeys, KvList, KvPut, KvValue, MetricAdd, Secret, SecretGet};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::table::Table;

mod asking;
mod shared;

pub use asking::Asking;
pub(crate) use shared::Shared;

/// The host, for one instance; cheap to clone and to send to other threads. Within a call take it from
/// [`crate::context::Context::host`], so that what is logged and asked belongs to that call.
#[derive(Clone)]
pub struct Host {
    shared: Arc<Shared>,
    call: u64,
}

impl Host {
    pub(crate) fn new(shared: Arc<Shared>, call: u64) -> Self {
        Self { shared, call }
    }

    pub(crate) fn table(&self) -> Table {
        self.shared.table
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The C table, for plugins that look below this crate.
    #[must_use]
    pub fn raw(&self) -> &'static roster_abi::c::Host {
        self.table().raw()
    }

    /// Writes a line to the host's log: `level` is `LOG_*`, `fields` a JSON object or `null`.
    pub fn log(&self, level: u32, message: &str, fields: &Value) {
        let fields = if fields.is_null() { String::new() } else { fields.to_string() };
        self.table().log(self.call, level, "plugin", message, &fields);
    }

    /// Something failed.
    pub fn error(&self, message: &str) {
        self.log(code::LOG_ERROR, message, &Value::Null);
    }

    /// Something is odd.
    pub fn warn(&self, message: &str) {
        self.log(code::LOG_WARN, message, &Value::Null);
    }

    /// Worth knowing.
    pub fn info(&self, message: &str) {
        self.log(code::LOG_INFO, message, &Value::Null);
    }

    /// For the plugin's author.
    pub fn debug(&self, message: &str) {
        self.log(code::LOG_DEBUG, message, &Value::Null);
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, by the host's clock.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        self.table().clock_unix_ms()
    }

    /// Asks a service by name. [`Asking::wait`] for the answer, or `.await` it. The other methods of this type wait:
    /// they want a plugin exported with `blocking = true`.
    ///
    /// # Errors
    /// When the input cannot be written as JSON, the service is not granted, or `create` did not return yet.
    pub fn ask<T: DeserializeOwned>(&self, service: &str, input: &impl Serialize) -> Result<Asking<T>> {
        let json = serde_json::to_vec(input)?;
        if !self.shared.is_serving() {
            return Err(Error::unsupported("host services answer only after `create` returned"));
        }
        let asking = Asking::new(Arc::clone(&self.shared), self.call);
        match self.table().request(self.call, asking.id(), service, &json) {
            code::OK => Ok(asking),
            code::E_DENIED => Err(Error::denied(format!("`{service}` is not among the plugin's grants"))),
            code::E_UNSUPPORTED => Err(Error::unsupported(format!("this host has no service `{service}`"))),
            code::E_CANCELLED => Err(Error::cancelled()),
            status => Err(Error::with(status, "request_failed", format!("`{service}` was refused ({status})"))),
        }
    }

    fn get<T: DeserializeOwned>(&self, service: &str, input: &impl Serialize) -> Result<T> {
        self.ask(service, input)?.wait()
    }

    /// An HTTP request by the host's own client. Grant: `http:HOST`. A status of 400 and above is an answer, too.
    ///
    /// # Errors
    /// Not granted, no answer, or one that is too large.
    pub fn fetch(&self, fetch: &Fetch) -> Result<Fetched> {
        self.get("http.fetch", fetch)
    }

    /// A secret of the operator's. Grant: `secret:NAME`.
    ///
    /// # Errors
    /// Not granted or not set.
    pub fn secret(&self, name: &str) -> Result<String> {
        let secret: Secret = self.get("secret.get", &SecretGet { name: name.to_owned() })?;
        Ok(secret.value)
    }

    /// A value this plugin put; `None` when there is none. Grant: `kv`.
    ///
    /// # Errors
    /// Not granted, or the store failed.
    pub fn kv_get(&self, key: &str) -> Result<Option<Value>> {
        let found: KvValue = self.get("kv.get", &KvKey { key: key.to_owned() })?;
        Ok(Some(found.value).filter(|value| !value.is_null()))
    }

    /// Puts a value; `Ok` means durable. Grant: `kv`.
    ///
    /// # Errors
    /// Not granted, or the store failed.
    pub fn kv_put(&self, key: &str, value: Value) -> Result<()> {
        let _: Map<String, Value> = self.get("kv.put", &KvPut { key: key.to_owned(), value })?;
        Ok(())
    }

    /// Deletes a value. Grant: `kv`.
    ///
    /// # Errors
    /// Not granted, or the store failed.
    pub fn kv_delete(&self, key: &str) -> Result<()> {
        let _: Map<String, Value> = self.get("kv.delete", &KvKey { key: key.to_owned() })?;
        Ok(())
    }

    /// The keys that begin with `prefix`, in order. Grant: `kv`.
    ///
    /// # Errors
    /// Not granted, or the store failed.
    pub fn kv_list(&self, prefix: &str) -> Result<Vec<String>> {
        let keys: KvKeys = self.get("kv.list", &KvList { prefix: prefix.to_owned() })?;
        Ok(keys.keys)
    }

    /// Adds to a counter of the plugin's own. Grant: `metric`.
    ///
    /// # Errors
    /// Not granted.
    pub fn metric(&self, name: &str, value: f64) -> Result<()> {
        let _: Map<String, Value> = self.get("metric.add", &MetricAdd { name: name.to_owned(), value })?;
        Ok(())
    }
}
