//! Measurements of the real binary, against calls of the model server without it.
//!
//! A run builds `roster` in release, starts it over a project of its own with a scripted model server that answers at
//! once, asks it over real connections, and prints a table and JSON with the conditions it was measured under. Every
//! figure that is compared has its baseline measured in the same run, in alternation with it. Reading order:
//! [`options`], [`bench`], [`scenario`], [`subject`], [`door`], [`load`], [`sample`], [`report`]; for reloading
//! [`saving`], [`witness`], [`asking`]; for what was stored before [`filler`].

pub mod asking;
pub mod bench;
pub mod client;
pub mod conditions;
pub mod door;
pub mod filler;
pub mod load;
pub mod options;
pub mod project;
pub mod report;
pub mod sample;
pub mod saving;
pub mod scenario;
pub mod sse;
pub mod subject;
pub mod witness;
