//! `roster models`: what can be named as a model or an embedder, and the import of weights.

use std::fmt::Write as _;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use roster_embed::local::import::{HINT, ImportError};
use roster_embed::local::{import, is_imported};
use serde_json::json;

use super::progress::Told;
use super::{ModelsCommand, running};
use crate::assemble::{self, Project};
use crate::embedders::LOCAL_WEIGHTS;
use crate::error::{Exit, HostError};
use crate::output;

/// Lists, or imports.
///
/// # Errors
/// [`HostError`] when there is no project, or the weights cannot be imported.
pub(super) fn run(root: Option<&Path>, what: Option<&ModelsCommand>) -> Result<Exit, HostError> {
    match what {
        None => list(&assemble::read(root)?),
        Some(ModelsCommand::Import { from }) => bring_in(&assemble::root(root)?, from),
    }
}

fn list(project: &Project) -> Result<Exit, HostError> {
    let weights = project.root.join(LOCAL_WEIGHTS);
    let local = match is_imported(&weights) {
        true => format!("weights in {LOCAL_WEIGHTS}, {}", size_of(&weights)),
        false => "no weights yet; these get them:".to_owned(),
    };
    let mut text = line("EMBEDDER", "WHAT IT IS");
    text.push_str(&line("hash", "built in; compares letters and words"));
    text.push_str(&line("local", &format!("compares by meaning in 16 languages; {local}")));
    if !is_imported(&weights) {
        // The commands of the hint, each on a line that can be copied.
        HINT.split('`').skip(1).step_by(2).for_each(|command| text.push_str(&line("", &format!("  {command}"))));
    }
    text.push_str(&line("ALIAS", "MODEL"));
    let models = &project.config()?.models;
    for (alias, model) in models.aliases() {
        text.push_str(&line(alias, &models.shown(alias, model)));
    }
    output::print(text)?;
    Ok(Exit::Good)
}

fn line(name: &str, what: &str) -> String {
    format!("{name:<12}  {what}\n")
}

/// Unpacks weights. Runtimes that serve take them up.
fn bring_in(root: &Path, from: &Path) -> Result<Exit, HostError> {
    let weights = root.join(LOCAL_WEIGHTS);
    // `.temp` may not be there yet, and is its owner's alone.
    if let Some(models) = weights.parent() {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(models);
        made.map_err(|error| HostError::environment(format!("`{}` cannot be made: {error}", models.display())))?;
    }
    let mut told = Told::new("unpacking the weights");
    let imported = import(from, &weights, &mut |progress| told.tell(progress.done, progress.total));
    drop(told);
    imported.map_err(|error| not_imported(from, &error))?;
    let mut text = format!("imported into {LOCAL_WEIGHTS}, {}\n", size_of(&weights));
    let serving = running::ask(root, &json!({"command": "reload"})).len();
    if serving > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "the runtime that serves was told; nothing needs a restart");
    }
    output::print(text)?;
    Ok(Exit::Good)
}

fn not_imported(from: &Path, error: &ImportError) -> HostError {
    let message = format!("`{}` was not imported: {error}", from.display());
    match error {
        ImportError::Read { .. } | ImportError::NotFound | ImportError::OtherFile { .. } => {
            HostError::environment(message).hint(HINT)
        }
        ImportError::Write(_) => HostError::environment(message).hint("make room, or give the right to write there"),
        ImportError::Busy => HostError::environment(message).hint("wait for it"),
        ImportError::Form { .. } => HostError::Internal(message),
    }
}

/// How much the files of a folder take, in megabytes of ten to the sixth.
#[expect(clippy::disallowed_methods, reason = "the host's own folder of weights")]
fn size_of(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes: u64 = entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum();
    format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}
