//! Rules of pins.

use roster_model::ledger::{LedgerStore, Version};
use roster_model::storage::{StoreError, StoreErrorKind};

use super::{Subject, agent, print, publish, serve, version};
use crate::suite::conversation::refused;

async fn pin(store: &dyn LedgerStore, name: &str, fingerprint: Option<&str>) -> Result<(), StoreError> {
    store.pin(&agent(name), fingerprint.map(str::to_owned)).await
}

async fn pins(store: &dyn LedgerStore) -> Vec<Version> {
    store.pins().await.expect("pins")
}

/// One pin an agent; a new one takes the place of the old; publishes leave it alone.
pub async fn a_pin_lasts_until_it_is_taken_away(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["a", "b"]).await;
    for start in ["a", "b", "a", "a"] {
        pin(store, "clerk", Some(&print(start))).await.expect("pinned");
        assert_eq!(pins(store).await, [version("clerk", start)]);
    }
    store.write(publish(3, "clerk", "changed", "c")).await.expect("written");
    store.write(publish(4, "clerk", "removed", "c")).await.expect("written");
    assert_eq!(pins(store).await, [version("clerk", "a")]);
    for _ in 0..2 {
        pin(store, "clerk", None).await.expect("unpinned");
        assert!(pins(store).await.is_empty());
    }
}

/// Neither a version nobody knows, nor another agent's, nor the mere beginning of one; the pin that is there stays.
pub async fn an_unknown_version_cannot_be_pinned(subject: &Subject) {
    let store = &*subject.store;
    refused(pin(store, "clerk", Some(&print("a"))).await, StoreErrorKind::NotFound);
    serve(store, "clerk", &["aaaaaaaa", "bbbbbbbb"]).await;
    serve(store, "cook", &["cccccccc"]).await;
    pin(store, "clerk", Some(&print("aaaaaaaa"))).await.expect("pinned");
    for unknown in [&print("d"), &print("cccccccc"), "bbbbbbbb", ""] {
        refused(pin(store, "clerk", Some(unknown)).await, StoreErrorKind::NotFound);
    }
    assert_eq!(pins(store).await, [version("clerk", "aaaaaaaa")]);
}

/// Whole versions, by agent.
pub async fn all_pins_are_listed(subject: &Subject) {
    let store = &*subject.store;
    for name in ["cook", "clerk", "baker"] {
        serve(store, name, &["a", "b"]).await;
        pin(store, name, Some(&print("a"))).await.expect("pinned");
    }
    pin(store, "cook", None).await.expect("unpinned");
    assert_eq!(pins(store).await, [version("baker", "a"), version("clerk", "a")]);
}
