//! A server that is reached over HTTP.

use std::collections::HashMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::common::client_side_sse::ExponentialBackoff;
use rmcp::transport::streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpError};

use super::config::Reach;

/// The largest answer, or event, that is read.
const LARGEST: usize = 8 * 1024 * 1024;
/// Calls on their way at once.
const AT_ONCE: usize = 64;

/// The transport; connects with the first message.
///
/// # Errors
/// Says what is wrong with a header, as a fragment without its value.
pub(super) fn transport(
    reach: &Reach,
    client: &reqwest::Client,
) -> Result<StreamableHttpClientTransport<reqwest::Client>, String> {
    let Reach::Http { url, headers } = reach else { return Err("is not reached over HTTP".to_owned()) };
    let mut custom = HashMap::with_capacity(headers.len());
    for (name, value) in headers {
        let legal = HeaderName::from_bytes(name.as_bytes()).ok().zip(HeaderValue::from_str(value).ok());
        let Some((name, mut value)) = legal else {
            return Err(format!("cannot be asked: the header `{name}` is not legal"));
        };
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str()).custom_headers(custom);
    config.max_sse_event_size = LARGEST;
    config.max_json_response_size = LARGEST;
    config.max_error_response_size = 4 * 1024;
    config.max_concurrent_requests = AT_ONCE;
    // A few tries for a stream that broke; after that the connection counts as lost, and is made anew.
    let mut retry = ExponentialBackoff::default();
    retry.max_times = Some(4);
    retry.base_duration = Duration::from_millis(250);
    config.retry_config = Arc::new(retry);
    Ok(StreamableHttpClientTransport::with_client(client.clone(), config))
}

/// The cause at the bottom of an error, which says most: "connection refused".
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    loop {
        // The library does not name the client's own error as a source.
        let of_client = match last.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::Client(inner)) => Some(inner as &(dyn Error + 'static)),
            _ => None,
        };
        match of_client.or_else(|| last.source()) {
            Some(inner) => last = inner,
            None => return last.to_string(),
        }
    }
}
