//! Model providers over HTTP, one dialect a folder, and the demo provider.
//!
//! A call goes: [`config`] says how a provider is reached and makes it → [`call`] sends the request and reads the
//! answer within its time limits, on connections of [`client`] → [`breaker`] leaves a provider in trouble alone, [`retry`] decides whether a failed attempt is made
//! again → the dialect ([`openai`], [`responses`],
//! [`anthropic`], [`gemini`]) turns prompts into bytes and events into deltas. [`sse`],
//! [`refusal`], [`lenient`], [`files`], [`thought`] and [`schema`] are shared by all dialects; [`secrets`] are kept out of every message. [`embeddings`] asks the same providers for vectors of texts; [`endpoint`] is what the two
//! share. [`demo`] is a provider without a network.
//!
//! What is *not* here: the environment (keys are handed in), the turn, tools, memory.

mod anthropic;
mod body;
pub mod breaker;
mod call;
pub mod client;
pub mod config;
pub mod demo;
pub mod embeddings;
mod endpoint;
mod files;
mod gemini;
mod lenient;
mod openai;
mod refusal;
mod responses;
mod retry;
mod schema;
mod secrets;
mod sse;
#[cfg(test)]
mod tests;
mod thought;
