//! Which pages of a browser may call, and under which names this listener may be called.
//!
//! Two dangers: a page of another site calling a runtime on somebody's own machine, and a foreign name pointed at
//! 127.0.0.1. Against the first stand the origin rules and the JSON content type, against the second the `Host` rule.

use std::net::IpAddr;

use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, HOST, HeaderMap, HeaderValue,
    ORIGIN, VARY,
};
use http::{Method, StatusCode, Uri, Version};

use crate::http::error::ApiError;

/// What `Host` and `Origin` of a request come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No page: curl, a program.
    None,
    /// A page that may call and read.
    Allowed(HeaderValue),
    /// A page of this very address: nothing to add.
    Same,
    /// Any other page.
    Foreign,
}

/// The host of `host:port`, without port, brackets or user.
fn host_of(authority: &str) -> &str {
    let authority = authority.rsplit_once('@').map_or(authority, |(_, rest)| rest);
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split_once(']').map_or("", |(host, _)| host);
    }
    authority.split_once(':').map_or(authority, |(host, _)| host)
}

fn is_loopback_host(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Refuses a foreign name on a loopback listener. A request without a name (HTTP/1.0) comes from no browser.
///
/// # Errors
/// 403.
pub(crate) fn check_host(loopback: bool, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
    if !loopback {
        return Ok(());
    }
    let named = uri.authority().map(|authority| authority.as_str().as_bytes());
    let named = named.into_iter().chain(headers.get_all(HOST).iter().map(HeaderValue::as_bytes));
    for name in named {
        if !std::str::from_utf8(name).is_ok_and(|name| is_loopback_host(host_of(name))) {
            let message = "this listener answers only to `localhost`, `127.0.0.1` and `[::1]`";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_host", message));
        }
    }
    Ok(())
}

/// Refuses what only a broken or a hostile client sends: HTTP/1.1 without a `Host`, or with two. Some server before or
/// behind us could read another name out of it.
///
/// # Errors
/// 400.
pub(crate) fn check_one_host(version: Version, headers: &HeaderMap) -> Result<(), ApiError> {
    match headers.get_all(HOST).iter().count() {
        1 => Ok(()),
        0 if version != Version::HTTP_11 => Ok(()),
        _ => Err(ApiError::invalid("a request of HTTP/1.1 must have one header `Host`")),
    }
}

/// Sorts the request's `Origin`.
pub(crate) fn origin(allowed: &[String], auth_on: bool, loopback: bool, uri: &Uri, headers: &HeaderMap) -> Origin {
    let Some(value) = headers.get(ORIGIN) else { return Origin::None };
    let Ok(text) = value.to_str() else { return Origin::Foreign };
    let authority = text.split_once("://").map(|(_, authority)| authority);
    let listed = allowed.iter().any(|entry| entry == text || (entry == "*" && auth_on));
    let local = loopback && authority.is_some_and(|authority| is_loopback_host(host_of(authority)));
    if listed || local {
        return Origin::Allowed(value.clone());
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| uri.authority().map(http::uri::Authority::as_str));
    if authority.is_some() && authority == host { Origin::Same } else { Origin::Foreign }
}

/// The answer to a preflight, if the request is one.
pub(crate) fn preflight(method: &Method, headers: &HeaderMap, origin: &Origin) -> Option<Response> {
    if *method != Method::OPTIONS || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = Response::new(axum::body::Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    if matches!(origin, Origin::Allowed(_)) {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET,POST,PUT,PATCH,DELETE,OPTIONS"));
        headers.insert(
            ACCESS_CONTROL_ALLOW_HEADERS,
            HeaderValue::from_static(
                "Content-Type,Authorization,X-Conversation-Id,A2A-Version,x-mastra-client-type,x-mastra-dev-playground,\
                 Mcp-Session-Id,Mcp-Protocol-Version,Mcp-Method,Mcp-Name,Last-Event-ID",
            ),
        );
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("3600"));
    }
    Some(allow(origin, response))
}

/// Refuses a change asked for by a page that may not call: a "simple" cross-site request is sent without a preflight.
///
/// # Errors
/// 403.
pub(crate) fn check_write(method: &Method, origin: &Origin) -> Result<(), ApiError> {
    if *origin == Origin::Foreign && !method.is_safe() {
        let message = "pages of this origin may not call; add it to `cors` of this listener in the configuration";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "origin_not_allowed", message));
    }
    Ok(())
}

/// Lets an allowed page read the answer. Credentials are never allowed.
pub(crate) fn allow(origin: &Origin, mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if let Origin::Allowed(value) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, value.clone());
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "Content-Length,X-Requested-With,X-Conversation-Id,Retry-After,X-Should-Retry,Mcp-Session-Id",
            ),
        );
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &'static str, fine: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(name));
        assert_eq!(check_host(true, &Uri::from_static("/"), &headers).is_ok(), fine, "{name}");
        assert!(check_host(false, &Uri::from_static("/"), &headers).is_ok(), "{name}");
    }

    #[test]
    fn only_loopback_names_on_loopback() {
        for name in ["localhost", "LOCALHOST:8787", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:8787", "127.0.0.9"] {
            host(name, true);
        }
        for name in
            ["evil.test", "localhost.evil.test:8787", "127.0.0.1.evil.test", "", "[::2]", "a@evil.test", "10.0.0.1"]
        {
            host(name, false);
        }
        let absolute = Uri::from_static("http://evil.test/health");
        assert!(check_host(true, &absolute, &HeaderMap::new()).is_err());
    }

    fn sorts(text: &'static str, allowed: &[&str], auth_on: bool, loopback: bool) -> Origin {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, HeaderValue::from_static(text));
        headers.insert(HOST, HeaderValue::from_static("app.example:80"));
        let allowed: Vec<String> = allowed.iter().map(|entry| (*entry).to_owned()).collect();
        origin(&allowed, auth_on, loopback, &Uri::from_static("/"), &headers)
    }

    fn allowed(text: &'static str) -> Origin {
        Origin::Allowed(HeaderValue::from_static(text))
    }

    #[test]
    fn origins_are_loopback_listed_or_foreign() {
        assert_eq!(sorts("http://localhost:3000", &[], false, true), allowed("http://localhost:3000"));
        assert_eq!(sorts("http://[::1]:3000", &[], false, true), allowed("http://[::1]:3000"));
        assert_eq!(sorts("http://localhost:3000", &[], false, false), Origin::Foreign);
        assert_eq!(sorts("https://a.example", &["https://a.example"], false, true), allowed("https://a.example"));
        assert_eq!(sorts("https://b.example", &["https://a.example"], false, true), Origin::Foreign);
        assert_eq!(sorts("https://b.example", &["*"], false, true), Origin::Foreign, "a star needs auth");
        assert_eq!(sorts("https://b.example", &["*"], true, true), allowed("https://b.example"));
        assert_eq!(sorts("http://app.example:80", &[], false, false), Origin::Same);
        assert_eq!(sorts("null", &[], false, true), Origin::Foreign);
        assert_eq!(sorts("http://localhost.evil.test", &[], false, true), Origin::Foreign);
    }
}
