//! Tests of reading definitions.

mod agreement;
mod golden;
mod guide;
mod loading;
