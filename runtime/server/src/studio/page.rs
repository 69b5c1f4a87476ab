//! `GET /`: one plain page, everything in it, that says what is here. The page itself holds no data: its script asks
//! `/admin/registry` and the thread routes, with a token where one is needed.

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use axum::extract::State;
use axum::response::Response;
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, X_FRAME_OPTIONS};
use sha2::{Digest, Sha256};

use crate::app::App;
use crate::http::identity::Access;
use crate::http::route::Route;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/", Access::Public, page)]
}

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// Where the gateway is unless the host says otherwise.
const DEFAULT_GATEWAY: &str = "127.0.0.1:8787";

/// Only the page's own style and script, by their hashes; it talks to its own listener alone.
static POLICY: LazyLock<Option<HeaderValue>> = LazyLock::new(|| {
    let policy = format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        base64(&Sha256::digest(STYLE)),
        base64(&Sha256::digest(SCRIPT)),
    );
    HeaderValue::try_from(policy).ok()
});

async fn page(State(app): State<Arc<App>>) -> Response {
    let gateway = app.config.load().gateway_address.map_or_else(|| DEFAULT_GATEWAY.to_owned(), shown);
    let text = PAGE
        .replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
        .replace("{{gateway}}", &gateway)
        .replace("{{version}}", app.version);
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
    if let Some(policy) = &*POLICY {
        headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    }
    response
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
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standard_one() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_page_is_whole_and_loads_nothing_from_elsewhere() {
        for mark in ["{{style}}", "{{script}}", "{{gateway}}", "{{version}}"] {
            assert!(PAGE.contains(mark), "{mark}");
            assert!(!STYLE.contains(mark) && !SCRIPT.contains(mark), "hashes are of the text as sent: {mark}");
        }
        let all = [PAGE, STYLE, SCRIPT].concat();
        for bad in ["src=", "<link", "@import", "url(", "https://", "innerHTML", " style=\"", " onclick"] {
            assert!(!all.contains(bad), "{bad}");
        }
        assert!(PAGE.contains("<style>{{style}}</style>") && PAGE.contains("<script>{{script}}</script>"));
    }
}
