//! A project in a folder of its own.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use roster_testkit::scripted::ScriptedServer;
use tempfile::TempDir;

pub struct Project {
    dir: TempDir,
}

impl Project {
    /// A project of the demo model, without agents.
    pub fn new() -> Self {
        Self::with_runtime("[models]\ndefault = \"demo/flash\"\n")
    }

    /// A project whose default model is the scripted server.
    pub fn scripted(server: &ScriptedServer) -> Self {
        Self::with_runtime(&format!(
            "[models]\ndefault = \"stub/scripted-1\"\n[models.providers.stub]\ndialect = \"openai\"\nbase_url = \"{}\"\n",
            server.base_url()
        ))
    }

    pub fn with_runtime(more: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("roster-it-").tempdir().expect("a temp folder");
        let project = Self { dir };
        project.write("config/runtime.toml", format!("[project]\nname = \"test\"\n{more}"));
        project.write("config/registry.toml", "[agents]\n");
        fs::create_dir_all(project.path("agents")).expect("agents/");
        project
    }

    /// An agent with a registry line; `body` is what stands below its id.
    pub fn agent(self, id: &str, body: &str) -> Self {
        self.write(&format!("agents/{id}.toml"), format!("id = \"{id}\"\n{body}\n"));
        self.register(id, &format!("{id}.toml"));
        self
    }

    /// An agent with memory.
    pub fn keeper(self) -> Self {
        self.agent("keeper", "instructions = \"Be brief.\"\nmemory = \"create_memory\"")
    }

    /// An agent without memory.
    pub fn plain(self) -> Self {
        self.agent("plain", "instructions = \"Be brief.\"")
    }

    pub fn register(&self, id: &str, file: &str) {
        let mut registry = fs::read_to_string(self.path("config/registry.toml")).expect("registry");
        writeln!(registry, "{id} = \"{file}\"").expect("a String takes everything");
        self.write("config/registry.toml", registry);
    }

    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folder");
        fs::write(path, bytes).expect("write");
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn database(&self) -> PathBuf {
        self.path(".temp/roster.db")
    }
}
