//! From an answer to what the model is told: bounded, text only.

use reqwest::{Response, Url, header};
use roster_model::tool::ToolError;
use serde::Serialize;
use serde_json::Value;

use super::{failed, html, refused};

/// Bytes of a body that are read.
const MOST_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of text that are told.
pub(super) const MOST_TEXT: usize = 64 * 1024;

#[derive(Debug, Serialize)]
struct Page {
    /// The address in the end.
    url: String,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    text: String,
    /// Whether the end is missing.
    truncated: bool,
}

/// Reads the answer.
pub(super) async fn read(url: &Url, mut response: Response) -> Result<Value, ToolError> {
    let of = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (content_type, last_modified) = (of(header::CONTENT_TYPE), of(header::LAST_MODIFIED));
    if let Some(coding) = of(header::CONTENT_ENCODING).filter(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(refused("bad_answer", format!("the body is compressed with `{coding}`, which was not asked for")));
    }
    let form = Form::of(content_type.as_deref())?;
    let status = response.status().as_u16();
    let mut body = Vec::new();
    let mut truncated = false;
    while let Some(piece) = response.chunk().await.map_err(|fault| failed(url, &fault))? {
        let room = MOST_BYTES - body.len();
        body.extend_from_slice(&piece[..piece.len().min(room)]);
        if piece.len() > room {
            truncated = true;
            break;
        }
    }
    let text = form.decode(&body);
    let (title, mut text) = if form.html { html::to_text(&text) } else { (None, text) };
    if text.len() > MOST_TEXT {
        truncated = true;
        text.truncate(text.floor_char_boundary(MOST_TEXT));
    }
    let url = url.to_string();
    let page = Page { url, status, content_type, last_modified, title, text, truncated };
    serde_json::to_value(page).map_err(|fault| refused("internal", fault.to_string()))
}

/// How the bytes are to be read.
struct Form {
    html: bool,
    /// Bytes are characters (ISO 8859-1 as browsers read it), not UTF-8.
    latin: bool,
}

impl Form {
    fn of(content_type: Option<&str>) -> Result<Self, ToolError> {
        let content_type = content_type.unwrap_or("text/plain").to_ascii_lowercase();
        let mut parts = content_type.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let known =
            ["application/json", "application/xml", "application/javascript", "application/toml", "application/yaml"];
        let text = kind.starts_with("text/")
            || kind.ends_with("+json")
            || kind.ends_with("+xml")
            || kind == "application/x-ndjson"
            || known.contains(&kind);
        if !text {
            return Err(refused("not_text", format!("it is `{kind}`; only text can be read")));
        }
        let charset = parts.find_map(|part| part.strip_prefix("charset=")).map(|name| name.trim_matches(['"', '\'']));
        let latin = match charset {
            None | Some("utf-8" | "utf8" | "us-ascii" | "ascii") => false,
            Some("iso-8859-1" | "latin1" | "windows-1252") => true,
            Some(other) => {
                return Err(refused(
                    "not_text",
                    format!("its characters are coded as `{other}`; UTF-8 and Latin 1 can be read"),
                ));
            }
        };
        Ok(Self { html: matches!(kind, "text/html" | "application/xhtml+xml"), latin })
    }

    fn decode(&self, body: &[u8]) -> String {
        if self.latin {
            body.iter().copied().map(char::from).collect()
        } else {
            String::from_utf8_lossy(body).into_owned()
        }
    }
}
