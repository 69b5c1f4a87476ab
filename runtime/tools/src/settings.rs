//! Reading a tool's own settings: every key known, every value checked, a hint for each fault.

use reqwest::Url;
use roster_model::tool::SettingsError;
use serde_json::{Map, Value};

/// How alike two keys must be (Jaro-Winkler, 0 to 1) for one to be offered in place of the other.
const ALIKE: f64 = 0.8;

/// Refuses keys that are not among `known`.
///
/// # Errors
/// [`SettingsError`] names the first unknown key and, where one is near, the key that was probably meant.
pub fn refuse_unknown(settings: &Map<String, Value>, tool: &str, known: &[&str]) -> Result<(), SettingsError> {
    let Some(key) = settings.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    Err(SettingsError {
        key: key.clone(),
        message: format!("unknown setting `{key}` of tool `{tool}`"),
        help: Some(help_for(key, known)),
    })
}

fn help_for(key: &str, known: &[&str]) -> String {
    if let Some(meant) = nearest(key, known.iter().copied()) {
        return format!("did you mean `{meant}`?");
    }
    if known.is_empty() {
        return "this tool has no settings of its own".to_owned();
    }
    let names: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    format!("known settings: {}", names.join(", "))
}

/// The candidate most like `text`, ignoring case, when one is alike enough.
fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let text = text.to_lowercase();
    candidates
        .map(|candidate| (strsim::jaro_winkler(&text, &candidate.to_lowercase()), candidate))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// The address under `key`, or `default`: up to and including the version. An address without a path gets `/v1`, as
/// the public services have it; a closing slash is dropped, and so is `leaf`, the name of the one thing asked there,
/// when somebody wrote the address down to it.
///
/// # Errors
/// [`SettingsError`] when the value is no text, no `http` or `https` address, or holds credentials, a query or a
/// fragment: a definition holds no secrets, and the tool writes the query itself.
pub fn base_url(settings: &Map<String, Value>, key: &str, default: &str, leaf: &str) -> Result<Url, SettingsError> {
    let text = match settings.get(key) {
        None => default,
        Some(Value::String(text)) => text.trim(),
        Some(_) => return Err(fault(key, "must be a text", default)),
    };
    let mut url = Url::parse(text).map_err(|_| fault(key, "is no web address", default))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault(key, "must begin with `http://` or `https://`", default));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault(key, "must not hold credentials", default));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault(key, "must not hold a query or a fragment", default));
    }
    let path = url.path().trim_end_matches('/');
    let path = path.strip_suffix(leaf).filter(|rest| rest.ends_with('/')).unwrap_or(path);
    let path = path.trim_end_matches('/').to_owned();
    url.set_path(if path.is_empty() { "/v1" } else { &path });
    Ok(url)
}

fn fault(key: &str, what: &str, default: &str) -> SettingsError {
    SettingsError {
        key: key.to_owned(),
        message: format!("`{key}` {what}"),
        help: Some(format!("for example `{key} = \"{default}\"`")),
    }
}
