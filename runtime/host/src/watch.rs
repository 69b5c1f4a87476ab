//! Watching: says *that* something moved, never what it is now. Folders are watched, never files: editors replace
//! files, and a watch on a file would stay with the old one.

mod folders;
mod hint;
mod links;

pub(crate) use folders::Watch;
pub(crate) use hint::{Hint, Seen};
pub(crate) use links::link_folders;

#[cfg(test)]
mod tests;
