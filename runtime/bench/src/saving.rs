//! Saving a file in the ways people's editors and tools do it.

#![expect(clippy::disallowed_methods, reason = "the project's files are saved here, in a temporary folder")]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tokio::time::{Instant, sleep};

/// A way of saving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Opened, cut to nothing, written, closed: all at once.
    InPlace,
    /// Under one open handle: cut to nothing, a pause, the first half, a pause, the rest.
    TwoHalves,
    /// Written beside it, then renamed over it.
    RenameOver,
    /// Deleted, a pause, made anew.
    Recreate,
    /// As vim does it: a swap file, the old one renamed away, a pause, the new one written, both others deleted.
    SwapFile,
}

/// A save: what is written, and how it is torn on the way.
#[derive(Debug, Clone, Copy)]
pub struct Save<'a> {
    /// The file.
    pub file: &'a Path,
    /// What it holds afterwards.
    pub text: &'a str,
    /// Where [`Way::TwoHalves`] cuts, in bytes.
    pub cut: usize,
    /// How long the file is away, empty or half.
    pub pause: Duration,
}

impl Way {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::InPlace, Self::TwoHalves, Self::RenameOver, Self::Recreate, Self::SwapFile];

    /// For people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InPlace => "in place",
            Self::TwoHalves => "two halves",
            Self::RenameOver => "rename over",
            Self::Recreate => "delete and recreate",
            Self::SwapFile => "swap file",
        }
    }

    /// Saves, and gives the moment from which the file stood whole and closed under its name.
    ///
    /// # Errors
    /// When the system refuses.
    pub async fn save(self, save: Save<'_>) -> anyhow::Result<Instant> {
        let outcome = match self {
            Self::InPlace => fs::write(save.file, save.text).map(|()| Instant::now()).map_err(Into::into),
            Self::TwoHalves => two_halves(save).await,
            Self::RenameOver => rename_over(save),
            Self::Recreate => recreate(save).await,
            Self::SwapFile => swap_file(save).await,
        };
        outcome.with_context(|| format!("failed to save `{}` ({})", save.file.display(), self.name()))
    }
}

async fn two_halves(save: Save<'_>) -> anyhow::Result<Instant> {
    let (first, rest) = save.text.as_bytes().split_at_checked(save.cut).context("the cut is beyond the text")?;
    let mut file = File::create(save.file)?;
    sleep(save.pause / 2).await;
    file.write_all(first)?;
    sleep(save.pause).await;
    file.write_all(rest)?;
    drop(file);
    Ok(Instant::now())
}

fn rename_over(save: Save<'_>) -> anyhow::Result<Instant> {
    let beside = hidden(save.file, "tmp");
    fs::write(&beside, save.text)?;
    fs::rename(&beside, save.file)?;
    Ok(Instant::now())
}

async fn recreate(save: Save<'_>) -> anyhow::Result<Instant> {
    fs::remove_file(save.file)?;
    sleep(save.pause).await;
    fs::write(save.file, save.text)?;
    Ok(Instant::now())
}

async fn swap_file(save: Save<'_>) -> anyhow::Result<Instant> {
    let swap = hidden(save.file, "swp");
    let mut backup = save.file.as_os_str().to_owned();
    backup.push("~");
    fs::write(&swap, "b0VIM 9.1")?;
    fs::rename(save.file, &backup)?;
    sleep(save.pause).await;
    let mut file = File::create(save.file)?;
    file.write_all(save.text.as_bytes())?;
    file.sync_all()?;
    drop(file);
    let whole = Instant::now();
    fs::remove_file(backup)?;
    fs::remove_file(swap)?;
    Ok(whole)
}

/// `agents/.clerk.toml.swp` of `agents/clerk.toml`.
fn hidden(file: &Path, ending: &str) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!(".{name}.{ending}"))
}

#[cfg(test)]
mod tests;
