//! Host services: input and output of `arp_host.request`. A service that is not granted gives `E_DENIED`.
//!
//! `kv.get` [`KvKey`] → [`KvValue`] · `kv.put` [`KvPut`] → `{}` · `kv.delete` [`KvKey`] → `{}` · `kv.list` [`KvList`] →
//! [`KvKeys`] (grant `kv`; the namespace is the plugin's key in the configuration) · `secret.get` [`SecretGet`] →
//! [`Secret`] (grant `secret:NAME`) · `http.fetch` [`Fetch`] → [`Fetched`] (grant `http:HOST`) · `metric.add`
//! [`MetricAdd`] → `{}` (grant `metric`).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Names one value.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KvKey {
    /// At most 512 bytes.
    pub key: String,
}

/// Output of `kv.get`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KvValue {
    /// `null` when there is none.
    pub value: Value,
}

/// Input of `kv.put`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KvPut {
    /// At most 512 bytes.
    pub key: String,
    /// Any JSON.
    pub value: Value,
}

/// Input of `kv.list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KvList {
    /// What the keys begin with.
    #[serde(default)]
    pub prefix: String,
}

/// Output of `kv.list`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct KvKeys {
    /// In order.
    pub keys: Vec<String>,
}

/// Input of `secret.get`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SecretGet {
    /// The name in the grant.
    pub name: String,
}

/// Output of `secret.get`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Secret {
    /// The secret itself. Left out of debug output.
    pub value: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// Input of `http.fetch`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fetch {
    /// `GET` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// `http://` or `https://`.
    pub url: String,
    /// Header fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// Text of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Milliseconds; the host's own limit when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// Output of `http.fetch`: also for statuses that are errors. No answer at all is a fault (`http_unreachable`,
/// `http_timeout`, `http_too_large`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Fetched {
    /// HTTP status.
    pub status: u16,
    /// Header fields, names in lower case.
    #[serde(default)]
    pub headers: Map<String, Value>,
    /// The body as text; bytes that are no UTF-8 are replaced.
    #[serde(default)]
    pub body: String,
}

/// Input of `metric.add`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MetricAdd {
    /// Letters, digits and `_`; shown as `roster_plugin_custom_total{plugin,name}`.
    pub name: String,
    /// Not negative.
    pub value: f64,
}
