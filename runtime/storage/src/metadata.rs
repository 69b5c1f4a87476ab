//! Changing single keys of a thread's metadata.

use serde_json::{Map, Value};

/// The metadata with the named keys changed; `null` removes one. What had none and gains none stays without.
pub(crate) fn merged(old: Option<Map<String, Value>>, change: Map<String, Value>) -> Option<Map<String, Value>> {
    let had = old.is_some();
    let mut new = old.unwrap_or_default();
    for (key, value) in change {
        if value.is_null() {
            new.shift_remove(&key);
        } else {
            new.insert(key, value);
        }
    }
    (had || !new.is_empty()).then_some(new)
}
