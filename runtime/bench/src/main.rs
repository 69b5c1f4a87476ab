//! `cargo run --release -p roster-bench -- [--scenario NAME] [--json FILE] [--quick]`

use std::process::ExitCode;

use clap::Parser;
use roster_bench::bench;
use roster_bench::options::Options;

fn main() -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(bench::run(Options::parse()))
}
