//! Request bodies byte for byte, and answers of many servers.

mod requests;
mod streams;
