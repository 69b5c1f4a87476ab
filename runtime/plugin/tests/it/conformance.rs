//! One suite for all contracts: what a library does through the bridges is written down line by line. The same library
//! must give the same lines wherever it runs, and those that are kept in `transcripts/` (`UPDATE_GOLDEN=1` writes them
//! anew; read the difference before keeping it). A further contract is a file here and a test below.

mod embedder;
mod memory;
mod model;
mod observability;
mod processor;
mod tool;

use std::fmt::{Debug, Write as _};
use std::path::Path;

use roster_abi::contract::CallContext;
use roster_model::BoxFuture;
use roster_plugin::call::{CallError, Payload};
use roster_plugin::plugin::Ask;
use roster_plugin::settings::Isolation;
use serde_json::Value;

use crate::shipped::built;
use crate::world::World;

/// What was asked and what came of it.
#[derive(Default)]
struct Transcript(String);

impl Transcript {
    fn say(&mut self, what: &str, outcome: &impl Debug) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{what}\n    {outcome:?}");
    }
}

/// Asks everything of one contract. Times and ids that must differ are not written down; nothing else is left out.
type Script = for<'a> fn(&'a World, &'a mut Transcript) -> BoxFuture<'a, ()>;

/// Past the bridges: what they never say, or choose themselves.
async fn raw(world: &World, component: &str, method: &str, input: &Value) -> Result<Value, CallError> {
    let (input, context) = (Payload::json(input), CallContext::default());
    let ask = Ask { component, method, input, context: &context, chunks: false, timeout: None };
    world.plugin().ask(ask, false).await?.read()
}

async fn written(library: &str, isolation: Isolation, script: Script) -> String {
    let world = built(library, isolation);
    let mut transcript = Transcript::default();
    script(&world, &mut transcript).await;
    assert_eq!(world.plugin().status().counters.restarts, 0);
    transcript.0
}

async fn is_the_same_everywhere(contract: &str, library: &str, script: Script) {
    let inside = written(library, Isolation::InProcess, script).await;
    let outside = written(library, Isolation::Process, script).await;
    for (inside, outside) in inside.lines().zip(outside.lines()) {
        assert_eq!(inside, outside, "{contract}: in process, and in a process of its own");
    }
    assert_eq!(inside.len(), outside.len(), "{contract}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/it/transcripts/{contract}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &inside).expect("writable");
    }
    let kept = std::fs::read_to_string(&file).expect("UPDATE_GOLDEN=1 writes it");
    for (line, (now, kept)) in inside.lines().zip(kept.lines()).enumerate() {
        assert_eq!(now, kept, "transcripts/{contract}.txt, line {}", line + 1);
    }
    assert_eq!(inside.len(), kept.len(), "transcripts/{contract}.txt");
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_good_plugin() {
    is_the_same_everywhere("tool", "kinds", |world, log| Box::pin(tool::good(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_of_a_bad_plugin() {
    is_the_same_everywhere("tool-faults", "faults", |world, log| Box::pin(tool::bad(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn models() {
    is_the_same_everywhere("model", "kinds", |world, log| Box::pin(model::all(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn embedders() {
    is_the_same_everywhere("embedder", "kinds", |world, log| Box::pin(embedder::all(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn processors() {
    is_the_same_everywhere("processor", "kinds", |world, log| Box::pin(processor::all(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memories() {
    is_the_same_everywhere("memory", "notes", |world, log| Box::pin(memory::all(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exporters_of_a_good_plugin() {
    is_the_same_everywhere("observability", "kinds", |world, log| Box::pin(observability::good(world, log))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exporters_of_a_bad_plugin() {
    is_the_same_everywhere("observability-faults", "notes", |world, log| Box::pin(observability::bad(world, log)))
        .await;
}
