//! `roster serve`, also `roster` alone.

use std::path::Path;

use super::{Only, ServeArgs};
use crate::assemble;
use crate::error::{Exit, HostError};
use crate::log;
use crate::serve::{Plan, serve};
use crate::shutdown::Signals;

/// Serves until a signal says to stop.
///
/// # Errors
/// [`HostError`] for whatever keeps it from starting.
pub(super) fn run(root: Option<&Path>, args: &ServeArgs) -> Result<Exit, HostError> {
    log::start(args.log_format.unwrap_or_default())?;
    let plan = plan(args)?;
    let signals = Signals::catch().map_err(|error| HostError::Internal(format!("no signals: {error}")))?;
    let project = assemble::read_config(root)?;
    let runtime = assemble::runtime()?;
    let result = runtime.block_on(serve(project, &plan, signals));
    // Whoever still runs now was given up when the time for draining was over.
    runtime.shutdown_background();
    result
}

fn plan(args: &ServeArgs) -> Result<Plan, HostError> {
    let plan = Plan {
        gateway: args.gateway.clone(),
        studio: args.studio.clone(),
        no_gateway: args.only == Some(Only::Studio),
        no_studio: args.only == Some(Only::Gateway),
        log_format: args.log_format.unwrap_or_default(),
    };
    if (plan.no_gateway && plan.gateway.is_some()) || (plan.no_studio && plan.studio.is_some()) {
        return Err(HostError::environment("an address is given for a listener that `--only` leaves out")
            .hint("drop one of the two options"));
    }
    Ok(plan)
}
