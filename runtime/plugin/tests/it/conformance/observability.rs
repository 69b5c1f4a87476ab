//! `observability/1`.

use std::sync::Arc;

use roster_plugin::bridge::exporter::exporter;
use serde_json::{Value, json};

use super::{Transcript, raw};
use crate::exporter::spans;
use crate::world::World;

/// Through the bridge, as batches come.
async fn export(world: &World, log: &mut Transcript, id: &str, names: &[&str]) {
    let plugin = world.plugin();
    let exporter = exporter(Arc::new(move || Some(Arc::clone(&plugin))), id);
    let shown = if names.len() > 10 { format!("{} spans", names.len()) } else { format!("{names:?}") };
    log.say(&format!("{id}: export {shown}"), &exporter.export(spans(names)).await);
}

async fn ask(world: &World, log: &mut Transcript, id: &str, method: &str, input: Value) {
    log.say(&format!("{id}: {method} {input}"), &raw(world, id, method, &input).await);
}

async fn came(world: &World, log: &mut Transcript) {
    log.say("what came so far", &world.tool("exported", json!({})).await);
}

pub(super) async fn good(world: &World, log: &mut Transcript) {
    came(world, log).await;
    export(world, log, "spans", &["invoke_agent clerk", "chat echo", "ü 北京 😀 \"\\\0\n", ""]).await;
    came(world, log).await;
    export(world, log, "spans", &[]).await;
    export(world, log, "spans", &["execute_tool pay"]).await;
    came(world, log).await;
    export(world, log, "nobody", &["lost"]).await;
    // A tool is no exporter.
    export(world, log, "echo", &["lost"]).await;
    let least = json!({"trace_id": "t", "span_id": "s", "name": "least", "started_at": 1, "duration_us": 2});
    let mut newer = least.clone();
    newer["name"] = json!("of a newer runtime");
    newer["links"] = json!([1]);
    for input in [
        json!({"spans": [least, newer]}),
        json!({"spans": [least, {"name": "half"}]}),
        json!({"spans": "none"}),
        json!({}),
    ] {
        ask(world, log, "spans", "export", input).await;
    }
    ask(world, log, "spans", "flush", json!({})).await;
    came(world, log).await;
    export(world, log, "spans", &["x"; 1_000]).await;
    let all = world.tool("exported", json!({})).await.map(|all| all.as_array().map(Vec::len));
    log.say("how many came", &all);
}

pub(super) async fn bad(world: &World, log: &mut Transcript) {
    for names in [&["a", "b"][..], &[], &["a"]] {
        export(world, log, "failing", names).await;
    }
    ask(world, log, "failing", "export", json!({"spans": "none"})).await;
    ask(world, log, "failing", "export", json!({"spans": []})).await;
}
