//! The binary `roster`.

use std::process::ExitCode;

fn main() -> ExitCode {
    roster_host::main()
}
