//! `roster import mastra`: what Mastra stored, in the sessions database.

mod report;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roster_model::id::{AgentId, ResourceId};
use roster_storage::sqlite::{ImportError, ImportOptions, ImportReport, NewOwner, try_import_mastra};

use super::progress::Told;
use super::{ImportArgs, store};
use crate::assemble::{self, Project, told};
use crate::error::{Exit, HostError};
use crate::{log, output};

/// Imports the file, also while runtimes serve, and says what became of it.
///
/// # Errors
/// [`HostError`] for names that are none, a file that is not Mastra's, or a database that cannot be used.
pub(super) fn run(root: Option<&Path>, args: &ImportArgs) -> Result<Exit, HostError> {
    log::start_quiet()?;
    let project = assemble::read(root)?;
    let options = options(&project, args)?;
    let told = Arc::new(Mutex::new(Some(Told::new("reading messages"))));
    let progress = {
        let told = Arc::clone(&told);
        move |done, total| lock(&told).iter_mut().for_each(|told| told.tell(done, total))
    };
    let imported = if args.dry_run {
        try_import_mastra(&args.file, &store::database(&project)?, options, &progress)
    } else {
        let store = store::opened_or_made(&project)?;
        assemble::runtime()?.block_on(async {
            let imported = store.import_mastra(&args.file, options, Arc::new(progress)).await;
            store.close().await;
            imported
        })
    };
    // Ends its line before anything else is printed.
    drop(lock(&told).take());
    let report = imported.map_err(|error| failed(&error))?;
    output::print(report::text(&report, args)?)?;
    Ok(exit(&report))
}

fn lock(told: &Mutex<Option<Told>>) -> MutexGuard<'_, Option<Told>> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rows that were left out are problems; the rest is imported all the same.
fn exit(report: &ImportReport) -> Exit {
    if report.left_out() == 0 { Exit::Good } else { Exit::Problems }
}

/// An owner that has the id of an agent is what Studio named its threads by: they become that agent's own, as on the
/// Mastra routes. What is asked for wins.
fn options(project: &Project, args: &ImportArgs) -> Result<ImportOptions, HostError> {
    let own = |id: &AgentId| {
        let agent = project.files.agents.iter().find(|agent| agent.id == *id)?;
        agent.definition.as_ref().map(|definition| definition.resource.clone())
    };
    let agents = project.files.agents.iter().map(|agent| &agent.id);
    let mut owners: HashMap<String, NewOwner> = agents
        .clone()
        .filter_map(|id| Some((id.to_string(), NewOwner { resource: own(id)?, agent: Some(id.clone()) })))
        .collect();
    for pair in &args.resource {
        let Some((old, new)) = pair.split_once('=') else {
            return Err(HostError::environment(format!("`--resource {pair}` names no new owner"))
                .hint("write it as OLD=NEW, such as `--resource chat-agent=user:ada`"));
        };
        let resource = ResourceId::new(new).map_err(|fault| HostError::environment(fault.to_string()))?;
        let agent = agents.clone().find(|id| id.as_str() == old).cloned();
        owners.insert(old.to_owned(), NewOwner { resource, agent });
    }
    let agent = args.agent.as_ref().map(|name| match agents.clone().find(|id| id.as_str() == name) {
        Some(id) => Ok(id.clone()),
        None => Err(HostError::environment(format!("unknown agent `{name}`"))
            .hint("`roster agents` lists those that are registered")),
    });
    Ok(ImportOptions { owners, agent: agent.transpose()? })
}

fn failed(error: &ImportError) -> HostError {
    let (message, hint) = told(error);
    hint.into_iter().fold(HostError::environment(message), HostError::hint)
}
