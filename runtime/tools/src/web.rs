//! `http_fetch`: reads a page of the web, from hosts that the definition lists.
//!
//! `hosts` says which hosts may be asked, `address` which addresses: none of a private network, unless the definition
//! allows it. The address is checked where a name is resolved for the connection itself, so that no second answer of the
//! name server can lead elsewhere, and again for each redirect. `page` turns what came into text.

mod address;
mod hosts;
mod html;
mod page;
#[cfg(test)]
mod tests;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Response, Url, header, redirect};
use roster_model::BoxFuture;
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{arguments, settings};
pub use address::{Lookup, SystemLookup};
use address::{Private, PublicOnly};
use hosts::Hosts;

/// The name definitions write.
pub const NAME: &str = "http_fetch";

/// From the first request to the last byte, redirects included.
const TIMEOUT: Duration = Duration::from_secs(20);
/// For one connection.
const CONNECT: Duration = Duration::from_secs(5);
/// Redirects followed.
const MOST_REDIRECTS: usize = 5;
/// What is asked for.
const ACCEPT: &str = "text/html, text/plain;q=0.9, application/json;q=0.9, text/*;q=0.8, application/xml;q=0.7";

/// Makes `http_fetch`. Settings: `hosts`, the hosts it may ask, and `allow_private`.
///
/// Its clients use no proxy: a proxy would resolve names by itself, and nobody could check the address.
pub struct FetchMaker {
    public: Client,
    any: Client,
}

impl FetchMaker {
    /// A maker with clients of its own; names are resolved by `lookup`.
    ///
    /// # Errors
    /// No HTTP client can be made at all.
    pub fn new(lookup: Arc<dyn Lookup>) -> Result<Self, reqwest::Error> {
        let client = || {
            Client::builder()
                .user_agent(concat!("roster/", env!("CARGO_PKG_VERSION")))
                .no_proxy()
                .redirect(redirect::Policy::none())
                .connect_timeout(CONNECT)
                .pool_max_idle_per_host(1)
        };
        let public = client().dns_resolver(Arc::new(PublicOnly::new(lookup))).build()?;
        Ok(Self { public, any: client().build()? })
    }
}

impl ToolMaker for FetchMaker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        settings::refuse_unknown(settings, NAME, &["hosts", "allow_private"])?;
        let hosts = Hosts::read(settings)?;
        let private = match settings.get("allow_private") {
            None => false,
            Some(Value::Bool(private)) => *private,
            Some(_) => {
                let (key, message) =
                    ("allow_private".to_owned(), "`allow_private` must be `true` or `false`".to_owned());
                return Err(SettingsError { key, message, help: None });
            }
        };
        let client = if private { self.any.clone() } else { self.public.clone() };
        Ok(Arc::new(FetchTool { spec: spec(&hosts), client, hosts, private }))
    }
}

struct FetchTool {
    spec: ToolSpec,
    client: Client,
    hosts: Hosts,
    private: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The whole address, beginning with `https://` or `http://`.
    #[schemars(length(min = 1, max = 2000))]
    url: String,
}

impl Tool for FetchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let Arguments { url } = arguments::read(arguments)?;
            let url = Url::parse(url.trim()).map_err(|_| refused("invalid_url", "`url` is no web address"))?;
            match tokio::time::timeout(TIMEOUT, self.get(url)).await {
                Ok(answer) => answer,
                Err(_) => Err(refused("timeout", format!("no answer within {} s", TIMEOUT.as_secs()))),
            }
        })
    }
}

impl FetchTool {
    async fn get(&self, mut url: Url) -> Result<Value, ToolError> {
        for _ in 0..=MOST_REDIRECTS {
            self.may_ask(&url)?;
            let request = self.client.get(url.clone()).header(header::ACCEPT, ACCEPT);
            let response = request.send().await.map_err(|fault| failed(&url, &fault))?;
            match next(&url, &response)? {
                Some(other) => url = other,
                None => return page::read(&url, response).await,
            }
        }
        Err(refused("too_many_redirects", format!("more than {MOST_REDIRECTS} redirects")))
    }

    /// Whether this address may be asked at all. Names are looked at again when they are resolved.
    fn may_ask(&self, url: &Url) -> Result<(), ToolError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refused("invalid_url", "only `http` and `https` addresses can be read"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("invalid_url", "an address with credentials is not read"));
        }
        if !self.hosts.allow(url) {
            let place = hosts::place(url);
            let message = format!("`{place}` is not among the hosts this agent may read: {}", self.hosts);
            return Err(refused("host_not_allowed", message));
        }
        match address::literal(url) {
            Some(address) if !self.private && !address::is_public(address) => Err(private(url)),
            _ => Ok(()),
        }
    }
}

/// Where a redirect leads; `None`: this is the answer.
fn next(url: &Url, response: &Response) -> Result<Option<Url>, ToolError> {
    let status = response.status();
    if !status.is_redirection() || status == reqwest::StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    let Some(location) = location else { return Ok(None) };
    match url.join(location) {
        Ok(other) => Ok(Some(other)),
        Err(_) => Err(refused("bad_answer", "it redirects to something that is no address")),
    }
}

fn failed(url: &Url, fault: &reqwest::Error) -> ToolError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(fault);
    while let Some(error) = cause {
        if error.is::<Private>() {
            return private(url);
        }
        cause = error.source();
    }
    let place = hosts::place(url);
    if fault.is_timeout() {
        return refused("timeout", format!("`{place}` did not answer in time"));
    }
    refused("unreachable", format!("`{place}` cannot be reached"))
}

fn private(url: &Url) -> ToolError {
    let place = hosts::place(url);
    refused("private_address", format!("`{place}` lies in a private network, which this agent may not read"))
}

fn refused(code: &'static str, message: impl Into<String>) -> ToolError {
    ToolError { code, message: message.into() }
}

fn spec(hosts: &Hosts) -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: format!("Reads a web page or a text file by its address. It may ask these hosts: {hosts}."),
        input_schema: arguments::schema_of::<Arguments>(),
    }
}
