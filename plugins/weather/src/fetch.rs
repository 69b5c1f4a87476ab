//! One question to the weather service, and what its failures are called.

use roster_sdk::contract::Fetch;
use roster_sdk::prelude::*;
use serde::de::DeserializeOwned;

const TIMEOUT_MS: u64 = 8_000;

/// Asks an address with these parameters and reads its JSON.
pub(crate) fn json<T: DeserializeOwned>(cx: &Context, address: &str, query: &[(&str, &str)]) -> Result<T> {
    let mut url = address.to_owned();
    for (at, (name, value)) in query.iter().enumerate() {
        url.push(if at == 0 { '?' } else { '&' });
        url.push_str(name);
        url.push('=');
        encode(&mut url, value);
    }
    let fetched = cx.host().fetch(&Fetch { url, timeout_ms: Some(TIMEOUT_MS), ..Fetch::default() })?;
    match fetched.status {
        200 => serde_json_from(&fetched.body),
        429 | 500.. => {
            let message = format!("the weather service is overloaded (HTTP {})", fetched.status);
            Err(Error::new("weather_unavailable", message).retryable())
        }
        status => {
            Err(Error::new("weather_refused", format!("the weather service refused the question (HTTP {status})")))
        }
    }
}

fn serde_json_from<T: DeserializeOwned>(body: &str) -> Result<T> {
    let value: Value = body.parse().map_err(|_| unreadable("no JSON"))?;
    T::deserialize(value).map_err(|error| unreadable(&error.to_string()))
}

pub(crate) fn unreadable(why: &str) -> Error {
    Error::new("weather_unreadable", format!("the weather service's answer cannot be read: {why}"))
}

/// Percent-encodes as RFC 3986 wants it for a value of a query.
fn encode(url: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~,".contains(&byte) {
            url.push(byte.into());
        } else {
            url.push_str(&format!("%{byte:02X}"));
        }
    }
}
