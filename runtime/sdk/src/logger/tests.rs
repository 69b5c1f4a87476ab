//! The only test of its process: the logger belongs to the first host.

use serde_json::json;

use crate::prelude::*;
use crate::testing::Harness;

struct Wordy;

impl Plugin for Wordy {
    type Config = NoConfig;

    fn create(_: Host, _: NoConfig) -> Result<Self> {
        Ok(Self)
    }

    fn register(r: &mut Registry<Self>) {
        r.tool("say", "Says", |_, text: String, _| {
            log::warn!("said {text}");
            Ok(())
        });
    }
}

#[test]
fn the_log_macros_reach_the_host() {
    let plugin = Harness::<Wordy>::new(json!({})).expect("a plugin");
    plugin.tool("say", json!("x")).expect("said");
    let lines = plugin.log();
    assert!(lines.iter().any(|line| line.message == "said x" && line.level == roster_abi::code::LOG_WARN), "{lines:?}");
}
