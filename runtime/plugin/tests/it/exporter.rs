//! Exporters of plugins, in both modes.

use std::sync::Arc;
use std::time::Duration;

use roster_model::observation::{ExportError, Span, SpanExporter};
use roster_model::time::Timestamp;
use roster_plugin::bridge::exporter::exporter;
use roster_plugin::settings::Isolation;
use serde_json::{Map, json};

use crate::shipped::{built, built_with};
use crate::world::World;

fn of(world: &Arc<World>, id: &str) -> Arc<dyn SpanExporter> {
    let finding = Arc::clone(world);
    exporter(Arc::new(move || finding.plugins.get("liar")), id)
}

pub(crate) fn spans(names: &[&str]) -> Vec<Arc<Span>> {
    let span = |name: &&str| Span {
        trace_id: "a".repeat(32),
        span_id: "b".repeat(16),
        parent_id: Some("c".repeat(16)),
        name: (*name).to_owned(),
        started_at: Timestamp::from_millis(1_700_000_000_000),
        duration_us: 1_500,
        error: Some("provider_auth".to_owned()),
        attributes: Map::from_iter([("gen_ai.operation.name".to_owned(), json!("chat"))]),
    };
    names.iter().map(|name| Arc::new(span(name))).collect()
}

async fn takes_spans(isolation: Isolation) {
    let world = Arc::new(built("kinds", isolation));
    let exporter = of(&world, "spans");
    exporter.export(spans(&["invoke_agent clerk", "chat echo"])).await.expect("taken");
    exporter.export(spans(&["execute_tool pay"])).await.expect("taken");
    let told = world.tool("exported", json!({})).await.expect("told");
    assert_eq!(told, json!(["invoke_agent clerk", "chat echo", "execute_tool pay"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_a_plugin_in_process() {
    takes_spans(Isolation::InProcess).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_reach_a_plugin_in_a_process_of_its_own() {
    takes_spans(Isolation::Process).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exporter_that_fails_or_hangs_is_failed_and_one_that_is_not_there_is_away() {
    for isolation in [Isolation::InProcess, Isolation::Process] {
        let world = Arc::new(built_with("notes", isolation, |settings| {
            settings.call_timeout = Duration::from_millis(300);
        }));
        let failed = of(&world, "failing").export(spans(&["a"])).await.expect_err("failed");
        assert_eq!(failed, ExportError::Failed("there is no room (no_disk)".into()));
        let hung = of(&world, "stuck").export(spans(&["a"])).await.expect_err("given up");
        assert!(matches!(&hung, ExportError::Failed(why) if why.contains("plugin_timeout")), "{hung:?}");
        let nobody = of(&world, "nobody").export(spans(&["a"])).await.expect_err("not there");
        assert!(matches!(&nobody, ExportError::Away(why) if why.contains("`nobody`")), "{nobody:?}");
        world.plugins.configure(Vec::new());
        let gone = of(&world, "failing").export(spans(&["a"])).await.expect_err("gone");
        assert!(matches!(&gone, ExportError::Away(why) if why.contains("runtime.toml")), "{gone:?}");
    }
}
