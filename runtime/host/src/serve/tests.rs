use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use roster_engine::registry::Registry;
use roster_engine::turn::{Limits, Services};
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::ids::TestIds;
use tokio::time::Instant;

use super::{address, drain};
use crate::assemble::Assembly;
use crate::config::PluginsConfig;
use crate::embedders::Embedders;
use crate::mcp::Mcp;
use crate::plugins::PluginHost;
use crate::shutdown::{DRAIN, WIND_UP};

fn assembly() -> (Assembly, Arc<Services>) {
    let clock = Arc::new(TestClock::default());
    let store = Arc::new(RamStore::new(clock.clone()));
    let services = Arc::new(Services::new(clock.clone(), Arc::new(TestIds::default()), Limits::default()));
    let registry = Arc::new(Registry::default());
    let plugins = PluginHost::new(Path::new("."), &PluginsConfig::default(), clock, &registry);
    let assembly = Assembly {
        root: ".".into(),
        registry,
        plugins: Arc::new(plugins.expect("nothing is loaded")),
        services: Arc::clone(&services),
        store: store.clone(),
        embedders: Arc::new(Embedders::new(Path::new("."))),
        mcp: Mcp::new(Path::new("."), &services).expect("an HTTP client"),
        operator: store,
        sessions: None,
    };
    (assembly, services)
}

/// How long draining takes over a task that ends when this future does.
async fn drained(
    task: impl Future<Output = ()> + Send + 'static,
    services: Arc<Services>,
    assembly: Assembly,
) -> Duration {
    services.tracker.spawn(task);
    let begun = Instant::now();
    drain("SIGTERM", &assembly).await;
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn draining_waits_for_turns_that_end() {
    let (assembly, services) = assembly();
    let turn = tokio::time::sleep(Duration::from_secs(3));
    let took = drained(turn, Arc::clone(&services), assembly).await;
    assert_eq!(took.as_secs(), 3);
    assert!(services.draining.is_cancelled() && !services.stop.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn turns_that_go_on_are_interrupted_at_the_deadline() {
    let (assembly, services) = assembly();
    let stop = services.stop.clone();
    let took = drained(async move { stop.cancelled().await }, Arc::clone(&services), assembly).await;
    assert_eq!(took.as_secs(), DRAIN.as_secs());
}

#[tokio::test(start_paused = true)]
async fn what_does_not_listen_is_given_up() {
    let (assembly, services) = assembly();
    let took = drained(std::future::pending(), services, assembly).await;
    assert_eq!(took.as_secs(), (DRAIN + WIND_UP).as_secs());
}

#[test]
fn addresses_are_numbers_or_names() {
    let configured: SocketAddr = "127.0.0.1:1".parse().expect("an address");
    assert_eq!(address(None, configured, "--gateway").expect("as configured"), configured);
    for (asked, expected) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:5", "[::1]:5"), ("localhost:7", "127.0.0.1:7")] {
        assert_eq!(address(Some(asked), configured, "--gateway").expect(asked).to_string(), expected);
    }
    for asked in ["8787", "nowhere", ""] {
        let error = address(Some(asked), configured, "--studio").expect_err(asked);
        assert!(error.hint_text().is_some_and(|hint| hint.contains("--studio")), "{error}");
    }
}
