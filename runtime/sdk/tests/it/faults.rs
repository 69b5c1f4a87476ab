//! What misbehaves is told apart, and never more than the call at hand is lost.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use roster_sdk::Responder;
use roster_sdk::abi::code;
use roster_sdk::prelude::*;
use roster_sdk::testing::Harness;

static DESTROYED: AtomicUsize = AtomicUsize::new(0);

struct Clumsy;

#[derive(Deserialize, JsonSchema)]
struct Config {
    #[serde(default)]
    panic: bool,
    #[serde(default)]
    sick: bool,
}

struct Sick(Clumsy, bool);

impl Drop for Clumsy {
    fn drop(&mut self) {
        DESTROYED.fetch_add(1, Ordering::SeqCst);
        panic!("while being destroyed");
    }
}

impl Plugin for Sick {
    type Config = Config;

    fn create(host: Host, config: Config) -> Result<Self> {
        assert!(!config.panic, "no instance today");
        let early = host.kv_get("key").expect_err("nobody could reply yet");
        assert_eq!(early.status(), code::E_UNSUPPORTED);
        Ok(Self(Clumsy, config.sick))
    }

    fn register(r: &mut Registry<Self>) {
        r.tool("ok", "Works", |_, _: NoConfig, _| Ok("fine"));
        r.tool("panic", "Panics", |_, _: NoConfig, _| -> Result<()> { panic!("boom {}", 7) });
        r.raw_tool("drop", "Gives up", json!({}), |_, _, _, responder| drop(responder));
        r.raw_tool("thread", "Panics elsewhere", json!({}), |_, _, _, responder: Responder| {
            std::thread::spawn(move || {
                let _owed = responder;
                panic!("in a thread");
            });
        });
        r.tool("patient", "Waits until it is cancelled", |_, _: NoConfig, cx| -> Result<()> {
            cx.progress(0.0, "waiting");
            while !cx.is_cancelled() {
                std::thread::yield_now();
            }
            cx.check()
        });
        r.tool("typed", "Fails in std", |_, _: NoConfig, _| Ok("x".parse::<u8>()?));
    }

    fn health(&self) -> Result<()> {
        if self.1 { Err(Error::new("sick", "not today").retryable().details(json!({"since": 1}))) } else { Ok(()) }
    }

    fn quiesce(&self, limit: Duration) {
        assert!(limit > Duration::ZERO, "time to end");
    }
}

fn plugin() -> Harness<Sick> {
    Harness::new(json!({})).expect("a plugin")
}

#[test]
fn a_panic_ends_its_call_only_and_says_where() {
    let plugin = plugin();
    let error = plugin.tool("panic", json!({})).expect_err("a panic");
    assert_eq!((error.status(), error.fault().code.as_str()), (code::E_PANIC, "panic"));
    assert!(error.to_string().starts_with("panicked at "), "{error}");
    assert!(error.to_string().contains("faults.rs:") && error.to_string().ends_with("boom 7"), "{error}");
    assert_eq!(plugin.tool("ok", json!({})).expect("the next call"), json!("fine"));
    assert_eq!(plugin.stray_completions(), 0);
}

#[test]
fn a_panic_of_a_thread_that_owes_the_answer_is_that_calls_panic() {
    let plugin = plugin();
    let error = plugin.tool("thread", json!({})).expect_err("a panic");
    assert_eq!(error.status(), code::E_PANIC);
    assert!(error.to_string().ends_with("in a thread"), "{error}");
    assert!(plugin.log().iter().any(|line| line.message.ends_with("in a thread")), "nobody guarded that thread");
}

#[test]
fn an_answer_given_up_is_told() {
    let error = plugin().tool("drop", json!({})).expect_err("given up");
    assert_eq!((error.status(), error.fault().code.as_str()), (code::E_DROPPED, "dropped"));
}

#[test]
fn cancelling_reaches_a_loop() {
    let plugin = plugin();
    let call = plugin.start("patient", "invoke", json!({}));
    call.wait_for_progress();
    call.cancel();
    assert_eq!(call.answer().result.expect_err("cancelled").status(), code::E_CANCELLED);
}

#[test]
fn errors_of_std_are_failures() {
    let error = plugin().tool("typed", json!({})).expect_err("no number");
    assert_eq!((error.status(), error.to_string().as_str()), (code::E_INTERNAL, "invalid digit found in string"));
}

#[test]
fn a_panic_while_made_makes_no_instance() {
    let error = Harness::<Sick>::new(json!({ "panic": true })).err().expect("a panic");
    assert_eq!(error.status(), code::E_PANIC);
    assert!(error.to_string().ends_with("no instance today"), "{error}");
}

#[test]
fn a_panic_while_destroyed_harms_nobody() {
    let before = DESTROYED.load(Ordering::SeqCst);
    drop(plugin());
    assert!(DESTROYED.load(Ordering::SeqCst) > before);
}

#[test]
fn health_is_asked() {
    plugin().health().expect("well");
    let sick = Harness::<Sick>::new(json!({ "sick": true })).expect("a plugin");
    let error = sick.health().expect_err("sick");
    assert!(error.fault().retryable && error.fault().details == json!({"since": 1}), "{error:?}");
}

struct Twins;

impl Plugin for Twins {
    type Config = NoConfig;

    fn create(_: Host, _: NoConfig) -> Result<Self> {
        Ok(Self)
    }

    fn register(r: &mut Registry<Self>) {
        r.tool("same", "One", |_, _: NoConfig, _| Ok(1));
        r.tool("same", "Two", |_, _: NoConfig, _| Ok(2));
    }
}

#[test]
fn two_components_of_one_name_are_refused() {
    let error = Harness::<Twins>::describe().expect_err("twins");
    assert_eq!(error.to_string(), "two components are called `same`");
}
