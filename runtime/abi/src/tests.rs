//! Manifests, slices and the JSON shapes.

use serde_json::json;

use crate::c::{Manifest, Payload, Slice};
use crate::code;
use crate::contract::{Chunk, Contribution, Delta, Description, Fault, Message, Page, Prompt, Row, Settings};

#[test]
fn a_manifest_is_its_bytes() {
    const MANIFEST: Manifest = Manifest::new("com.example.x", "1.2.3", "rustc", code::MF_BLOCKING);
    assert_eq!(&MANIFEST.magic.to_le_bytes(), b"1ARPLGP1");
    assert_eq!(MANIFEST.struct_size, 192);
    assert_eq!(&MANIFEST.id[..14], b"com.example.x\0");
    assert!(MANIFEST.id[14..].iter().all(|byte| *byte == 0));
    assert_eq!((MANIFEST.abi_major, MANIFEST.pointer_bits, MANIFEST.host_size_min), (1, 64, 64));
}

#[test]
fn slices_borrow() {
    let text = String::from("漢字");
    // SAFETY: `text` outlives the borrow.
    assert_eq!(unsafe { Slice::of(text.as_bytes()).bytes() }, text.as_bytes());
    // SAFETY: the length is zero.
    assert!(unsafe { Slice::EMPTY.bytes() }.is_empty());
    // SAFETY: the length is zero, the pointer may be anything.
    assert!(unsafe { Slice { ptr: std::ptr::without_provenance(1), len: 0 }.bytes() }.is_empty());
    assert_eq!(Payload::of(code::ENC_BYTES, b"ab").data.len, 2);
}

#[test]
fn unknown_fields_are_ignored_and_absent_ones_have_defaults() {
    let text = r#"{"future":1,"contributes":[{"kind":"hologram","contract":"hologram/9","id":"x","new":true}]}"#;
    let description: Description = serde_json::from_str(text).expect("reads");
    assert!(description.config_schema.is_null());
    assert_eq!(description.contributes[0].kind, "hologram");
    let page: Page<Row> = serde_json::from_str(r#"{"rows":[],"total":0}"#).expect("reads");
    assert_eq!(page.next, None);
    let message: Message = serde_json::from_str(r#"{"role":"user","parts":[],"color":"red"}"#).expect("reads");
    assert_eq!(message.created_at, 0);
}

#[test]
fn shapes_are_as_documented() {
    let tool = Contribution { kind: "tool".into(), contract: "tool/1".into(), id: "a".into(), ..Default::default() };
    assert_eq!(serde_json::to_value(tool).expect("writes"), json!({"kind": "tool", "contract": "tool/1", "id": "a"}));
    let fault = Fault { code: "c".into(), message: "m".into(), ..Default::default() };
    assert_eq!(serde_json::to_value(fault).expect("writes"), json!({"code": "c", "message": "m", "retryable": false}));
    let delta: Delta = serde_json::from_value(json!({"type": "tool-call", "index": 0, "name": "n"})).expect("reads");
    assert_eq!(delta, Delta::ToolCall { index: 0, id: None, name: "n".into() });
    let prompt: Prompt = serde_json::from_value(json!({"role": "assistant", "text": "hi"})).expect("reads");
    assert!(matches!(prompt, Prompt::Assistant { calls, .. } if calls.is_empty()));
    assert_eq!(serde_json::to_value(Settings::default()).expect("writes"), json!({}));
    let chunk: Chunk = serde_json::from_value(json!({"part": {"type": "text", "text": "a"}})).expect("reads");
    assert!(chunk.state.is_null() && !chunk.last);
}
