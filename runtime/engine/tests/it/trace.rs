//! What a turn leaves in observability, and that it never depends on it.

use std::sync::atomic::Ordering;

use roster_model::provider::{Circuit, Delta, ProviderError, ProviderErrorKind, StopReason, Usage};
use serde_json::Value;

use crate::double::{CLERK, Say, World, all, calls, names, text};

async fn flush(world: &World) {
    world.services.recorder.as_ref().unwrap().flush().await;
}

#[tokio::test]
async fn a_turn_is_a_tree_of_spans() {
    let world = World::new(&[CLERK]);
    world.model.say(calls(&[("c1", "pay", "{\"amount\":1}")]));
    all(world.ask("t", "pay")).await;
    flush(&world).await;
    let spans = world.observed.spans.lock().unwrap().clone();
    let root = spans.iter().find(|span| span.parent_id.is_none()).unwrap();
    let below: Vec<_> = spans.iter().filter(|span| span.parent_id.as_ref() == Some(&root.span_id)).collect();
    let found: Vec<_> = below.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(root.name, "invoke_agent clerk");
    assert_eq!(found, ["chat echo", "execute_tool pay", "chat echo"]);
    assert!(spans.iter().all(|span| span.trace_id == root.trace_id && span.error.is_none()));
    assert_eq!(root.attributes["gen_ai.usage.input_tokens"], 14, "both model calls");
    assert_eq!(root.attributes["gen_ai.conversation.id"], "t");
    let agent = world.registry.snapshot().serving().next().unwrap().clone();
    assert_eq!(root.attributes["roster.generation"], 1);
    assert_eq!(root.attributes["roster.fingerprint"], agent.definition.fingerprint.as_str());
    assert!(!spans.iter().any(|span| Value::Object(span.attributes.clone()).to_string().contains("Be brief")));
}

/// Traces go to whoever exports them: what a model made up is not among their words.
#[tokio::test]
async fn names_and_ids_that_a_model_made_up_do_not_fill_the_trace() {
    let world = World::new(&[CLERK]);
    let id = "i".repeat(10_000);
    world.model.say(calls(&[(id.as_str(), "the words of a person", "{}")]));
    all(world.ask("t", "pay")).await;
    flush(&world).await;
    let spans = world.observed.spans.lock().unwrap().clone();
    let tool = spans.iter().find(|span| span.name == "execute_tool unknown").expect("a span of the call");
    assert_eq!(tool.attributes["gen_ai.tool.name"], "unknown");
    assert_eq!(tool.attributes["gen_ai.tool.call.id"].as_str().map(str::len), Some(512));
    assert!(!format!("{spans:?}").contains("the words"));
}

/// Neither the trace nor the counters say what a variable in an alias holds; the model is asked by its own name.
#[tokio::test]
async fn a_model_that_came_from_a_variable_is_traced_by_its_alias() {
    let world = World::new(&[&format!("{CLERK}model = \"quiet\"\n")]);
    let usage = Usage { output_tokens: Some(1), ..Usage::default() };
    let last = Delta::End { reason: StopReason::Stop, usage, model: Some("hush/1".into()) };
    world.model.say(vec![Say::Delta(Delta::Text("hi".into())), Say::Delta(last)]);
    world.model.say(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Auth, "401"))]);
    all(world.ask("t", "hi")).await;
    all(world.ask("t", "hi")).await;
    flush(&world).await;
    let spans = world.observed.spans.lock().unwrap().clone();
    assert_eq!(spans.iter().filter(|span| span.name == "chat quiet").count(), 2);
    assert!(spans.iter().all(|span| !format!("{span:?}").contains("hush")), "{spans:?}");
    assert!(!world.services.metrics_text().contains("hush"));
    assert_eq!(world.model.asked.lock().unwrap()[0].model, "hush/1");
}

