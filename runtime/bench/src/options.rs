//! The command line.

use std::path::PathBuf;

use clap::Parser;

use crate::scenario;

/// Measures Roster: how fast it starts, what it adds to a model call, how many turns it carries.
#[derive(Debug, Clone, Parser)]
#[command(name = "roster-bench", after_help = scenario::help())]
pub struct Options {
    /// Runs only this scenario; may be given several times
    #[arg(long = "scenario", value_name = "NAME", value_parser = scenario::find)]
    pub scenarios: Vec<&'static scenario::Scenario>,
    /// Also writes everything as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Fewer rounds and shorter ones: to see that it works, not to quote
    #[arg(long)]
    pub quick: bool,
    /// Measures this binary instead of building one
    #[arg(long, value_name = "FILE")]
    pub binary: Option<PathBuf>,
    /// Where projects and their databases are made [default: Cargo's target folder]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
