//! `GET /`: one page, everything in it. What is registered is written into it here, for those who may read it, so that
//! it is there without any script; the script keeps it fresh by asking for this very page again.

mod filter;
mod html;
mod list;
mod waiting;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, VARY, X_FRAME_OPTIONS,
};
use sha2::{Digest, Sha256};

use crate::app::{App, Scope};
use crate::http::identity::{Access, identify};
use crate::http::query::Params;
use crate::http::route::Route;
use filter::Filter;
use html::Html;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/", Access::Public, page)]
}

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Where the gateway is unless the host says otherwise.
const DEFAULT_GATEWAY: &str = "127.0.0.1:8787";
/// The example's agent when none serves.
const DEFAULT_AGENT: &str = "chat-agent";
/// A filter is worth its place from so many agents on.
const MANY: usize = 9;

/// The page with its style and script in place.
static WHOLE: LazyLock<String> = LazyLock::new(|| PAGE.replace("{{style}}", STYLE).replace("{{script}}", SCRIPT));

/// Only the page's own style and script, by their hashes; it talks to its own listener alone.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT)),
    );
    HeaderValue::try_from(policy).ok()
});

async fn page(State(app): State<Arc<App>>, params: Params, headers: HeaderMap) -> Response {
    let config = app.config.load();
    let may_read = identify(&config.auth, Access::Needs(Scope::Admin), &headers).is_ok();
    let gateway = config.gateway_address.map_or_else(|| DEFAULT_GATEWAY.to_owned(), shown);
    let mut marks = Marks { gateway, ..Marks::new(&app) };
    if may_read {
        marks.registry(&app, &Filter::of(&params));
        let turns = app.operator.all_suspended(waiting::SHOWN).await.ok();
        marks.waiting = waiting::list(turns.as_deref()).into_string();
    }
    let mut response = Response::new(marks.fill(&WHOLE).into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.append(VARY, HeaderValue::from_static("Authorization"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
    if let Some(policy) = &*POLICY {
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    }
    response
}

/// What is filled into the page. Everything is markup or escaped already.
struct Marks {
    gateway: String,
    version: &'static str,
    health: &'static str,
    /// The attribute that hides the form asking for a token.
    login: &'static str,
    /// The same for the filter.
    filter: &'static str,
    words: String,
    /// The same for what only somebody who reloads can do.
    control: &'static str,
    example: String,
    registry: String,
    waiting: String,
}

const HIDDEN: &str = "hidden";
const LOCKED: &str = "<p class=\"empty\">What is registered is shown to holders of a token with the scope \
                      <code>admin</code>.</p>";

impl Marks {
    /// For everybody.
    fn new(app: &App) -> Self {
        Self {
            gateway: String::new(),
            version: app.version,
            health: if app.operator.health().is_ok() { "ok" } else { "degraded: the sessions store is unavailable" },
            login: "",
            filter: HIDDEN,
            words: String::new(),
            control: HIDDEN,
            example: DEFAULT_AGENT.to_owned(),
            registry: LOCKED.to_owned(),
            waiting: String::new(),
        }
    }

    /// For operators.
    fn registry(&mut self, app: &App, filter: &Filter) {
        let snapshot = app.registry.snapshot();
        let controlled = app.control.is_some();
        self.login = HIDDEN;
        self.filter = if snapshot.entries.len() >= MANY || !filter.words.is_empty() { "" } else { HIDDEN };
        self.control = if controlled { "" } else { HIDDEN };
        let mut words = Html::default();
        words.text(&filter.words);
        self.words = words.into_string();
        if let Some(first) = snapshot.serving().next() {
            self.example = first.definition.id.to_string();
        }
        self.registry = list::list(&snapshot, filter, controlled).into_string();
    }

    fn value(&self, name: &str) -> &str {
        match name {
            "gateway" => &self.gateway,
            "version" => self.version,
            "health" => self.health,
            "login" => self.login,
            "filter" => self.filter,
            "words" => &self.words,
            "control" => self.control,
            "example" => &self.example,
            "registry" => &self.registry,
            "waiting" => &self.waiting,
            _ => "",
        }
    }

    /// In one pass: what is filled in is never looked at for marks again.
    fn fill(&self, page: &str) -> String {
        let mut filled = String::with_capacity(page.len() + self.registry.len());
        let mut rest = page;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").unwrap_or_default();
            filled.push_str(before);
            filled.push_str(self.value(name));
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

/// An address to type into a terminal on this machine: the unspecified address is no place to connect to.
fn shown(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("127.0.0.1:{}", address.port()) } else { address.to_string() }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let all = group.iter().fold(0_u32, |all, byte| (all << 8) | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let letter = LETTERS[(all >> (18 - 6 * place)) as usize & 63];
            text.push(if place > group.len() { '=' } else { letter as char });
        }
    }
    text
}

#[cfg(test)]
mod tests;
