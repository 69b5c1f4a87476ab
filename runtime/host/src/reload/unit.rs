//! An agent's file together with its instructions file: both make one value and settle together.

use std::path::Path;
use std::sync::Arc;

use roster_engine::definition::{Definition, Loaded, Positions, Problem, Unreadable, load_agent, text};
use roster_model::id::AgentId;
use roster_model::ledger::Version;

use super::skeleton::skeleton;
use super::stamp::{Digest, Stamp, Stamps, digest};
use super::tracked::Tracked;
use crate::config::Environment;
use crate::config::ReadFailure;
use crate::config::project::agents::missing_keys;
use crate::config::project::files::AgentsFolder;
use crate::paths::AGENTS_FOLDER;

/// One agent's file, and what was taken from it.
#[derive(Default)]
pub(super) struct Unit {
    pub(super) tracked: Tracked,
    pub(super) value: Value,
    /// The instructions file named when the file was last read, taken or not.
    pub(super) beside: Option<Arc<str>>,
}

/// What was taken.
#[derive(Default)]
pub(super) enum Value {
    /// Nothing yet.
    #[default]
    Untaken,
    /// That it cannot be read.
    Failed(ReadFailure),
    /// What stands in it, with or without errors.
    Loaded(Box<Text>),
}

/// What stands in a file.
pub(super) struct Text {
    /// `None` when an error stands among the problems.
    pub(super) definition: Option<Arc<Definition>>,
    /// Where names stand.
    pub(super) positions: Arc<Positions>,
    /// What is wrong with the file by itself.
    pub(super) problems: Vec<Problem>,
    /// The text of its instructions file.
    instructions: Option<String>,
    /// Whether the texts are all there; when they are not needed any more, only lines with names in them are kept.
    whole: bool,
}

/// A reading of a unit.
pub(super) struct Reading {
    pub(super) stamps: Stamps,
    pub(super) digest: Digest,
    pub(super) value: Value,
    pub(super) beside: Option<Arc<str>>,
}

impl Reading {
    /// Whether it can serve. A file with errors, or none, is looked at again before it is taken.
    pub(super) fn is_good(&self) -> bool {
        matches!(&self.value, Value::Loaded(text) if text.definition.is_some())
    }
}

impl Unit {
    /// The stamps of its files now.
    pub(super) fn stamps(&self, agents: &Path, name: &str) -> Stamps {
        let beside = self.beside.as_deref().and_then(|beside| Stamp::of(&agents.join(beside)));
        [Stamp::of(&agents.join(name)), beside]
    }

    /// The digest of its contents now, without looking into them.
    pub(super) fn digest(&self, folder: &AgentsFolder, name: &str) -> Digest {
        let main = folder.read(name);
        let beside = self.beside.as_deref().filter(|_| main.is_ok()).map(|beside| folder.read(beside));
        digest([Some(main), beside].iter().flatten().map(|read| read.as_deref().map_err(ToString::to_string)))
    }

    /// What was taken from the file, when it could be read.
    pub(super) fn text(&self) -> Option<&Text> {
        match &self.value {
            Value::Loaded(text) => Some(text),
            _ => None,
        }
    }

    /// Drops the texts of a file that is served and has no problem to show.
    pub(super) fn slim(&mut self) {
        if let Value::Loaded(text) = &mut self.value
            && text.whole
            && text.problems.is_empty()
        {
            text.positions = Arc::new(skeleton(&text.positions));
            text.instructions = None;
            text.whole = false;
        }
    }
}

impl Text {
    /// The text for the ledger, if it is this version's and still there.
    pub(super) fn version(&self, agent: &AgentId, fingerprint: &str) -> Option<Version> {
        let mine = self.whole && self.definition.as_ref().is_some_and(|mine| mine.fingerprint == fingerprint);
        mine.then(|| Version {
            agent: agent.clone(),
            fingerprint: fingerprint.to_owned(),
            text: self.positions.source.to_string(),
            instructions: self.instructions.clone(),
        })
    }
}

/// Reads a file, and the instructions file it names.
pub(super) fn read(folder: &AgentsFolder, agents: &Path, name: &str, environment: Environment<'_>) -> Reading {
    let mut stamps = [Stamp::of(&agents.join(name)), None];
    let bytes = match folder.read(name) {
        Ok(bytes) => bytes,
        Err(failure) => {
            let digest = digest([Err(failure.to_string())]);
            return Reading { stamps, digest, value: Value::Failed(failure), beside: None };
        }
    };
    let seen = std::cell::RefCell::new(None);
    let hand_over = |path: &str| {
        // Before reading: what changes in between is then seen as a change.
        let stamp = Stamp::of(&agents.join(path));
        let content = folder.read(path);
        *seen.borrow_mut() = Some((Arc::<str>::from(path), stamp, content.clone()));
        content.map_err(Unreadable::from)
    };
    let Loaded { definition, positions, mut problems } =
        load_agent(&format!("{AGENTS_FOLDER}/{name}"), &bytes, &hand_over);
    let (mut beside, mut other) = (None, None);
    if let Some((path, stamp, content)) = seen.into_inner() {
        stamps[1] = stamp;
        beside = Some(path);
        other = Some(content);
    }
    let contents = std::iter::once(Ok(bytes.as_slice()));
    let digest = digest(contents.chain(other.iter().map(|read| read.as_deref().map_err(ToString::to_string))));
    let instructions = other.and_then(Result::ok).and_then(|bytes| text::decode(name, &bytes).ok());
    problems.extend(definition.iter().flat_map(|definition| missing_keys(definition, &positions, environment)));
    let definition = definition.map(Arc::new);
    let text = Text { definition, positions: Arc::new(positions), problems, instructions, whole: true };
    Reading { stamps, digest, value: Value::Loaded(Box::new(text)), beside }
}

/// Loads a version from its texts alone, as the ledger keeps them.
pub(super) fn of_version(version: &Version, file: &str) -> Loaded {
    let beside = |_: &str| match &version.instructions {
        Some(text) => Ok(text.clone().into_bytes()),
        None => Err(Unreadable::Missing),
    };
    load_agent(file, version.text.as_bytes(), &beside)
}
