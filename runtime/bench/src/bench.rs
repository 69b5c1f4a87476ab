//! A run: builds, measures scenario by scenario, reports.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use roster_testkit::scripted::{Reply, ScriptedServer};
use tokio::sync::OnceCell;

use crate::conditions::Conditions;
use crate::options::Options;
use crate::project::Project;
use crate::report::{Outcome, Report};
use crate::scenario::{self, Scenario};
use crate::subject::{self, Subject};

/// What the model always says; eight frames when streamed.
pub(crate) const ANSWER: &str = "The third box on the left weighs three kilograms.";

/// What scenarios share.
pub struct Bench {
    /// True: few and short rounds.
    pub quick: bool,
    workspace: PathBuf,
    dir: PathBuf,
    binary: OnceCell<PathBuf>,
    model_server: ScriptedServer,
}

impl Bench {
    async fn new(options: &Options) -> anyhow::Result<Self> {
        let workspace = workspace();
        let dir = options.dir.clone().unwrap_or_else(|| workspace.join("target"));
        create(&dir)?;
        let dir = dir.canonicalize()?;
        let model_server = ScriptedServer::builder().without_records().start().await;
        model_server.always(Reply::text(ANSWER));
        let binary = OnceCell::new_with(options.binary.clone());
        Ok(Self { quick: options.quick, workspace, dir, binary, model_server })
    }

    /// The model server that answers at once: the baseline, and what the measured runtime asks.
    #[must_use]
    pub fn model_server(&self) -> &ScriptedServer {
        &self.model_server
    }

    /// A fresh project with an empty store.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn project(&self) -> anyhow::Result<Project> {
        Project::make(&self.dir, self.model_server.address())
    }

    /// Where projects are made.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The runtime's binary: the one named, or the one built by the first call.
    ///
    /// # Errors
    /// When the build fails.
    pub async fn binary(&self) -> anyhow::Result<&Path> {
        let build = async || {
            self.tell(
                "building `roster` in release, which takes minutes the first time; --binary measures one that is there",
            )?;
            subject::build(&self.workspace).await
        };
        let binary = self.binary.get_or_try_init(build).await?;
        Ok(binary)
    }

    /// Starts the runtime over `project`.
    ///
    /// # Errors
    /// When it cannot be built or does not serve.
    pub async fn start(&self, project: &Project) -> anyhow::Result<Subject> {
        Subject::start(self.binary().await?, project.root()).await
    }

    /// Says on stderr how far a scenario is.
    ///
    /// # Errors
    /// When nobody reads it any more.
    pub fn tell(&self, how_far: &str) -> io::Result<()> {
        writeln!(io::stderr(), "{how_far}")
    }

    /// `full`, or `quick` in a quick run.
    pub fn choose<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// Runs what the options ask for, prints the table to stdout and writes the JSON. Exit code 1 when a scenario failed;
/// a missed target is printed and changes nothing: machines differ.
///
/// # Errors
/// When nothing can be measured or written.
pub async fn run(options: Options) -> anyhow::Result<ExitCode> {
    let bench = Bench::new(&options).await?;
    let chosen: Vec<&Scenario> =
        if options.scenarios.is_empty() { scenario::ALL.iter().collect() } else { options.scenarios };
    // Before the conditions are looked at: a build loads the machine.
    if chosen.iter().any(|scenario| scenario.starts_roster) {
        bench.binary().await?;
    }
    let conditions = Conditions::observe(&bench.dir, &bench.workspace, bench.quick)?;
    let mut report = Report { conditions, outcomes: Vec::new() };
    for scenario in chosen {
        writeln!(io::stderr(), "{}: {}", scenario.name, scenario.about)?;
        report.outcomes.push(measure(&bench, scenario).await);
    }
    io::stdout().write_all(report.table().as_bytes())?;
    if let Some(file) = &options.json {
        write(file, &report.json()?)?;
    }
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn measure(bench: &Bench, scenario: &Scenario) -> Outcome {
    match (scenario.run)(bench).await {
        Ok(figures) => Outcome { scenario: scenario.name, figures, error: None },
        Err(error) => Outcome { scenario: scenario.name, figures: Vec::new(), error: Some(format!("{error:#}")) },
    }
}

/// The folder of the virtual manifest: this program is always run from its own tree.
fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new(".")).to_path_buf()
}

fn create(dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("failed to make `{}`", dir.display()))
}

#[expect(clippy::disallowed_methods, reason = "the report's file is this program's product")]
fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("failed to write `{}`", file.display()))
}
