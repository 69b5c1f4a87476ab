//! Text embedders that need no network.
//!
//! [`hash`] compares texts by their words and letters and is always there. [`local`] compares them by meaning, across
//! sixteen languages, with the weights of a sentence encoder that [`local::import`] unpacks into a folder.
//!
//! What is *not* here: embedders behind HTTP (the provider room), vectors' storage and search, the project's paths:
//! folders are handed in.

pub mod hash;
pub mod local;
