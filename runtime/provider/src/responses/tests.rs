//! Request bodies byte for byte, and whole answers.

mod answers;
mod requests;
