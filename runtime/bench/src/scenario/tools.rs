//! `tools`: what the run loop adds when a model calls four tools at once: turns with four calls of a tool that runs in
//! the process, against the two model calls each is made of, one at a time, in alternation.

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::BodyExt;
use roster_testkit::scripted::{RecordedRequest, Reply, ScriptedServer};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::direct::TEXT;
use crate::bench::Bench;
use crate::client::Connection;
use crate::door::{Door, Question};
use crate::project::{KEEPER, MODEL, PLAIN, Project, two_agents};
use crate::report::{Figure, Target};
use crate::sample::Sample;

/// Milliseconds that a turn may add to its model calls, at the median.
const TARGET: f64 = 1.0;
/// What the model calls in one step.
const CALLS: [&str; 4] =
    ["call_0123456789abcdef0", "call_0123456789abcdef1", "call_0123456789abcdef2", "call_0123456789abcdef3"];
const TOOL: &str = "get_time";
const ARGUMENTS: &str = "{\"zone\":\"Europe/Berlin\"}";
/// What such a call gives, as the model is told.
const RESULT: &str = "{\"iso\":\"2026-11-30T18:00:00+01:00\",\"zone\":\"Europe/Berlin\",\"weekday\":\"Monday\"}";
/// Turns by which an alternation goes on.
const BLOCK: usize = 25;

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let server = ScriptedServer::builder().without_records().start().await;
    let (calling, answer) =
        (Reply::tool_calls(CALLS.map(|id| (id, TOOL, ARGUMENTS))), Reply::text(crate::bench::ANSWER));
    server.default_reply(move |request| if has_results(request) { answer.clone() } else { calling.clone() });
    let project = Project::of(bench.dir(), server.address(), two_agents(&format!("tools = [\"{TOOL}\"]\n")))?;
    let subject = bench.start(&project).await?;
    let mut model = Connection::open(server.address()).await?;
    let mut through = Connection::open(subject.gateway).await?;
    let mut figures = Vec::new();
    for (agent, name) in [(PLAIN, "without memory"), (KEEPER, "with memory")] {
        let question = Door::Chat.body(Question { model: agent, text: TEXT, owner: None, conversation: None });
        let mut rounds = Vec::new();
        // The first round is thrown away: caches and branch predictors of both sides are warm when it counts.
        for _ in 0..=bench.choose(7, 2) {
            rounds.push(round(&mut model, &mut through, &question, bench.choose(12, 2)).await?);
        }
        figures.extend(compare(name, &rounds[1..]));
    }
    subject.stop().await?;
    Ok(figures)
}

/// Whether the newest message is a tool's.
fn has_results(request: &RecordedRequest) -> bool {
    request.messages().last().is_some_and(|message| message["role"] == "tool")
}

/// The two model calls of a turn, made directly, and the turn.
struct Round {
    calls: Sample,
    turn: Sample,
}

async fn round(model: &mut Connection, through: &mut Connection, question: &Bytes, blocks: usize) -> Result<Round> {
    let bodies = bodies();
    let mut round = Round { calls: Sample::new()?, turn: Sample::new()? };
    for _ in 0..blocks {
        for _ in 0..BLOCK {
            let begun = Instant::now();
            for body in &bodies {
                let answer =
                    model.post(Door::Stream.path(), body.clone()).await?.into_body().collect().await?.to_bytes();
                ensure!(answer.ends_with(b"data: [DONE]\n\n"), "a model call without an end");
            }
            round.calls.add(begun.elapsed());
        }
        for _ in 0..BLOCK {
            round.turn.add(Door::Chat.ask(through, question.clone()).await?.total);
        }
    }
    Ok(round)
}

/// The requests of a turn's two model calls, as the runtime makes them.
fn bodies() -> [Bytes; 2] {
    let tool = json!({"type": "function", "function": {"name": TOOL, "description": "The date and time now.",
        "parameters": {"type": "object", "properties": {"zone": {"type": ["string", "null"]}}}}});
    let mut messages = vec![
        json!({"role": "system", "content": "Answer in one short line."}),
        json!({"role": "user", "content": TEXT}),
    ];
    let body = |messages: &[Value]| {
        let body = json!({"model": MODEL, "stream": true, "stream_options": {"include_usage": true},
            "messages": messages, "tools": [&tool]});
        Bytes::from(body.to_string())
    };
    let first = body(&messages);
    let calls =
        CALLS.map(|id| json!({"id": id, "type": "function", "function": {"name": TOOL, "arguments": ARGUMENTS}}));
    messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
    messages.extend(CALLS.map(|id| json!({"role": "tool", "tool_call_id": id, "content": RESULT})));
    [first, body(&messages)]
}

fn compare(name: &str, rounds: &[Round]) -> Vec<Figure> {
    let medians = |pick: fn(&Round) -> &Sample| rounds.iter().map(move |round| pick(round).percentile(50.0));
    let added = medians(|round| &round.turn).zip(medians(|round| &round.calls)).map(|(turn, calls)| turn - calls);
    let added = Figure::of_rounds(format!("{name}: added p50"), "ms", added.collect());
    vec![
        Figure::of_rounds(format!("{name}: two model calls, p50"), "ms", medians(|round| &round.calls).collect()),
        Figure::of_rounds(format!("{name}: turn with 4 tools, p50"), "ms", medians(|round| &round.turn).collect()),
        // With memory the turn waits for four commits on disk; that is measured, not bounded here.
        if name == "without memory" { added.target(Target::AtMost(TARGET)) } else { added },
    ]
}
