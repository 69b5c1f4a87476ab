//! What is masked, what is not, and that pieces come to the same as the whole.

use proptest::prelude::*;
use roster_sdk::prelude::*;
use roster_sdk::testing::Harness;

use crate::mask::Masks;
use crate::{Guard, Kind, Language, all};

fn masks() -> Masks {
    Masks::new(all(), Language::En)
}

fn check(text: &str, expected: &str) {
    assert_eq!(masks().text(text), expected, "of {text:?}");
}

#[test]
fn addresses() {
    check("write to ann.lee+x@mail.example.org.", "write to [email].");
    check("<a@b.co>,c@d.com", "<[email]>,[email]");
    check("郵箱是wang@例え.com", "郵箱是wang@例え.com");
    check("邮箱是wang@qq.com，谢谢", "邮箱是[email]，谢谢");
    check("ｗａｎｇ＠ｑｑ．ｃｏｍ", "[email]");
    check("a@b is none, nor @home.com, nor a@b.c1", "a@b is none, nor @home.com, nor a@b.c1");
    check("x@@y.com", "x@@y.com");
}

#[test]
fn phones() {
    check("+49 30 1234567 or +1-202-555-0143", "[phone] or [phone]");
    check("call (202) 555-0143 now", "call [phone] now");
    check("(202-555-0143)", "([phone])");
    check("202.555.0143", "[phone]");
    check("1 202 555 0143", "[phone]");
    check("我的手机号是13800138000。", "我的手机号是[phone]。");
    check("138 0013 8000、138-0013-8000", "[phone]、[phone]");
    check("８６１３８００１３８０００", "[phone]");
    check("北京 010-62770000", "北京 [phone]");
    check("030 1234567", "[phone]");
}

#[test]
fn cards() {
    check("4111 1111 1111 1111 12/27", "[card] 12/27");
    check("5500-0000-0000-0004", "[card]");
    check("378282246310005", "[card]");
    check("卡号：6222021234567890128", "卡号：[card]");
    check("卡号：6222021234567890129", "卡号：6222021234567890129");
    check("卡号４１１１１１１１１１１１１１１１", "卡号[card]");
    check("4111 1111 1111 1112", "4111 1111 1111 1112");
}

#[test]
fn ordinary_numbers_stay() {
    for text in [
        "on 2026-11-30 at 12:30",
        "192.168.100.200:8080",
        "order 20261130123456",
        "1,234,567.89",
        "3.14159265358979",
        "550e8400-e29b-41d4-a716-446655440000",
        "ISBN 978-3-16-148410-0",
        "x13800138000",
        "id_13800138000",
        "第12345678901234567890号",
    ] {
        check(text, text);
    }
}

#[test]
fn what_is_masked_is_configured() {
    let only = Masks::new(vec![Kind::Email], Language::Zh);
    assert_eq!(only.text("a@b.com 13800138000"), "[邮箱] 13800138000");
    let error = Harness::<Guard>::new(json!({ "mask": [] })).err().expect("nothing to do");
    assert!(error.to_string().starts_with("`mask` is empty"), "{error}");
}

#[test]
fn messages_are_masked_and_calls_are_not() {
    let plugin = Harness::<Guard>::new(json!({})).expect("a plugin");
    let parts = json!([
        { "type": "text", "text": "a@b.com" },
        { "type": "tool-call", "id": "1", "name": "mail", "arguments": { "to": "a@b.com" } },
        { "type": "tool-result", "call_id": "1", "output": { "sent": ["a@b.com"], "count": 1 } },
        { "type": "hologram", "text": "a@b.com" },
    ]);
    let messages = json!({ "messages": [{ "id": "m", "role": "user", "parts": parts, "created_at": 5 }] });
    for hook in ["input", "output"] {
        let out = plugin.call("mask", hook, messages.clone()).expect("masked");
        let message = &out["messages"][0];
        assert_eq!((&message["id"], &message["created_at"]), (&json!("m"), &json!(5)));
        assert_eq!(message["parts"][0]["text"], "[email]");
        assert_eq!(message["parts"][1], parts[1]);
        assert_eq!(message["parts"][2]["output"], json!({ "sent": ["[email]"], "count": 1 }));
        assert_eq!(message["parts"][3], parts[3]);
    }
}

/// What the client of a stream reads when the text comes in these pieces.
fn streamed(plugin: &Harness<Guard>, pieces: &[&str]) -> String {
    let (mut state, mut out) = (Value::Null, String::new());
    let calls = pieces.iter().map(|piece| (*piece, false)).chain([("", true)]);
    for (piece, last) in calls {
        let input = json!({ "part": { "type": "text", "text": piece }, "state": state, "last": last });
        let answer = plugin.call("mask", "chunk", input).expect("a piece");
        out.push_str(answer["part"]["text"].as_str().unwrap_or_default());
        state = answer["state"].clone();
    }
    out
}

#[test]
fn pieces_are_masked() {
    let plugin = Harness::<Guard>::new(json!({})).expect("a plugin");
    assert_eq!(
        streamed(&plugin, &["mail an", "n@mai", "l.com", ", call +49 30", " 1234", "567", " today"]),
        "mail [email], call [phone] today"
    );
    assert_eq!(streamed(&plugin, &["卡号4111 ", "1111 1111", " 1111", "。完"]), "卡号[card]。完");
}

#[test]
fn words_that_can_be_nothing_go_on_at_once() {
    let plugin = Harness::<Guard>::new(json!({})).expect("a plugin");
    for (text, held) in [("你好，", ""), ("one two ", ""), ("one two", "two"), ("at 12 ", "12 "), ("x ", "")] {
        let input = json!({ "part": { "type": "text", "text": text } });
        let answer = plugin.call("mask", "chunk", input).expect("a piece");
        assert_eq!(answer["state"], held, "of {text:?}");
    }
}

/// Texts in which the interesting things are frequent.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "x1",
        "@",
        ".",
        "-",
        "+",
        "(",
        ")",
        " ",
        "  ",
        ",",
        "。",
        "号",
        "1",
        "86",
        "138",
        "0013",
        "8000",
        "4111",
        "1111",
        "202",
        "555",
        "0143",
        "mail",
        "b.com",
        "ann@b.com",
        "（",
        "４",
        "_",
        "\n",
    ]);
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn pieces_come_to_the_same_as_the_whole(text in texts(), cuts in prop::collection::vec(0usize..64, 0..6)) {
        let masks = masks();
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| text.is_char_boundary(*cut)).collect();
        cuts.sort_unstable();
        let (mut held, mut out, mut from) = (String::new(), String::new(), 0);
        for cut in cuts.into_iter().filter(|cut| *cut <= text.len()).chain([text.len()]) {
            held.push_str(&text[from..cut]);
            from = cut;
            let ready = crate::piece::ready(&held);
            out.push_str(&masks.text(&held[..ready]));
            held.drain(..ready);
        }
        out.push_str(&masks.text(&held));
        prop_assert_eq!(out, masks.text(&text));
    }

    #[test]
    fn any_text_is_taken(text in "\\PC*") {
        let _ = masks().text(&text);
        prop_assert!(crate::piece::ready(&text) <= text.len());
    }
}
