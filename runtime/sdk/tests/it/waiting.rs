//! Async tools, on a runtime of the plugin's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use roster_sdk::abi::code;
use roster_sdk::prelude::*;
use roster_sdk::testing::Harness;

struct Waiting(AtomicUsize);

impl Plugin for Waiting {
    type Config = NoConfig;

    fn create(_: Host, _: NoConfig) -> Result<Self> {
        Ok(Self(AtomicUsize::new(0)))
    }

    fn register(r: &mut Registry<Self>) {
        r.async_tool("meet", "Ends when two are here", |p: Arc<Self>, want: usize, _cx| async move {
            p.0.fetch_add(1, Ordering::SeqCst);
            while p.0.load(Ordering::SeqCst) < want {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok(want)
        });
        r.async_tool("never", "Waits for ever", |_, _: NoConfig, cx| async move {
            cx.progress(0.0, "waiting");
            std::future::pending::<Result<()>>().await
        });
        r.async_tool("panic", "Panics", |_, _: NoConfig, _cx| async move {
            tokio::task::yield_now().await;
            if true {
                panic!("in a task");
            }
            Ok(())
        });
        r.async_tool("count", "Counts in pieces", |_, to: u32, cx| async move {
            for number in 0..to {
                cx.send(&number).await?;
            }
            Ok(to)
        });
        r.async_tool("secret", "Asks", |_, name: String, cx| async move {
            let secret: Value = cx.host().ask("secret.get", &json!({ "name": name }))?.await?;
            Ok(secret["value"].clone())
        });
    }
}

fn plugin() -> Harness<Waiting> {
    Harness::new(json!({})).expect("a plugin")
}

#[test]
fn calls_wait_beside_each_other() {
    let plugin = plugin();
    let (one, two) = (plugin.start("meet", "invoke", json!(2)), plugin.start("meet", "invoke", json!(2)));
    assert_eq!(one.answer().result.expect("met"), json!(2));
    assert_eq!(two.answer().result.expect("met"), json!(2));
}

#[test]
fn a_cancelled_call_is_dropped_where_it_waits() {
    let plugin = plugin();
    let call = plugin.start("never", "invoke", json!({}));
    call.wait_for_progress();
    call.cancel();
    assert_eq!(call.answer().result.expect_err("cancelled").status(), code::E_CANCELLED);
}

#[test]
fn a_panic_in_a_task_ends_its_call_only() {
    let plugin = plugin();
    let error = plugin.tool("panic", json!({})).expect_err("a panic");
    assert_eq!(error.status(), code::E_PANIC);
    assert!(error.to_string().ends_with("in a task"), "{error}");
    assert_eq!(plugin.tool("count", json!(0)).expect("the next call"), json!(0));
}

#[test]
fn pieces_wait_for_room() {
    let plugin = plugin();
    plugin.room(2);
    let call = plugin.start("count", "invoke", json!(100));
    for number in 0..100 {
        assert_eq!(call.next_chunk(), Some(json!(number)));
    }
    assert_eq!(call.next_chunk(), None);
    assert_eq!(call.answer().result.expect("an end"), json!(100));
}

#[test]
fn a_service_can_be_awaited() {
    let plugin = plugin();
    plugin.service("secret.get", |input| Ok(json!({ "value": input["name"] })));
    assert_eq!(plugin.tool("secret", json!("KEY")).expect("an answer"), json!("KEY"));
}

#[test]
fn what_still_waits_is_given_up_with_the_instance() {
    let plugin = plugin();
    let call = plugin.start("never", "invoke", json!({}));
    call.wait_for_progress();
    drop(plugin);
    // The instance lives as long as somebody uses it; with the last one its runtime ends and nothing hangs.
    drop(call);
}
