//! `tool/1`.

use roster_plugin::bridge::tool::tools;
use roster_plugin::call::Event;
use serde_json::{Map, Value, json};

use super::Transcript;
use crate::world::World;

async fn call(world: &World, log: &mut Transcript, tool: &str, arguments: Value) {
    let outcome = world.tool(tool, arguments.clone()).await;
    // Long ones by their length.
    let asked = if arguments.to_string().len() < 500 { arguments.to_string() } else { "…".to_owned() };
    match &outcome {
        Ok(value) if value.to_string().len() > 500 => {
            log.say(&format!("{tool} {asked}"), &format!("{} bytes", value.to_string().len()));
        }
        outcome => log.say(&format!("{tool} {asked}"), outcome),
    }
}

/// Pieces in order and the end; progress may be lost, so it is not written down.
async fn pieces(world: &World, log: &mut Transcript, tool: &str, arguments: Value, wanted: bool) {
    let what = format!("{tool} {arguments}, pieces {}", if wanted { "wanted" } else { "not wanted" });
    let mut call = match world.call(tool, arguments, wanted, None).await {
        Ok(call) => call,
        Err(error) => return log.say(&what, &error),
    };
    let mut events = Vec::new();
    loop {
        let event = call.next().await;
        let ended = matches!(event, Event::Done(_));
        match event {
            Event::Progress(_) => {}
            Event::Chunk(chunk) => events.push(format!("{} {}", chunk.encoding, String::from_utf8_lossy(&chunk.bytes))),
            Event::Done(outcome) => events.push(match outcome {
                Ok(payload) => format!("end {} {}", payload.encoding, String::from_utf8_lossy(&payload.bytes)),
                Err(error) => format!("{error:?}"),
            }),
        }
        if ended {
            return log.say(&what, &events);
        }
    }
}

pub(super) async fn good(world: &World, log: &mut Transcript) {
    for (name, maker) in tools(&world.plugin()) {
        let tool = maker.make(&Map::new()).expect("no settings");
        log.say(&format!("offers {name}"), tool.spec());
        let settings = json!({"units": "metric"}).as_object().cloned().expect("an object");
        log.say(&format!("settings of {name}"), &maker.make(&settings).err());
    }
    for tool in ["echo", "same"] {
        for arguments in [
            json!({}),
            json!({"text": "ü 北京 😀 \"\\\u{0}\n", "null": null, "list": [1, [2, [3]], {"a": {}}], "": ""}),
            json!({"whole": 9_007_199_254_740_993_u64, "least": i64::MIN, "most": u64::MAX, "parts": 0.1, "wide": 1e300}),
            json!({"long": "x".repeat(300_000)}),
        ] {
            call(world, log, tool, arguments).await;
        }
    }
    pieces(world, log, "echo", json!([1, 2]), true).await;
    pieces(world, log, "nobody", json!({}), false).await;
    pieces(world, log, "parrot", json!({}), false).await;
    call(world, log, "exported", json!({})).await;
}

pub(super) async fn bad(world: &World, log: &mut Transcript) {
    call(world, log, "version", json!({})).await;
    call(world, log, "about", json!({})).await;
    for arguments in [json!({"n": 3}), json!({"n": 0}), json!({"n": 150}), json!({"n": "x"}), json!({}), json!([])] {
        pieces(world, log, "count", arguments, true).await;
    }
    pieces(world, log, "count", json!({"n": 3}), false).await;
    pieces(world, log, "bad_chunk", json!({}), true).await;
    for status in [-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -1001, 1] {
        pieces(world, log, "fail", json!({"status": status, "code": "as_it_likes", "retryable": true}), false).await;
    }
    for code in ["", "plugin_crashed", "plugin_bad_output", "panic"] {
        pieces(world, log, "fail", json!({"status": -6, "code": code}), false).await;
    }
    for tool in [
        "drop",
        "later",
        "double",
        "null_payload",
        "bad_json",
        "bad_utf8",
        "deep",
        "bad_encoding",
        "bad_error",
        "bad_status",
        "bad_shape",
        "huge",
        "emit_after_done",
        "unknown_call",
    ] {
        call(world, log, tool, json!({})).await;
    }
    for (service, input) in [
        ("kv.get", json!({"key": "a"})),
        ("secret.get", json!({"name": "STATION"})),
        ("http.fetch", json!({"url": "https://api.example.org/x"})),
        ("http.fetch", json!({"url": "no address"})),
        ("metric.add", json!({"name": "a", "value": 1})),
        ("model.generate", json!({})),
        ("", json!(null)),
    ] {
        call(world, log, "ask", json!({"service": service, "input": input})).await;
    }
}
