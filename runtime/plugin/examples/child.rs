//! The own process of a plugin, for this room's tests; the runtime's own binary does the same as `roster plugin-host`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(roster_plugin::child::run())
}
