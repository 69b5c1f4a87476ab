//! `roster new agent`: a definition to start from, and its line in the registry.

mod registry_line;
#[cfg(test)]
mod tests;

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use roster_model::id::AgentId;

use self::registry_line::{LineFault, with_line};
use super::NewAgentArgs;
use crate::assemble;
use crate::config::project::agents::key;
use crate::config::read_file;
use crate::error::{Exit, HostError};
use crate::output;
use crate::paths::{AGENTS_FOLDER, REGISTRY_FILE};

const SCHEMA_FILE: &str = "docs/schema/agent.schema.json";

/// Makes the agent. Refuses whatever exists already.
///
/// # Errors
/// [`HostError`] when the id is none or taken, the model is unknown, or a file cannot be written; nothing is left
/// half done.
pub(super) fn run(root: Option<&Path>, args: &NewAgentArgs) -> Result<Exit, HostError> {
    let id = AgentId::new(&args.id).map_err(|fault| {
        HostError::environment(format!("`{}` is no agent id: {fault}", args.id))
            .hint("lowercase letters, digits, `.`, `_` and `-`, for example `roster new agent poet`")
    })?;
    let project = assemble::read(root)?;
    assemble::check_model(&project, &args.model)?;
    let root = project.root.as_path();
    let line_file = format!("{id}.toml");
    let file = format!("{AGENTS_FOLDER}/{line_file}");
    let registry = new_registry(root, &id, &line_file)?;
    let definition = root.join(&file);
    write_new(&definition, &definition_text(&id, &args.model)).map_err(|error| refused(&file, &error))?;
    if let Err(error) = replace(&root.join(REGISTRY_FILE), &registry) {
        // Without its line the file would only be a puzzle.
        let _ = fs::remove_file(&definition);
        return Err(HostError::environment(format!("cannot write `{REGISTRY_FILE}`: {error}")));
    }
    output::print(told(root, &id, &file, &line_file))?;
    Ok(Exit::Good)
}

fn told(root: &Path, id: &AgentId, file: &str, line_file: &str) -> String {
    let schema = match root.join(SCHEMA_FILE).exists() {
        true => String::new(),
        false => format!("  mkdir -p docs/schema && roster schema agent > {SCHEMA_FILE}   # editors then help\n"),
    };
    format!(
        "made `{file}`\nadded `{} = \"{line_file}\"` to `{REGISTRY_FILE}`\nnext:\n{schema}  edit its instructions\n  \
         roster check\n  roster chat {id} \"Hello\"\nA runtime that is serving takes it up by itself.\n",
        key(id.as_str()),
    )
}

fn new_registry(root: &Path, id: &AgentId, file: &str) -> Result<String, HostError> {
    let unreadable = |what: String| {
        HostError::environment(format!("`{REGISTRY_FILE}` {what}")).hint("`roster check` shows what is wrong with it")
    };
    let text = match read_file(&root.join(REGISTRY_FILE)) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| unreadable("is no UTF-8 text".to_owned()))?,
        Err(crate::config::ReadFailure::Missing) => String::new(),
        Err(failure) => return Err(unreadable(failure.to_string())),
    };
    with_line(&text, id.as_str(), file).map_err(|fault| match fault {
        LineFault::Taken => HostError::environment(format!("agent `{id}` is already registered"))
            .hint(format!("its line stands in `{REGISTRY_FILE}`; choose another id")),
        LineFault::Unreadable => unreadable("cannot be parsed".to_owned()),
    })
}

fn refused(file: &str, error: &io::Error) -> HostError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return HostError::environment(format!("`{file}` exists already")).hint(format!(
            "choose another id, or add the line for it to `{REGISTRY_FILE}` by hand: `roster check` shows which"
        ));
    }
    HostError::environment(format!("cannot write `{file}`: {error}"))
}

fn definition_text(id: &AgentId, model: &str) -> String {
    let model = toml_edit::Value::from(model);
    format!(
        r#"#:schema ../{SCHEMA_FILE}
id = "{id}"
name = "{name}"
description = "What this agent is for, in one sentence."

# What the model is told before every conversation. Nothing in it is expanded.
instructions = """
You are a helpful assistant. Answer briefly and say so when you do not know.
"""

# An alias of config/runtime.toml, or "provider/model".
model = {model}

# Remembers each conversation and feeds the newest 10 messages of it; without this line there is no memory at all.
memory = "create_memory"

# What it may use, and which other agents it may ask.
# tools = ["get_time", "get_weather"]
# agents = ["chat-agent"]
"#,
        name = readable(id.as_str()),
    )
}

/// `tea-master` → `Tea Master`.
fn readable(id: &str) -> String {
    let words = id.split(['-', '_', '.']).filter(|word| !word.is_empty()).map(|word| {
        let (first, rest) = word.split_at(1);
        format!("{}{rest}", first.to_uppercase())
    });
    words.collect::<Vec<_>>().join(" ")
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Replaces a file as a whole: a reader sees the old one or the new one. A link stays one, and so do the permissions.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
    let mut new: PathBuf = target.clone();
    new.set_extension(format!("toml.{}.new", std::process::id()));
    let result = write_new(&new, text).and_then(|()| {
        if let Ok(metadata) = fs::metadata(&target) {
            fs::set_permissions(&new, metadata.permissions())?;
        }
        fs::rename(&new, &target)
    });
    if result.is_err() {
        let _ = fs::remove_file(&new);
    }
    result
}