#[tokio::test]
async fn a_failure_is_named_in_the_span_and_the_counters() {
    let world = World::new(&[CLERK]);
    world.model.say(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Auth, "401"))]);
    all(world.ask("t", "hi")).await;
    flush(&world).await;
    let errors: Vec<_> = world.observed.spans.lock().unwrap().iter().map(|span| span.error.clone()).collect();
    assert_eq!(errors, [Some("provider_auth".to_owned()), Some("provider_auth".to_owned())]);
    let text = world.services.metrics_text();
    assert!(text.contains("roster_turns_total{agent=\"clerk\",outcome=\"failed\"} 1"), "{text}");
    assert!(text.contains("roster_model_calls_total{name=\"stub/echo\",outcome=\"provider_auth\"} 1"), "{text}");
}

#[tokio::test]
async fn a_broken_observability_store_is_counted_and_hurts_no_turn() {
    let world = World::new(&[CLERK]);
    world.observed.fails.store(true, Ordering::SeqCst);
    assert!(names(&all(world.ask("t", "hi")).await).ends_with("done:stop"));
    flush(&world).await;
    assert_eq!(world.services.recorder.as_ref().unwrap().lost(), 2);
    assert!(world.services.metrics_text().contains("roster_observations_lost_total 2"));
}

#[tokio::test]
async fn a_sample_is_whole_traces() {
    let tracker = tokio_util::task::TaskTracker::new();
    let of = |share| {
        let store = std::sync::Arc::new(crate::double::Observed::default());
        roster_engine::trace::Recorder::start(Some(store), &tracker, share)
    };
    let ids = [0, u128::from(u32::MAX / 4), u128::from(u32::MAX)];
    let takes = |share| ids.map(|id| of(share).takes(id));
    assert_eq!((takes(0.0), takes(0.5), takes(1.0)), ([false; 3], [true, true, false], [true; 3]));
    let recorder = of(0.0);
    recorder.set_sample(0.5);
    assert_eq!(ids.map(|id| recorder.takes(id)), [true, true, false], "it can change while running");
}

/// What operators see of a provider in trouble.
#[tokio::test]
async fn retries_and_the_circuit_are_in_metrics_and_traces() {
    let world = World::new(&[CLERK]);
    let gauge = |value: u8| format!("roster_provider_circuit{{provider=\"stub\"}} {value}");
    all(world.ask("t", "hello")).await;
    assert!(world.services.metrics_text().contains(&gauge(0)), "{}", world.services.metrics_text());

    let mut again = vec![Say::Again(ProviderErrorKind::Server), Say::Again(ProviderErrorKind::Timeout)];
    again.extend(text("at last"));
    world.model.say(again);
    all(world.ask("t", "hello")).await;
    let metrics = world.services.metrics_text();
    for code in [ProviderErrorKind::Server.code(), ProviderErrorKind::Timeout.code()] {
        let line = format!("roster_model_retries_total{{name=\"stub/echo\",outcome=\"{code}\"}} 1");
        assert!(metrics.contains(&line), "{line} in {metrics}");
    }

    *world.model.circuit.lock().unwrap() = Some(Circuit::Open);
    world.model.say(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Server, "left alone"))]);
    let events = names(&all(world.ask("t", "hello")).await);
    assert!(events.contains("failed:"), "{events}");
    assert!(world.services.metrics_text().contains(&gauge(2)), "open");
    *world.model.circuit.lock().unwrap() = Some(Circuit::HalfOpen);
    world.model.say(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Server, "still down"))]);
    all(world.ask("t", "hello")).await;
    assert!(world.services.metrics_text().contains(&gauge(1)), "one call finds out");
    *world.model.circuit.lock().unwrap() = None;
    all(world.ask("t", "hello")).await;
    assert!(world.services.metrics_text().contains(&gauge(0)), "closed again");

    flush(&world).await;
    let spans = world.observed.spans.lock().unwrap().clone();
    let chats: Vec<_> = spans.iter().filter(|span| span.name.starts_with("chat")).collect();
    let of = |at: usize, key: &str| chats[at].attributes.get(key).cloned();
    assert_eq!(of(1, "roster.retries"), Some(serde_json::json!(["provider_error", "provider_timeout"])));
    assert_eq!(of(2, "roster.provider.circuit"), Some("open".into()));
    assert_eq!(of(3, "roster.provider.circuit"), Some("half_open".into()));
    assert_eq!(of(4, "roster.provider.circuit"), None);
}
