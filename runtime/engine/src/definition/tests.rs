//! Tests of reading definitions.

mod agreement;
mod golden;
mod loading;
