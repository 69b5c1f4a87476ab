use std::sync::Arc;

use roster_model::housekeeping::SessionStore;
use roster_model::storage::StoreErrorKind;
use roster_model::working::WorkingMemoryStore;
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use roster_testkit::faulty::{Fault, FaultySession, When};
use serde_json::{Map, Value, json};

use super::*;
use crate::definition::WorkingForm;
use roster_model::id::{ResourceId, ThreadId};

fn object() -> WorkingForm {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "How they are called"},
            "pets": {"type": "array", "items": {"type": "string"}},
            "home": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
        "required": ["name"],
    });
    WorkingForm::Schema(schema.as_object().unwrap().clone())
}

fn template() -> WorkingForm {
    WorkingForm::Template("# User\n- Name:\n- Likes:\n".into())
}

fn joined(current: &str, update: &Value) -> Value {
    let merged = merge(&object(), Some(current), update).unwrap();
    serde_json::from_str(&merged.unwrap_or_else(|| current.to_owned())).unwrap()
}

/// TO-a5: the rule as the model is told.
#[test]
fn named_fields_change_absent_ones_stay_null_deletes_lists_replace() {
    let start = r#"{"name":"N1","city":"Oslo","pets":["Mio"]}"#;
    let check = |update, expected| assert_eq!(joined(start, &update), expected);
    check(json!({"city": "Bergen"}), json!({"name": "N1", "city": "Bergen", "pets": ["Mio"]}));
    check(json!({"pets": null}), json!({"name": "N1", "city": "Oslo"}));
    check(json!({"pets": []}), json!({"name": "N1", "city": "Oslo", "pets": []}));
    check(json!({"pets": ["Tom"]}), json!({"name": "N1", "city": "Oslo", "pets": ["Tom"]}));
    check(json!({}), serde_json::from_str(start).unwrap());
    check(
        json!({"home": {"city": "B", "zip": null}}),
        json!({"name": "N1", "city": "Oslo", "pets": ["Mio"], "home": {"city": "B"}}),
    );
    assert_eq!(
        joined(r#"{"home":{"city":"A","street":"S"}}"#, &json!({"home": {"city": "B"}})),
        json!({"home": {"city": "B", "street": "S"}})
    );
    assert_eq!(merge(&object(), Some(start), &json!({"name": "N1"})), Ok(None), "no change, no write");
    assert_eq!(merge(&object(), None, &json!({"name": "N1"})), Ok(Some(r#"{"name":"N1"}"#.to_owned())));
}

#[test]
fn what_is_no_object_is_neither_joined_nor_wiped() {
    assert_eq!(merge(&object(), None, &json!("text")), Err(MergeFault::WrongType { expected: "an object" }));
    assert_eq!(merge(&object(), Some("# Notes"), &json!({"name": "x"})), Err(MergeFault::NoObject));
}

#[test]
fn a_text_replaces_the_whole_text_and_an_empty_one_nothing() {
    let known = Some("# User\n- Name: Bob\n- Likes:");
    for nothing in ["", "  \n", "# User\n- Name:\n- Likes:\n", "# User\n\n  - Likes:", "- Name:"] {
        assert_eq!(merge(&template(), known, &json!(nothing)), Err(MergeFault::Nothing), "{nothing:?}");
    }
    let new = "# User\n- Name: Carl";
    assert_eq!(merge(&template(), known, &json!(new)), Ok(Some(new.to_owned())));
    assert_eq!(merge(&template(), Some(new), &json!(new)), Ok(None));
    assert_eq!(merge(&template(), known, &json!({"a": 1})), Err(MergeFault::WrongType { expected: "a text" }));
}

#[test]
fn the_tool_takes_one_argument_in_which_every_field_may_be_left_out_or_null() {
    let schema = input_schema(&object());
    let validator = jsonschema::validator_for(&schema).unwrap();
    for good in [json!({}), json!({"name": null}), json!({"pets": []}), json!({"home": {}}), json!({"home": null})] {
        assert!(validator.is_valid(&json!({"memory": good})), "{good}");
    }
    for bad in [json!({"memory": {"name": 3}}), json!({"memory": null}), json!({}), json!({"memory": {}, "x": 1})] {
        assert!(!validator.is_valid(&bad), "{bad}");
    }
    let text = jsonschema::validator_for(&input_schema(&template())).unwrap();
    assert!(text.is_valid(&json!({"memory": "x"})) && !text.is_valid(&json!({"memory": {}})));
}

#[test]
fn the_rule_told_is_the_rule_applied() {
    for form in [object(), template()] {
        let config = WorkingConfig { scope: Scope::Resource, form: form.clone(), read_only: false };
        let said = block(&config, &scope(&config, true), None);
        let rule = if matches!(form, WorkingForm::Schema(_)) { "null deletes a field" } else { "replaces the old one" };
        assert!(said.contains(rule) && description(&form).contains(rule), "{said}");
        assert!(said.contains("Nothing stands in it yet"), "{said}");
    }
}

#[test]
fn the_block_shows_form_and_content_and_a_reader_is_told_no_tool() {
    let config = WorkingConfig { scope: Scope::Resource, form: object(), read_only: true };
    let said = block(&config, &scope(&config, true), Some(r#"{"name":"Bob"}"#));
    assert!(!said.contains(WORKING_MEMORY_TOOL), "{said}");
    assert!(said.contains("<working_memory>\n{\"name\":\"Bob\"}\n</working_memory>"), "{said}");
    assert!(
        said.contains(r#""name":"string: How they are called""#) && said.contains(r#""pets":"list of string""#),
        "{said}"
    );
    assert!(said.contains(r#""home":{"city":"string"}"#), "{said}");
    assert!(said.contains("all of their conversations"), "{said}");
}

fn scope(config: &WorkingConfig, owner_named: bool) -> MemoryScope {
    let key = ThreadKey { resource: ResourceId::new("r").unwrap(), thread: ThreadId::new("t").unwrap() };
    scope_of(config, &key, owner_named)
}

/// TO-a6: the default owner is everybody, so nothing is kept for it beyond the thread.
#[test]
fn an_owner_whom_nobody_named_keeps_nothing_beyond_the_thread() {
    let config = |scope| WorkingConfig { scope, form: WorkingForm::Schema(Map::new()), read_only: false };
    assert!(matches!(scope(&config(Scope::Resource), true), MemoryScope::Resource(_)));
    assert!(matches!(scope(&config(Scope::Resource), false), MemoryScope::Thread(_)));
    assert!(matches!(scope(&config(Scope::Thread), true), MemoryScope::Thread(_)));
}

/// Somebody writes between reading and writing: the update is joined anew.
#[tokio::test]
async fn a_lost_race_is_run_again_and_both_updates_are_kept() {
    let ram = Arc::new(RamStore::new(Arc::new(TestClock::default())));
    let config = WorkingConfig { scope: Scope::Resource, form: object(), read_only: false };
    let key = ThreadKey { resource: ResourceId::new("r").unwrap(), thread: ThreadId::new("t").unwrap() };
    let open = async |store: &dyn SessionStore| OpenWorking::open(store, &config, &key, true).await.unwrap();
    // Calls of a turn: read at the beginning, read, write; the write meets another version once.
    let fault = Fault { nth: 2, when: When::Before, kind: StoreErrorKind::Conflict };
    let racing = FaultySession::new(ram.clone(), fault);
    let mine = open(&racing).await;
    let theirs = open(ram.as_ref()).await;
    theirs.update(ram.as_ref(), &json!({"pets": ["Mio"]})).await.unwrap();
    mine.update(&racing, &json!({"city": "Bergen"})).await.unwrap();
    assert_eq!(racing.calls(), 5, "read, read, lost, read, written");
    let now = ram.working_memory(&mine.scope).await.unwrap().unwrap();
    assert_eq!((now.text.as_str(), now.version), (r#"{"pets":["Mio"],"city":"Bergen"}"#, 2));
    assert_eq!(mine.version(), 2);
}
