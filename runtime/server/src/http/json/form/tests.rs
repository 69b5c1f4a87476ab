//! Each way of being wrong, in people's words.

use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read")]
struct Body {
    name: String,
    number: Option<f64>,
    count: Option<u32>,
    sign: Option<i64>,
    flag: Option<bool>,
    list: Option<Vec<Inner>>,
}

#[derive(Debug, Deserialize)]
#[expect(dead_code, reason = "only read")]
struct Inner {
    role: String,
    deep: Option<std::collections::BTreeMap<String, u8>>,
}

fn check(body: &str, message: &str, param: Option<&str>) {
    let error = fault::<Body>(body.as_bytes());
    assert_eq!((error.message.as_str(), error.param.as_deref()), (message, param), "{body}");
}

#[test]
fn the_field_and_the_fault_in_words_people_use() {
    check("[]", "the body must be an object, not a list", None);
    check("7", "the body must be an object, not 7", None);
    check("null", "the body must be an object, not null", None);
    check("{}", "`name` is missing", Some("name"));
    check(r#"{"name":null}"#, "`name` must be a text, not null", Some("name"));
    check(r#"{"name":"a","number":"hot"}"#, "`number` must be a number, not a text", Some("number"));
    check(r#"{"name":"a","count":-1}"#, "`count` must be a whole number of at least 0, not -1", Some("count"));
    check(r#"{"name":"a","count":1.5}"#, "`count` must be a whole number of at least 0, not 1.5", Some("count"));
    check(r#"{"name":"a","sign":true}"#, "`sign` must be a whole number, not true", Some("sign"));
    check(r#"{"name":"a","flag":"yes"}"#, "`flag` must be `true` or `false`, not a text", Some("flag"));
    check(r#"{"name":"a","list":{}}"#, "`list` must be a list, not an object", Some("list"));
    check(r#"{"name":"a","list":[{"role":"x"},{}]}"#, "`list.1.role` is missing", Some("list.1.role"));
    check(r#"{"name":"a","list":[{"role":[]}]}"#, "`list.0.role` must be a text, not a list", Some("list.0.role"));
    let deep = r#"{"name":"a","list":[{"role":"x","deep":{"k":300}}]}"#;
    check(deep, "`list.0.deep.k` must be a whole number of at least 0, not 300", Some("list.0.deep.k"));
    check(r#"{"name":"a","name":"b"}"#, "the body holds `name` twice", Some("name"));
}

#[test]
fn no_text_of_the_body_is_repeated() {
    let error = fault::<Body>(br#"{"name":"a","number":"a secret text"}"#);
    assert!(!error.message.contains("secret"), "{}", error.message);
}
