//! Every kind but tools.

use std::collections::BTreeMap;
use std::sync::Mutex;

use roster_sdk::abi::code;
use roster_sdk::component::Memory;
use roster_sdk::contract::{
    Abort, Append, ChunkOut, Created, Deleted, Delta, Ended, Erased, Messages, NewThread, Of, Page, Processed, Row,
    Rows, Save, Seqs, SetWorking, Tail, Thread, Threads, UpdateThread, Versioned, Working,
};
use roster_sdk::prelude::*;
use roster_sdk::testing::Harness;

struct Kinds {
    spans: Mutex<usize>,
}

#[derive(Deserialize, JsonSchema)]
struct Kept {
    window: usize,
}

/// Keeps messages by thread, and only what these tests need.
struct Notes {
    window: usize,
    rows: Mutex<BTreeMap<(String, String), Vec<Row>>>,
}

impl Memory for Notes {
    fn append(&self, input: Append) -> Result<Seqs> {
        let mut rows = self.rows.lock().expect("kept");
        let thread = rows.entry((input.resource, input.thread)).or_default();
        let mut seqs = Vec::new();
        for message in input.messages {
            let seq = thread.len() as u64 + 1;
            thread.push(Row { seq, turn: input.turn.clone(), message });
            seqs.push(seq);
        }
        Ok(Seqs { seqs })
    }
    fn tail(&self, input: Tail) -> Result<Rows> {
        let rows = self.rows.lock().expect("kept");
        let thread = rows.get(&(input.resource, input.thread)).cloned().unwrap_or_default();
        let skip = thread.len().saturating_sub(self.window.min(input.limit as usize));
        Ok(Rows { rows: thread[skip..].to_vec() })
    }
    fn save(&self, _: Save) -> Result<Seqs> {
        Err(Error::unsupported("not kept"))
    }
    fn messages(&self, _: Messages) -> Result<Page<Row>> {
        Err(Error::not_found("no such thread"))
    }
    fn create_thread(&self, input: NewThread) -> Result<Created> {
        Ok(Created { thread: Thread { thread: input.thread, ..Thread::default() }, created: true })
    }
    fn thread(&self, _: Of) -> Result<Option<Thread>> {
        Ok(None)
    }
    fn threads(&self, _: Threads) -> Result<Page<Thread>> {
        Ok(Page { rows: Vec::new(), total: 0, next: None })
    }
    fn update_thread(&self, _: UpdateThread) -> Result<Thread> {
        Err(Error::not_found("no such thread"))
    }
    fn delete_thread(&self, _: Of) -> Result<Deleted> {
        Ok(Deleted { deleted: false })
    }
    fn working_memory(&self, _: Of) -> Result<Option<Working>> {
        Ok(None)
    }
    fn set_working_memory(&self, input: SetWorking) -> Result<Versioned> {
        if input.seen == 0 { Ok(Versioned { version: 1 }) } else { Err(Error::conflict("written meanwhile")) }
    }
    fn erase(&self, _: Of) -> Result<Erased> {
        Ok(Erased::default())
    }
}

impl Plugin for Kinds {
    type Config = NoConfig;

    fn create(_: Host, _: NoConfig) -> Result<Self> {
        Ok(Self { spans: Mutex::new(0) })
    }

    fn register(r: &mut Registry<Self>) {
        r.memory_factory("notes", "Keeps", |_, kept: Kept| Ok(Notes { window: kept.window, rows: Mutex::default() }));
        r.model("echo", "Echoes", |_, ask, cx| {
            for message in &ask.messages {
                cx.chunk(&Delta::Text { text: serde_json::to_string(message)? })?;
            }
            Ok(Ended { finish_reason: "stop".into(), ..Ended::default() })
        });
        r.embedder("length", "By length", 2, |_, texts, _| {
            Ok(texts.iter().map(|text| if text.is_empty() { vec![0.0] } else { vec![0.6, 0.8] }).collect())
        })
        .max_batch(4)
        .space("length/1");
        r.processor("loud", "Capitals")
            .input(|_, messages, _| {
                if messages.is_empty() {
                    return Ok(Processed { abort: Some(Abort { reason: "nothing said".into() }), messages: None });
                }
                Ok(Processed { messages: Some(messages), abort: None })
            })
            .chunk(|_, chunk, _| {
                let text = chunk.part["text"].as_str().unwrap_or_default().to_uppercase();
                let seen = chunk.state.as_u64().unwrap_or(0) + 1;
                Ok(ChunkOut { part: json!({ "type": "text", "text": text }), state: json!(seen), abort: None })
            });
        r.exporter("count", "Counts", |p, spans, _| {
            *p.spans.lock().expect("counted") += spans.len();
            Ok(())
        });
        r.tool("exported", "How many", |p, _: NoConfig, _| Ok(*p.spans.lock().expect("counted")));
    }
}

