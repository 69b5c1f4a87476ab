//! The whole way, from the package to vectors; the small package is always there, the real one where
//! `ROSTER_USE_WHEEL_DIR` names a folder that holds it.

mod compare;
mod real;
pub(super) mod sample;
mod tiny;
