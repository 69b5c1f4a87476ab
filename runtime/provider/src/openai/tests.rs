//! Goldens: request bodies byte for byte, and streams of many servers against the deltas they stand for, replayed
//! whole, cut at every byte, in small pieces, and with every line end.

mod requests;
mod streams;
