//! The project that is measured: a few agents, or many, over one model server.

#![expect(clippy::disallowed_methods, reason = "the project's files are made here, in a temporary folder")]

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use tempfile::TempDir;

/// The agent without memory.
pub const PLAIN: &str = "plain";
/// The agent with memory.
pub const KEEPER: &str = "keeper";
/// The model's name at the model server.
pub const MODEL: &str = "scripted-1";

/// A project folder of its own; dropping it deletes it.
#[derive(Debug)]
pub struct Project {
    dir: TempDir,
}

impl Project {
    /// Makes the folder below `parent`, with its agents asking the model server at `model_server`.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn make(parent: &Path, model_server: SocketAddr) -> anyhow::Result<Self> {
        Self::of(parent, model_server, two_agents(""))
    }

    /// The same with these agents: ids, and what stands in their files.
    ///
    /// # Errors
    /// When the files cannot be written.
    pub fn of(
        parent: &Path,
        model_server: SocketAddr,
        agents: impl IntoIterator<Item = (String, String)>,
    ) -> anyhow::Result<Self> {
        let dir = tempfile::Builder::new()
            .prefix("roster-bench-")
            .tempdir_in(parent)
            .with_context(|| format!("failed to make a project below `{}`", parent.display()))?;
        let root = dir.path();
        fs::create_dir_all(root.join("agents"))?;
        fs::create_dir_all(root.join("config"))?;
        fs::write(root.join("config/runtime.toml"), runtime(model_server))?;
        let mut registry = "[agents]\n".to_owned();
        for (id, text) in agents {
            fs::write(root.join(format!("agents/{id}.toml")), text)?;
            registry.push_str(&format!("{id} = \"{id}.toml\"\n"));
        }
        fs::write(root.join("config/registry.toml"), registry)?;
        Ok(Self { dir })
    }

    /// Its root.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    /// Sets what stands in the runtime's `[limits]`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn limit(&self, limits: &str) -> anyhow::Result<()> {
        let file = self.root().join("config/runtime.toml");
        let text = fs::read_to_string(&file)?;
        Ok(fs::write(file, format!("{text}\n[limits]\n{limits}"))?)
    }

    /// The sessions database.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.root().join(".temp/roster.db")
    }

    /// An agent's file.
    #[must_use]
    pub fn agent_file(&self, id: &str) -> PathBuf {
        self.root().join(format!("agents/{id}.toml"))
    }
}

fn runtime(model_server: SocketAddr) -> String {
    format!(
        "[project]\nname = \"bench\"\n\n[models]\ndefault = \"scripted/{MODEL}\"\n\n[models.providers.scripted]\n\
         dialect = \"openai\"\nbase_url = \"http://{model_server}/v1\"\n"
    )
}

/// The agent without memory and the one with it, both with these lines besides: ids, and what stands in their files.
#[must_use]
pub fn two_agents(lines: &str) -> [(String, String); 2] {
    [(PLAIN, ""), (KEEPER, "memory = \"create_memory\"\n")].map(|(id, memory)| agent(id, &format!("{lines}{memory}")))
}

/// An agent's id and file; `lines` come after what all have.
#[must_use]
pub fn agent(id: &str, lines: &str) -> (String, String) {
    (id.to_owned(), format!("id = \"{id}\"\ninstructions = \"Answer in one short line.\"\n{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_whole_and_goes_away() {
        let parent = tempfile::tempdir().expect("a folder");
        let address = SocketAddr::from(([127, 0, 0, 1], 9));
        let project = Project::make(parent.path(), address).expect("written");
        let read = |file: &str| fs::read_to_string(project.root().join(file)).expect("there");
        assert!(read("config/runtime.toml").contains("base_url = \"http://127.0.0.1:9/v1\"\n"));
        assert!(read("config/runtime.toml").starts_with("[project]\n"));
        assert_eq!(read("config/registry.toml"), "[agents]\nplain = \"plain.toml\"\nkeeper = \"keeper.toml\"\n");
        assert!(!read("agents/plain.toml").contains("memory"));
        assert!(read("agents/keeper.toml").ends_with("memory = \"create_memory\"\n"));
        drop(project);
        assert_eq!(fs::read_dir(parent.path()).expect("there").count(), 0);
    }
}
