//! Host services: what is asked, whether it is granted, the answer.

use roster_abi::code::{E_DENIED, E_INTERNAL, E_INVALID, E_NOT_FOUND, E_UNSUPPORTED};
use roster_abi::contract::{
    Fetch as FetchInput, Fetched, KvKey, KvKeys, KvList, KvPut, KvValue, MetricAdd, Secret, SecretGet,
};
use roster_model::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::HostAsks;
use crate::settings::Grant;

/// Why a request of a plugin's gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchError {
    /// `http_unreachable`, `http_timeout`, `http_too_large`, `http_invalid`.
    pub code: &'static str,
    /// For the plugin's author.
    pub message: String,
}

/// Asks the network for plugins. Follows no redirects: where they lead was not granted.
pub trait Fetch: Send + Sync + 'static {
    /// Does one request; the address was checked against the grants.
    fn fetch(&self, request: FetchInput) -> BoxFuture<'_, Result<Fetched, FetchError>>;
}

/// A request that is not answered.
pub(super) struct Denial {
    pub(super) status: i32,
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl Denial {
    fn new(status: i32, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into() }
    }
}

impl HostAsks {
    pub(super) async fn answer(&self, service: &str, input: &[u8]) -> Result<Value, Denial> {
        match service {
            "kv.get" | "kv.put" | "kv.delete" | "kv.list" => {
                self.granted(&Grant::Kv, "kv")?;
                self.kv(service, input).await
            }
            "secret.get" => self.secret(input),
            "http.fetch" => self.fetch(input).await,
            "metric.add" => self.metric(input),
            _ => Err(Denial::new(E_UNSUPPORTED, "unsupported", format!("this runtime has no service `{service}`"))),
        }
    }

    fn granted(&self, grant: &Grant, written: &str) -> Result<(), Denial> {
        if self.settings.grants.contains(grant) {
            return Ok(());
        }
        let text = format!(
            "not granted: the operator adds \"{written}\" to `grants` under [plugins.{}] if it is meant",
            self.key
        );
        Err(Denial::new(E_DENIED, "denied", text))
    }

    async fn kv(&self, service: &str, input: &[u8]) -> Result<Value, Denial> {
        let kv = &self.around.kv;
        let failed = |message: String| Denial::new(E_INTERNAL, "kv_failed", message);
        match service {
            "kv.get" => {
                let KvKey { key } = read(input)?;
                let value = kv.get(&self.key, &key).await.map_err(failed)?;
                Ok(json!(KvValue { value: value.unwrap_or(Value::Null) }))
            }
            "kv.put" => {
                let KvPut { key, value } = read(input)?;
                kv.put(&self.key, &key, Some(value)).await.map_err(failed)?;
                Ok(json!({}))
            }
            "kv.delete" => {
                let KvKey { key } = read(input)?;
                kv.put(&self.key, &key, None).await.map_err(failed)?;
                Ok(json!({}))
            }
            _ => {
                let KvList { prefix } = read(input)?;
                Ok(json!(KvKeys { keys: kv.list(&self.key, &prefix).await.map_err(failed)? }))
            }
        }
    }

    fn secret(&self, input: &[u8]) -> Result<Value, Denial> {
        let SecretGet { name } = read(input)?;
        self.granted(&Grant::Secret(name.clone()), &format!("secret:{name}"))?;
        let value = (self.around.secrets)(&name);
        let value =
            value.ok_or_else(|| Denial::new(E_NOT_FOUND, "not_found", format!("the variable `{name}` is not set")))?;
        Ok(json!(Secret { value }))
    }

    async fn fetch(&self, input: &[u8]) -> Result<Value, Denial> {
        let request: FetchInput = read(input)?;
        let hosts = hosts_of(&request.url).ok_or_else(|| {
            Denial::new(E_INVALID, "http_invalid", "`url` is no http or https address without credentials")
        })?;
        let named = |host: &String| self.settings.grants.contains(&Grant::Http(host.clone()));
        if !hosts.iter().any(named) {
            let written = hosts.last().map(|host| format!("http:{host}")).unwrap_or_default();
            self.granted(&Grant::Http(String::new()), &written)?;
        }
        match self.around.fetch.fetch(request).await {
            Ok(fetched) => Ok(json!(fetched)),
            Err(FetchError { code, message }) => Err(Denial::new(E_INTERNAL, code, message)),
        }
    }

    fn metric(&self, input: &[u8]) -> Result<Value, Denial> {
        let MetricAdd { name, value } = read(input)?;
        self.granted(&Grant::Metric, "metric")?;
        let legal = !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !legal || !value.is_finite() || value < 0.0 {
            return Err(Denial::new(
                E_INVALID,
                "invalid",
                "`name` holds letters, digits and `_`, `value` is not negative",
            ));
        }
        let taken = self.plugin.upgrade().is_some_and(|plugin| plugin.counters.add_custom(&name, value));
        if taken { Ok(json!({})) } else { Err(Denial::new(E_INVALID, "invalid", "too many names of metrics")) }
    }
}

/// The forms in which a grant may name the host of an address: alone, when its port is the scheme's own, and with the
/// port. `None`: no address that is fetched.
pub(super) fn hosts_of(url: &str) -> Option<Vec<String>> {
    let (scheme, rest) = url.split_once("://")?;
    let own = match scheme.to_ascii_lowercase().as_str() {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest).to_ascii_lowercase();
    if authority.is_empty() || authority.contains('@') || authority.contains(char::is_whitespace) {
        return None;
    }
    let after = authority.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match authority.get(after..)?.rsplit_once(':') {
        Some((_, port)) => (authority.get(..authority.len() - port.len() - 1)?.to_owned(), port.to_owned()),
        None => (authority.clone(), own.to_owned()),
    };
    let with_port = format!("{host}:{port}");
    Some(if port == own { vec![with_port, host] } else { vec![with_port] })
}

fn read<T: DeserializeOwned>(input: &[u8]) -> Result<T, Denial> {
    serde_json::from_slice(input)
        .map_err(|error| Denial::new(E_INVALID, "invalid", format!("the request cannot be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::hosts_of;

    #[test]
    fn the_host_of_an_address_is_what_a_client_would_ask() {
        let check = |url: &str, expected: &[&str]| assert_eq!(hosts_of(url).unwrap_or_default(), expected, "{url}");
        check("https://api.example.org/x", &["api.example.org:443", "api.example.org"]);
        check("HTTP://API.example.org:8080?q", &["api.example.org:8080"]);
        check("http://[::1]:80/", &["[::1]:80", "[::1]"]);
        check("https://api.example.org\\@evil.example/", &["api.example.org:443", "api.example.org"]);
        for url in ["ftp://a/", "https://user@evil.example/", "https:///x", "api.example.org", "https://a b/"] {
            check(url, &[]);
        }
    }
}
