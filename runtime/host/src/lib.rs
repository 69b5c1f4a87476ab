//! The binary: command line, paths, configuration, assembly, shutdown.
//!
//! Only this room knows the project's paths, the environment and signals. Reading order: [`cli`] (what can be asked),
//! [`paths`] and [`config`] (what people write), [`assemble`] and [`catalog`] (how a runtime is put together),
//! [`serve`] and [`shutdown`] (how it runs and ends); [`render`], [`output`] and [`log`] are what people read.

pub mod assemble;
pub mod catalog;
pub mod cli;
pub mod clock;
pub mod config;
mod conversations;
pub mod embedders;
mod environment;
pub mod error;
mod folders;
mod listing;
pub mod log;
mod mcp;
pub mod output;
pub mod paths;
pub mod plugins;
pub mod reload;
pub mod render;
pub mod serve;
pub mod shutdown;
mod watch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::error::Exit;

/// Does what the command line asks and gives the exit code.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(refused) => {
            // Help and version come this way too; a reader that went away is no failure.
            let _ = refused.print();
            let exit = if refused.use_stderr() { Exit::Environment } else { Exit::Good };
            return exit.into();
        }
    };
    match catch_unwind(AssertUnwindSafe(|| cli.run())) {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(error)) => {
            output::report(&error);
            error.exit().into()
        }
        // What happened is on stderr already.
        Err(_panic) => Exit::Internal.into(),
    }
}
