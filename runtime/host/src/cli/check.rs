//! `roster check`: every problem of every file in one pass, without serving anything.

use std::path::Path;

use roster_engine::definition::Problem;

use super::{CheckArgs, Format};
use crate::assemble;
use crate::error::{Exit, HostError};
use crate::{output, render};

/// Checks the project.
///
/// # Errors
/// [`HostError`] when there is no project to check.
pub(super) fn run(root: Option<&Path>, args: &CheckArgs) -> Result<Exit, HostError> {
    let mut project = assemble::read(root).map_err(|error| also_on_stdout(error, args.format))?;
    let agents = project.files.agents.len();
    let problems = assemble::all_problems(&mut project)?;
    match args.format {
        Format::Json => output::print(json(&problems)?)?,
        Format::Text if problems.is_empty() => output::print(format_args!("no problems: {}\n", counted(agents)))?,
        Format::Text => {
            let text = render::to_text(&problems, &|file| project.source(file), output::stdout_style());
            output::print(text)?;
        }
    }
    let counts = |problem: &Problem| args.strict || problem.is_error();
    Ok(if problems.iter().any(counts) { Exit::Problems } else { Exit::Good })
}

/// For programs: a configuration that cannot be read or used is a list of problems too. The error goes on to stderr and
/// the exit code.
pub(super) fn also_on_stdout(error: HostError, format: Format) -> HostError {
    let HostError::Configuration { problems, .. } = &error else { return error };
    match format {
        Format::Text => error,
        Format::Json => match json(problems).and_then(output::print) {
            Ok(()) => error,
            Err(unwritten) => unwritten,
        },
    }
}

fn json(problems: &[Problem]) -> Result<String, HostError> {
    let text = render::to_json(problems).map_err(|error| HostError::Internal(error.to_string()))?;
    Ok(format!("{text}\n"))
}

fn counted(agents: usize) -> String {
    if agents == 1 { "1 agent".to_owned() } else { format!("{agents} agents") }
}
