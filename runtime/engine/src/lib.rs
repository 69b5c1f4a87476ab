//! What Roster is, without its drivers: definitions, the registry, session memory, tools and the turn.
//!
//! Imports between the rooms go one way: `turn` → `registry`, `tool`, `memory`, `trace`, `definition`; `registry` →
//! `definition`, `memory`, `tool`; `memory` → `definition`; the rest → `roster-model` only. A tidy test checks it. `definition` never imports storage.

pub mod definition;
pub mod memory;
pub mod registry;
pub mod tool;
pub mod trace;
pub mod turn;
