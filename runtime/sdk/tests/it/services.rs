//! Host services, the log, and pieces of an answer.

use roster_sdk::abi::code;
use roster_sdk::contract::Fetch;
use roster_sdk::prelude::*;
use roster_sdk::testing::Harness;

struct Client(Host);

impl Plugin for Client {
    type Config = NoConfig;

    fn create(host: Host, _: NoConfig) -> Result<Self> {
        host.info("made");
        Ok(Self(host))
    }

    fn register(r: &mut Registry<Self>) {
        r.tool("fetch", "Fetches", |_, url: String, cx| {
            let answer = cx.host().fetch(&Fetch { url, ..Fetch::default() })?;
            Ok(json!({ "status": answer.status, "body": answer.body }))
        });
        r.tool("keep", "Keeps", |p, value: Value, _| {
            p.0.kv_put("k", value)?;
            p.0.kv_get("k")
        });
        r.tool("secret", "Asks", |_, name: String, cx| {
            cx.progress(0.0, "asking");
            cx.host().secret(&name)
        });
        r.tool("count", "Counts in pieces", |_, to: u32, cx| {
            for number in 0..to {
                cx.chunk(&number)?;
            }
            Ok(to)
        })
        .streaming();
        r.tool("about", "Who asks", |_, _: NoConfig, cx| Ok(cx.about().resource.clone()));
    }
}

fn plugin() -> Harness<Client> {
    Harness::new(json!({})).expect("a plugin")
}

#[test]
fn a_fetch_is_answered_by_the_host() {
    let plugin = plugin();
    plugin.service("http.fetch", |input| {
        assert_eq!(input, json!({ "url": "https://a.example/" }));
        Ok(json!({ "status": 404, "body": "no" }))
    });
    let answer = plugin.tool("fetch", json!("https://a.example/")).expect("an answer");
    assert_eq!(answer, json!({ "status": 404, "body": "no" }));
}

#[test]
fn what_is_not_granted_says_so() {
    let error = plugin().tool("fetch", json!("https://a.example/")).expect_err("no grant");
    assert_eq!(error.status(), code::E_DENIED);
    assert_eq!(error.to_string(), "`http.fetch` is not among the plugin's grants");
}

#[test]
fn a_services_failure_arrives_whole() {
    let plugin = plugin();
    plugin.service("secret.get", |_| Err(Error::new("secret_unset", "`KEY` is not set").retryable()));
    let error = plugin.tool("secret", json!("KEY")).expect_err("unset");
    assert_eq!((error.fault().code.as_str(), error.fault().retryable), ("secret_unset", true));
}

#[test]
fn values_are_kept() {
    let plugin = plugin();
    plugin.service("kv.put", |_| Ok(json!({})));
    plugin.service("kv.get", |input| Ok(json!({ "value": input["key"] })));
    assert_eq!(plugin.tool("keep", json!([1])).expect("kept"), json!("k"));
}

#[test]
fn a_wait_for_a_service_ends_with_its_call() {
    let plugin = plugin();
    let (answer, given_up) = std::sync::mpsc::channel::<()>();
    let given_up = std::sync::Mutex::new(given_up);
    plugin.service("secret.get", move |_| {
        // Answers only after the call is over.
        let _ = given_up.lock().expect("one asks").recv();
        Ok(json!({ "value": "late" }))
    });
    let call = plugin.start("secret", "invoke", json!("KEY"));
    call.wait_for_progress();
    call.cancel();
    assert_eq!(call.answer().result.expect_err("cancelled").status(), code::E_CANCELLED);
    drop(answer);
}

#[test]
fn pieces_come_in_order() {
    let answer = plugin().start("count", "invoke", json!(3)).answer();
    assert_eq!(answer.chunks, [json!(0), json!(1), json!(2)]);
    assert_eq!(answer.result.expect("an end"), json!(3));
}

#[test]
fn without_room_a_piece_is_refused_and_none_is_lost() {
    let plugin = plugin();
    plugin.room(2);
    let answer = plugin.start("count", "invoke", json!(3)).answer();
    assert_eq!(answer.chunks, [json!(0), json!(1)]);
    assert_eq!(answer.result.expect_err("busy").status(), code::E_BUSY);
}

#[test]
fn the_caller_is_told() {
    assert_eq!(plugin().tool("about", json!({})).expect("an answer"), json!("tester"));
}

#[test]
fn the_log_arrives() {
    let plugin = plugin();
    assert_eq!(plugin.log()[0].message, "made");
}
