//! From a staged copy to a healthy instance: the one sequence, in the runtime's process and in a plugin's own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roster_abi::contract::{Description, kind};
use serde_json::{Map, Value};

use crate::instance::{Instance, Loaded, Surroundings};
use crate::preflight::Manifest;
use crate::refusal::{Refusal, RefusalKind};

/// What to launch.
pub(crate) struct Launch<'a> {
    /// The staged copy.
    pub(crate) path: &'a Path,
    pub(crate) manifest: &'a Manifest,
    pub(crate) config: &'a Map<String, Value>,
    /// Threads for calls that block.
    pub(crate) threads: usize,
    /// The plugin's key, for names of threads.
    pub(crate) key: &'a str,
    /// It came up before, with this very configuration, which is not checked once more.
    pub(crate) known: bool,
    /// Whether the schemas of what it describes are checked here: in a process of its own the runtime does that, and
    /// once. It takes longer than everything else here together.
    pub(crate) schemas: bool,
}

/// How long a plugin that did not come up may take to go away.
const UNDO: Duration = Duration::from_secs(1);
/// The most contributions of one plugin.
const MOST: usize = 1_000;

impl Launch<'_> {
    /// Opens the library and asks what it contributes, without an instance.
    pub(crate) fn facts(&self, around: Surroundings) -> Result<Description, Refusal> {
        self.described(&Loaded::open(self.path, self.manifest, around)?.describe()?)
    }

    /// Opens, checks the configuration against the plugin's schema before any of its state exists, creates, and asks
    /// for its health.
    pub(crate) fn run(&self, around: Surroundings) -> Result<(Arc<Instance>, Description), Refusal> {
        let loaded = Loaded::open(self.path, self.manifest, around)?;
        if !self.known {
            fits(&parse(&loaded.describe()?)?.config_schema, self.config)?;
        }
        let config = Value::Object(self.config.clone()).to_string();
        let instance = loaded.create(config.as_bytes(), self.threads, self.key)?;
        let well = instance.describe().and_then(|bytes| self.described(&bytes)).and_then(|description| {
            instance.health()?;
            Ok(description)
        });
        match well {
            Ok(description) => Ok((instance, description)),
            Err(refusal) => {
                instance.destroy(UNDO);
                Err(refusal)
            }
        }
    }

    fn described(&self, bytes: &[u8]) -> Result<Description, Refusal> {
        if self.schemas { read(bytes) } else { parse(bytes) }
    }
}

fn broken(what: &str) -> Refusal {
    let message = format!("describes itself in a way that cannot be read: {what}");
    Refusal::new(RefusalKind::Abi, message, "tell its author")
}

/// Reads and checks a description, with its schemas.
pub(crate) fn read(bytes: &[u8]) -> Result<Description, Refusal> {
    let description = parse(bytes)?;
    for one in &description.contributes {
        for schema in [&one.input_schema, &one.output_schema, &one.config_schema].into_iter().flatten() {
            if let Err(error) = jsonschema::validator_for(schema) {
                return Err(broken(&format!("a schema of `{}` is no JSON Schema: {error}", one.id)));
            }
        }
    }
    Ok(description)
}

/// Reads a description and checks all but its schemas.
pub(crate) fn parse(bytes: &[u8]) -> Result<Description, Refusal> {
    let description: Description = serde_json::from_slice(bytes).map_err(|error| broken(&error.to_string()))?;
    if description.contributes.len() > MOST {
        return Err(broken(&format!("{} contributions, more than {MOST}", description.contributes.len())));
    }
    let mut seen = std::collections::HashSet::new();
    for one in &description.contributes {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if one.id.is_empty() || one.id.len() > 64 || !one.id.chars().all(legal) {
            return Err(broken(&format!("`{}` is no id of a contribution", one.id.escape_debug())));
        }
        if !seen.insert((&one.kind, &one.id)) {
            return Err(broken(&format!("the {} `{}` is there twice", one.kind, one.id)));
        }
        if one.kind == kind::TOOL && one.input_schema.as_ref().is_some_and(|schema| !schema.is_object()) {
            return Err(broken(&format!("the input schema of `{}` is no object", one.id)));
        }
    }
    Ok(description)
}

/// Checks a configuration against the plugin's schema.
fn fits(schema: &Value, config: &Map<String, Value>) -> Result<(), Refusal> {
    if schema.is_null() {
        return Ok(());
    }
    let faults = faults(schema, config).map_err(|error| {
        Refusal::new(
            RefusalKind::Abi,
            format!("has a schema of its configuration that is none: {error}"),
            "tell its author",
        )
    })?;
    if faults.is_empty() {
        return Ok(());
    }
    let message = format!("was given a configuration that it does not take: {}", faults.join("; "));
    let help = "`roster plugins inspect` shows the schema; the values stand in the plugin's `config` table";
    Err(Refusal::new(RefusalKind::Config, message, help))
}

/// What of a configuration does not fit a schema, the first few faults; an error: the schema is none.
pub(crate) fn faults(schema: &Value, config: &Map<String, Value>) -> Result<Vec<String>, String> {
    let validator = jsonschema::validator_for(schema).map_err(|error| error.to_string())?;
    let value = Value::Object(config.clone());
    let told = |error: jsonschema::ValidationError<'_>| match error.instance_path().as_str() {
        "" => masked(&error),
        place => format!("`{}`: {}", place.trim_start_matches('/').replace('/', "."), masked(&error)),
    };
    Ok(validator.iter_errors(&value).take(8).map(told).collect())
}

/// The value may be a secret.
fn masked(error: &jsonschema::ValidationError<'_>) -> String {
    error.masked_with("the value").to_string()
}

/// Runs a step of the plugin's own on a thread, and stops waiting after `timeout`: what hangs is left behind.
pub(crate) fn within<T: Send + 'static>(
    timeout: Duration,
    name: &str,
    run: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let (send, receive) = std::sync::mpsc::channel();
    let body = move || drop(send.send(run()));
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map_err(|error| Refusal::system("no thread", &error))?;
    receive.recv_timeout(timeout).unwrap_or_else(|_| {
        let message = format!("did not start within {} ms", timeout.as_millis());
        Err(Refusal::new(RefusalKind::Start, message, "see its log lines above, or raise its `start_timeout`"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn faults_show_no_value_wherever_they_are() {
        let schemas = [
            json!({"oneOf": [{"required": ["file"]}, {"required": ["address"]}]}),
            json!({"properties": {"token": {"type": "integer"}}}),
            json!({"additionalProperties": false}),
        ];
        let config = json!({"token": "s3cret"});
        for schema in schemas {
            let found = faults(&schema, config.as_object().unwrap()).unwrap();
            assert!(found.len() == 1 && !found[0].contains("s3cret"), "{found:?}");
        }
    }
}
