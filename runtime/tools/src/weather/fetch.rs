//! One GET that must give a small JSON body, and the names of its failures.

use std::time::Duration;

use reqwest::{Client, Response, StatusCode, Url};
use roster_model::tool::ToolError;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Largest body read; a good answer has about 1 KiB.
pub(super) const MAX_BODY: usize = 256 * 1024;

/// Asks `base/path?query` and reads the answer.
///
/// # Errors
/// `unreachable`: no connection. `timeout`: the client's own limit. `rate_limited`: 429. `bad_answer`: another status
/// than 200, a body too large, cut off, or not of the expected form.
pub(super) async fn get<T: DeserializeOwned>(
    client: &Client,
    base: &Url,
    path: &str,
    query: &[(&str, &str)],
) -> Result<T, ToolError> {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    let host = base.host_str().unwrap_or_default();
    let response = client.get(url).query(query).send().await.map_err(|fault| refused(host, &fault))?;
    let status = response.status();
    let body = read(response, host).await?;
    if status != StatusCode::OK {
        return Err(wrong_status(status, &body));
    }
    serde_json::from_slice(&body).map_err(|_| bad_answer("the body is not of the expected form"))
}

async fn read(mut response: Response, host: &str) -> Result<Vec<u8>, ToolError> {
    let mut body = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(|fault| cut_off(host, &fault))? {
        if body.len() + piece.len() > MAX_BODY {
            return Err(bad_answer("the body is larger than 256 KiB"));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// What the service says of a refusal.
#[derive(Deserialize)]
struct Refusal {
    reason: String,
}

fn wrong_status(status: StatusCode, body: &[u8]) -> ToolError {
    if status == StatusCode::TOO_MANY_REQUESTS {
        return ToolError {
            code: "rate_limited",
            message: "the weather service refuses further requests for now; try again later".to_owned(),
        };
    }
    let reason = serde_json::from_slice::<Refusal>(body)
        .map(|refusal| format!(": {}", refusal.reason.chars().take(200).collect::<String>()))
        .unwrap_or_default();
    bad_answer(&format!("it answered with status {}{reason}", status.as_u16()))
}

fn refused(host: &str, fault: &reqwest::Error) -> ToolError {
    if fault.is_timeout() {
        return timed_out("in time");
    }
    if fault.is_redirect() {
        return bad_answer("it redirects without end");
    }
    ToolError {
        code: "unreachable",
        message: format!(
            "the weather service at `{host}` cannot be reached; the weather cannot be looked up right now"
        ),
    }
}

fn cut_off(host: &str, fault: &reqwest::Error) -> ToolError {
    if fault.is_timeout() { timed_out("in time") } else { bad_answer(&format!("the body from `{host}` broke off")) }
}

fn timed_out(when: &str) -> ToolError {
    ToolError { code: "timeout", message: format!("the weather service did not answer {when}; try again later") }
}

/// The call as a whole took too long.
pub(super) fn too_slow(limit: Duration) -> ToolError {
    timed_out(&format!("within {} s", limit.as_secs_f64()))
}

/// The service answered, but not with what it should.
pub(super) fn bad_answer(what: &str) -> ToolError {
    ToolError { code: "bad_answer", message: format!("the weather service gave no usable answer: {what}") }
}
