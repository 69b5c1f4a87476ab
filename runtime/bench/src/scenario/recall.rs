//! `recall`: what semantic recall adds to a turn when an owner has 100,000 vectors, of 384 and of 512 dimensions, and
//! whether ten owners of 10,000 are served as fast as one. The vectors stand in memory; the call of the embeddings model
//! is measured alone and taken off.

use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::bench::{ANSWER, Bench};
use crate::client::Connection;
use crate::door::{Door, Question};
use crate::filler::{Filler, Numbers};
use crate::project::{KEEPER, Project, agent};
use crate::report::{Figure, Target};
use crate::sample::Sample;

/// Milliseconds that recall may add, at the median.
const TARGET: f64 = 10.0;
/// How many times as long it may take with ten owners as with one: no longer, but for what two measurements differ.
const OWNERS_TARGET: f64 = 1.1;
/// The agent that recalls.
const RECALLER: &str = "recaller";
/// The owner of many, and how many owners of a tenth there are.
const MANY: &str = "many";
const OWNERS: usize = 10;
/// Different questions that are asked, and words of each.
const QUESTIONS: usize = 40;
const WORDS: usize = 8;
/// Before each measurement: what the last turn left to be written after its answer is not to be measured with it.
const REST: Duration = Duration::from_millis(5);

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for length in [384, 512] {
        figures.extend(of_length(bench, length).await?);
    }
    Ok(figures)
}

async fn of_length(bench: &Bench, length: usize) -> Result<Vec<Figure>> {
    let vectors = bench.choose(100_000, 10_000);
    let server = ScriptedServer::builder().without_records().start().await;
    let answer = Reply::text(ANSWER);
    server.default_reply(move |request| match request.path().ends_with("/embeddings") {
        true => Reply::embeddings(&request.inputs().iter().map(|text| vector_of(text, length)).collect::<Vec<_>>()),
        false => answer.clone(),
    });
    let model = format!("embed-{length}");
    let project = Project::of(bench.dir(), server.address(), agents(&model))?;
    let mut filler = Filler::open(&project)?;
    filler.vectors(MANY, vectors, &format!("scripted/{model}"), length).await?;
    for number in 0..OWNERS {
        filler.vectors(&owner(number), vectors / OWNERS, &format!("scripted/{model}"), length).await?;
    }
    filler.close().await;
    let subject = bench.start(&project).await?;
    let desk = Desk {
        embedder: Connection::open(server.address()).await?,
        gateway: Connection::open(subject.gateway).await?,
        model,
        questions: questions(),
    };
    let figures = desk.measure(bench, &format!("{length} dims"), vectors).await?;
    subject.stop().await?;
    Ok(figures)
}

fn agents(embedder: &str) -> [(String, String); 2] {
    let recall = format!(
        "[memory]\nfactory = \"create_memory\"\n[memory.semantic_recall]\nscope = \"resource\"\nembedder = \"scripted/{embedder}\"\n"
    );
    [agent(KEEPER, "memory = \"create_memory\"\n"), agent(RECALLER, &recall)]
}

fn owner(number: usize) -> String {
    format!("owner-{number}")
}

/// A made-up vector, the same for the same text.
fn vector_of(text: &str, length: usize) -> Vec<f32> {
    let seed = text.bytes().fold(1_u64, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    Numbers::new(seed).vector(length)
}

fn questions() -> Vec<String> {
    let mut numbers = Numbers::new(99);
    (0..QUESTIONS).map(|_| numbers.words(WORDS)).collect()
}

struct Desk {
    embedder: Connection,
    gateway: Connection,
    model: String,
    questions: Vec<String>,
}

impl Desk {
    async fn measure(mut self, bench: &Bench, name: &str, vectors: usize) -> Result<Vec<Figure>> {
        let ten: Vec<String> = (0..OWNERS).map(owner).collect();
        let (one, many) = (&ten[..1], &[MANY.to_owned()][..]);
        let begun = Instant::now();
        self.turn(RECALLER, MANY, 0).await?;
        let cold = begun.elapsed();
        let (mut figures, mut added) = (Vec::new(), Vec::new());
        for (label, owners) in [(format!("{vectors} of one owner"), many), ("one".into(), one), ("ten".into(), &ten)] {
            for owner in owners {
                self.turn(RECALLER, owner, 0).await?;
            }
            let mut rounds: [Vec<f64>; 4] = Default::default();
            for _ in 0..bench.choose(5, 2) {
                let round = self.round(owners, bench.choose(4, 1)).await?;
                let all = [round[0], round[1], round[2], round[1] - round[0] - round[2]];
                rounds.iter_mut().zip(all).for_each(|(rounds, value)| rounds.push(value));
            }
            let [without, with, embedding, more] = rounds;
            added.push(crate::sample::median(&more));
            if owners == many {
                figures.push(Figure::of_rounds(format!("{name}: turn without recall, p50"), "ms", without));
                figures.push(Figure::of_rounds(format!("{name}: embedding call, p50"), "ms", embedding));
                figures.push(Figure::of_rounds(format!("{name}: turn with recall, p50"), "ms", with));
                let more = Figure::of_rounds(format!("{name}: {label}, added p50"), "ms", more);
                figures.push(more.target(Target::AtMost(TARGET)));
            } else {
                let label = format!("{name}: {label} of {}, added p50", vectors / OWNERS);
                figures.push(Figure::of_rounds(label, "ms", more));
            }
        }
        let ratio = Figure::new(format!("{name}: ten owners against one"), "x", added[2] / added[1]);
        figures.push(ratio.target(Target::AtMost(OWNERS_TARGET)));
        figures.push(Figure::new(format!("{name}: first turn, nothing in memory"), "ms", cold.as_secs_f64() * 1e3));
        Ok(figures)
    }

    /// Medians of: turns without recall, turns with it, calls of the embeddings model.
    async fn round(&mut self, owners: &[String], times: usize) -> Result<[f64; 3]> {
        let mut samples = [Sample::new()?, Sample::new()?, Sample::new()?];
        for _ in 0..times {
            for number in 0..self.questions.len() {
                let owner = &owners[number % owners.len()];
                for (sample, agent) in samples.iter_mut().zip([KEEPER, RECALLER]) {
                    sleep(REST).await;
                    let begun = Instant::now();
                    self.turn(agent, owner, number).await?;
                    sample.add(begun.elapsed());
                }
                sleep(REST).await;
                let begun = Instant::now();
                self.embed(number).await?;
                samples[2].add(begun.elapsed());
            }
        }
        Ok(samples.map(|sample| sample.percentile(50.0)))
    }

    async fn turn(&mut self, agent: &str, owner: &str, number: usize) -> Result<()> {
        let text = &self.questions[number];
        let question = Question { model: agent, text, owner: Some(owner), conversation: None };
        Door::Chat.ask(&mut self.gateway, Door::Chat.body(question)).await.map(drop)
    }

    async fn embed(&mut self, number: usize) -> Result<()> {
        let body = json!({"model": self.model, "input": [self.questions[number]], "encoding_format": "float"});
        let answer = self.embedder.post("/v1/embeddings", Bytes::from(body.to_string())).await?;
        let body = answer.into_body().collect().await?.to_bytes();
        ensure!(body.ends_with(b"}"), "an answer of the embeddings model without an end");
        Ok(())
    }
}