fn plugin() -> Harness<Kinds> {
    Harness::new(json!({})).expect("a plugin")
}

#[test]
fn kinds_are_described() {
    let description = Harness::<Kinds>::describe().expect("a description");
    let kinds: Vec<_> = description.contributes.iter().map(|one| (one.contract.as_str(), one.id.as_str())).collect();
    let memory = ("memory/1", "notes");
    let rest = [("model/1", "echo"), ("embedder/1", "length"), ("processor/1", "loud"), ("observability/1", "count")];
    assert_eq!(kinds, [&[memory][..], &rest, &[("tool/1", "exported")]].concat());
    assert_eq!(description.contributes[0].config_schema.as_ref().expect("a schema")["required"], json!(["window"]));
    let embedder = &description.contributes[2];
    let said = (embedder.dimensions, embedder.max_batch, embedder.space.as_deref());
    assert_eq!(said, (Some(2), Some(4), Some("length/1")));
    assert_eq!(description.contributes[3].hooks, ["input", "chunk"]);
}

#[test]
fn a_memory_is_opened_used_and_closed() {
    let plugin = plugin();
    let opened = plugin.call("notes", "open", json!({ "config": { "window": 2 } })).expect("opened");
    let with = |more: Value| {
        let mut input = json!({ "handle": opened["handle"], "resource": "r", "thread": "t" });
        input.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        input
    };
    let say = |text: &str| json!({ "role": "user", "parts": [{ "type": "text", "text": text }] });
    let append = with(json!({ "key": "1", "messages": [say("a"), say("b"), say("c")] }));
    assert_eq!(plugin.call("notes", "append", append).expect("kept"), json!({ "seqs": [1, 2, 3] }));
    let rows = plugin.call("notes", "tail", with(json!({ "limit": 10 }))).expect("read");
    assert_eq!(rows["rows"][0]["message"]["parts"][0]["text"], "b");
    assert_eq!(plugin.call("notes", "thread", with(json!({}))).expect("read"), json!({ "thread": null }));
    let conflict = plugin.call("notes", "working_memory.set", with(json!({ "text": "x", "seen": 4 })));
    assert_eq!(conflict.expect_err("a conflict").fault().code, "conflict");
    plugin.call("notes", "close", json!({ "handle": opened["handle"] })).expect("closed");
    let gone = plugin.call("notes", "tail", with(json!({ "limit": 10 }))).expect_err("closed");
    assert_eq!((gone.status(), gone.fault().code.as_str()), (code::E_NOT_FOUND, "no_such_handle"));
}

#[test]
fn a_memory_whose_configuration_does_not_fit_is_not_opened() {
    let error = plugin().call("notes", "open", json!({ "config": {} })).expect_err("no window");
    assert!(error.to_string().contains("missing field `window`"), "{error}");
}

#[test]
fn a_model_answers_in_pieces() {
    let ask = json!({ "messages": [{ "role": "system", "text": "be brief" }] });
    let answer = plugin().start("echo", "generate", ask).answer();
    assert_eq!(answer.chunks, [json!({ "type": "text", "text": "{\"role\":\"system\",\"text\":\"be brief\"}" })]);
    assert_eq!(answer.result.expect("an end"), json!({ "finish_reason": "stop", "usage": {} }));
}

#[test]
fn vectors_are_raw_floats() {
    let answer = plugin().start("length", "embed", json!({ "texts": ["a", "b"] })).answer();
    let expected: Vec<u8> = [0.6f32, 0.8, 0.6, 0.8].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(answer.bytes, (code::ENC_F32LE, expected));
}

#[test]
fn vectors_that_do_not_fit_are_never_sent() {
    let error = plugin().call("length", "embed", json!({ "texts": [""] })).expect_err("one float");
    assert_eq!(error.fault().code, "bad_vectors");
}

#[test]
fn a_processor_has_the_hooks_it_named() {
    let plugin = plugin();
    let said = plugin.call("loud", "input", json!({ "messages": [] })).expect("an answer");
    assert_eq!(said, json!({ "abort": { "reason": "nothing said" } }));
    let piece = json!({ "part": { "type": "text", "text": "ab" }, "state": 4 });
    let out = plugin.call("loud", "chunk", piece).expect("an answer");
    assert_eq!(out, json!({ "part": { "type": "text", "text": "AB" }, "state": 5 }));
    let error = plugin.call("loud", "output", json!({ "messages": [] })).expect_err("no such hook");
    assert_eq!(error.status(), code::E_NOT_FOUND);
}

#[test]
fn an_exporter_takes_batches() {
    let plugin = plugin();
    let span = json!({ "trace_id": "t", "span_id": "s", "name": "chat", "started_at": 1, "duration_us": 2 });
    assert_eq!(plugin.call("count", "export", json!({ "spans": [span, span] })).expect("taken"), json!({}));
    assert_eq!(plugin.tool("exported", json!({})).expect("counted"), json!(2));
}
