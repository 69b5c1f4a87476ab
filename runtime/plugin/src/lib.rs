//! The plugin host: finds, checks, copies and opens dynamic libraries, in this process or in one of their own, and lets
//! them stand where the runtime expects a tool, a model, an embedder, a memory or an exporter.
//!
//! Reading order: [`settings`] (what an operator says), [`preflight`] (what the bytes say), [`stage`] (the private copy),
//! `library` and `instance` (the two modules with `unsafe`), `launch` (the sequence), [`plugin`] and [`call`] (serving),
//! [`set`] (all of them, watched), [`bridge`] (what the runtime sees), [`frame`] (the channel to another process).

pub mod asks;
pub mod bridge;
pub mod call;
pub mod child;
pub mod counters;
pub mod frame;
mod hello;
pub mod inspect;
mod instance;
mod launch;
mod library;
mod outside;
pub mod plugin;
pub mod preflight;
pub mod refusal;
pub mod set;
pub mod settings;
pub mod stage;
mod status;
