//! Rules of single fields: metadata by key, and the title nobody gave.

use std::sync::Arc;

use roster_model::storage::{NewThread, StoreErrorKind, ThreadChange};
use serde_json::{Map, Value, json};

use crate::suite::conversation::{key, refused};
use crate::suite::session::{Session, Subject, thread_of};

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// Named keys change, `null` removes, the others and their order stay; two at once are both there.
pub async fn metadata_is_merged_by_key(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &[]).await;
    let merge = async |change: Value| store.merge_metadata(&key, object(change)).await.expect("merged").metadata;
    assert_eq!(merge(json!({})).await, None);
    assert_eq!(merge(json!({"x": null})).await, None);
    merge(json!({"desk": "A", "tags": [1], "deep": {"a": 1, "b": 2}})).await;
    let found = merge(json!({"desk": "B", "tags": null, "deep": {"a": 3}, "new": false, "none": null})).await;
    assert_eq!(found, Some(object(json!({"desk": "B", "deep": {"a": 3}, "new": false}))));
    assert_eq!(store.thread(&key).await.expect("thread").expect("there").metadata, found);
    assert_eq!(merge(json!({"desk": null, "deep": null, "new": null})).await, Some(Map::new()));
    let nowhere = crate::suite::conversation::key("shop", "nope");
    refused(store.merge_metadata(&nowhere, object(json!({"a": 1}))).await, StoreErrorKind::NotFound);
    let one = async |store: Arc<dyn Session>, name: &str| {
        for round in 0..20 {
            store.merge_metadata(&key, object(json!({ format!("{name}{round}"): round }))).await.expect("merged");
        }
    };
    tokio::join!(one(Arc::clone(&subject.store), "a"), one(Arc::clone(&subject.store), "b"));
    assert_eq!(merge(json!({})).await.map(|map| map.len()), Some(40));
}

/// TO-a4: what a person wrote stays.
pub async fn a_title_is_set_only_if_there_is_none(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    thread_of(store, &key, &[]).await;
    let title = async || store.thread(&key).await.expect("thread").expect("there").title;
    assert!(!store.set_title_if_empty(&key, String::new()).await.expect("asked"));
    assert!(store.set_title_if_empty(&key, "Auto".to_owned()).await.expect("asked"));
    assert!(!store.set_title_if_empty(&key, "Again".to_owned()).await.expect("asked"));
    assert_eq!(title().await, "Auto");
    let change = ThreadChange { title: Some("Invoice 4".to_owned()), metadata: None };
    store.update_thread(&key, change).await.expect("renamed");
    assert!(!store.set_title_if_empty(&key, "Late".to_owned()).await.expect("asked"));
    assert_eq!(title().await, "Invoice 4");
    let named = NewThread { title: "Named".to_owned(), ..NewThread::default() };
    let other = crate::suite::conversation::key("shop", "u");
    store.create_thread(&other, named).await.expect("made");
    assert!(!store.set_title_if_empty(&other, "Auto".to_owned()).await.expect("asked"));
    let nowhere = crate::suite::conversation::key("shop", "nope");
    refused(store.set_title_if_empty(&nowhere, "Auto".to_owned()).await, StoreErrorKind::NotFound);
}
