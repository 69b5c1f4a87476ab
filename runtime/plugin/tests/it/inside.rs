//! In the runtime's own process: loading, calling, what is refused.

use std::sync::atomic::Ordering;
use std::time::Duration;

use roster_plugin::call::Event;
use roster_plugin::refusal::RefusalKind;
use serde_json::json;

use crate::liar::liar;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_library_is_loaded_and_its_tools_answer() {
    let world = World::inside(&[]);
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
    assert_eq!(world.tool("echo", json!({"a": [1, "ü"]})).await, Ok(json!({"a": [1, "ü"]})));
    assert_eq!(world.tool("late", json!({})).await, Ok(json!("late")));
    let context = world.tool("context", json!({})).await.expect("an answer");
    assert_eq!(context["resource"], "user:a");
    assert_eq!(world.tool("fail", json!({})).await.expect_err("no").message, "there is no such city");
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_come_all_in_order_and_progress_comes() {
    let world = World::inside(&[]);
    let mut call = world.call("chunks", json!({}), true, None).await.expect("begins");
    let mut chunks = Vec::new();
    let end = loop {
        match call.next().await {
            Event::Chunk(chunk) => chunks.push(chunk.read::<u64>().expect("a number")),
            Event::Progress(_) => {}
            Event::Done(outcome) => break outcome,
        }
    };
    assert_eq!(chunks, (0..200).collect::<Vec<_>>());
    assert_eq!(end.expect("good").read::<u64>().expect("a number"), 200);
    let mut call = world.call("progress", json!({}), false, None).await.expect("begins");
    let Event::Progress(first) = call.next().await else { panic!("progress first") };
    assert!(String::from_utf8_lossy(&first).contains("half"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_given_up_tells_the_plugin_and_frees_its_place() {
    let world = World::inside(&[]);
    let call = world.call("wait", json!({}), false, Some(Duration::from_millis(30))).await.expect("begins");
    let error = call.end().await.expect_err("no answer");
    assert_eq!(error.code, "plugin_timeout");
    let call = world.call("wait", json!({}), false, None).await.expect("begins");
    drop(call);
    world.until(|world| world.plugin().status().counters.orphans == 0).await;
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn six_bad_libraries_are_refused_by_name_and_one_good_one_works() {
    let refused = |macros: &[&str]| {
        let world = World::inside(macros);
        let refusal = world.plugin().refusal().expect("refused");
        assert!(!refusal.help.is_empty());
        (refusal.kind, refusal.message)
    };
    let (kind, text) = refused(&["NO_ENTRY"]);
    assert_eq!(kind, RefusalKind::NotAPlugin);
    assert!(text.contains("arp_plugin_entry_v1"), "{text}");
    let (kind, text) = refused(&["MAJOR=2"]);
    assert_eq!(kind, RefusalKind::Abi);
    assert!(text.contains("2.0") && text.contains("1.0"), "{text}");
    let (kind, text) = refused(&["MINOR_MIN=5"]);
    assert_eq!(kind, RefusalKind::Abi);
    assert!(text.contains("1.5") && text.contains("1.0"), "{text}");
    let (kind, text) = refused(&["UNDEFINED"]);
    assert_eq!(kind, RefusalKind::Open);
    assert!(text.contains("nope_fn"), "{text}");
    let (kind, text) = refused(&["FLAGS=7"]);
    assert_eq!(kind, RefusalKind::Abi);
    assert!(text.contains("panic"), "{text}");
    let (kind, _) = refused(&["MAGIC=1"]);
    assert_eq!(kind, RefusalKind::NotAPlugin);
    assert_eq!(refused(&["NO_MANIFEST"]).0, RefusalKind::NotAPlugin);
    assert_eq!(refused(&["HOST_SIZE=640"]).0, RefusalKind::Abi);
    assert_eq!(refused(&["FLAGS=0x10003"]).0, RefusalKind::Abi);
    assert_eq!(refused(&["DESCRIBE_BROKEN"]).0, RefusalKind::Abi);
    let (kind, text) = refused(&["CREATE_FAILS"]);
    assert_eq!(kind, RefusalKind::Start);
    assert!(text.contains("the station does not answer"), "{text}");
    let (kind, text) = refused(&["UNHEALTHY"]);
    assert_eq!(kind, RefusalKind::Start);
    assert!(text.contains("no fuel"), "{text}");
    let world = World::inside(&["MANIFEST_SIZE=128"]);
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_around_the_file_is_said() {
    let with = |change: &dyn Fn(&mut roster_plugin::settings::Settings)| {
        let world = World::with(&[], |settings| change(settings));
        world.plugin().refusal().expect("refused")
    };
    let pin = with(&|settings| settings.sha256 = Some("0".repeat(64)));
    assert_eq!(pin.kind, RefusalKind::Pin);
    let missing = with(&|settings| settings.file = "nowhere".to_owned());
    assert_eq!(missing.kind, RefusalKind::Missing);
    assert!(missing.help.contains("cargo build -p nowhere"), "{}", missing.help);
    let config = with(&|settings| drop(settings.config.insert("units".to_owned(), json!("secret-value"))));
    assert_eq!(config.kind, RefusalKind::Config);
    assert!(config.message.contains("units") && !config.message.contains("secret-value"), "{}", config.message);
    let hangs = World::with(&["CREATE_HANGS"], |settings| settings.start_timeout = Duration::from_millis(50));
    assert_eq!(hangs.plugin().refusal().expect("refused").kind, RefusalKind::Start);
    let open = World::with(&[], |settings| {
        use std::os::unix::fs::PermissionsExt;
        let file = settings.folders[0].join(&settings.file);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).expect("chmod");
    });
    let refusal = open.plugin().refusal().expect("refused");
    assert_eq!(refusal.kind, RefusalKind::Untrusted);
    assert!(refusal.help.contains("chmod go-w"), "{}", refusal.help);
    let good = World::with(&[], |settings| drop(settings.config.insert("units".to_owned(), json!("imperial"))));
    assert_eq!(good.tool("units", json!({})).await, Ok(json!("imperial")));
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_that_cannot_be_used_are_errors_and_the_plugin_serves_on() {
    let world = World::inside(&[]);
    for (tool, code) in [
        ("bad_json", "plugin_bad_output"),
        ("huge", "plugin_bad_output"),
        ("null", "plugin_bad_output"),
        ("typed", "plugin_bad_output"),
    ] {
        assert_eq!(world.tool(tool, json!({})).await.expect_err(tool).code, code, "{tool}");
    }
    assert_eq!(world.tool("double", json!({})).await, Ok(json!("first")));
    world.until(|world| world.plugin().status().counters.stray_completions == 1).await;
    assert_eq!(world.tool("big", json!({})).await.expect("a mebibyte").as_str().map(str::len), Some(1 << 20));
    assert_eq!(world.tool("drop", json!({})).await.expect_err("dropped").code, "tool_failed");
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_calls_lose_their_threads_until_nothing_is_sent_any_more() {
    let world = World::with(&[], |settings| {
        settings.call_timeout = Duration::from_millis(40);
        settings.cancel_grace = Duration::from_millis(20);
        settings.max_concurrency = 2;
    });
    for lost in 1..=4 {
        assert_eq!(world.tool("hang", json!({})).await.expect_err("hangs").code, "timeout");
        world.until(|world| world.plugin().status().counters.lost_threads == lost).await;
        assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")), "another thread took over");
    }
    assert_eq!(world.tool("hang", json!({})).await.expect_err("hangs").code, "timeout");
    world.until(|world| world.plugin().status().counters.lost_threads == 5).await;
    let error = world.tool("version", json!({})).await.expect_err("too many");
    assert!(error.message.contains("isolation = \"process\""), "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stray_thread_of_a_replaced_generation_is_harmless() {
    let world = World::inside(&[]);
    assert!(world.tool("stray_thread", json!({})).await.is_ok());
    world.replace(&liar(&["ANSWER=\"v2\""]));
    world.until_tool("version", json!("v2")).await;
    world.until(|world| world.plugin().status().retiring == 0).await;
    assert_eq!(world.changes.load(Ordering::SeqCst), 1, "it describes itself as before: only its coming was news");
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v2")));
}
