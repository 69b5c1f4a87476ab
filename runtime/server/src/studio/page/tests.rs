//! The page's own rules; what it shows is tested at the door.

use super::*;

#[test]
fn base64_is_the_standard_one() {
    for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}

#[test]
fn the_page_is_whole_and_loads_nothing_from_elsewhere() {
    assert!(PAGE.contains("<style>{{style}}</style>") && PAGE.contains("<script>{{script}}</script>"));
    for part in [STYLE, SCRIPT] {
        assert!(!part.contains("{{"), "hashes are of the text as sent");
    }
    let all = [PAGE, STYLE, SCRIPT].concat();
    for bad in ["src=", "<link", "@import", "url(", "https://", "innerHTML", " style=\"", " onclick", "eval("] {
        assert!(!all.contains(bad), "{bad}");
    }
}

#[test]
fn every_mark_has_a_value_and_values_are_no_marks() {
    let marks = Marks {
        gateway: "{{registry}}".into(),
        version: "v",
        health: "h",
        login: "l",
        filter: "f",
        words: "{{version}}".into(),
        control: "c",
        example: "e".into(),
        registry: "r".into(),
        waiting: "w".into(),
    };
    for name in WHOLE.split("{{").skip(1).map(|rest| rest.split_once("}}").expect("closed").0) {
        assert!(!marks.value(name).is_empty(), "{name}");
    }
    assert_eq!(marks.fill("a{{gateway}}b{{words}}c{{version}}"), "a{{registry}}b{{version}}cv");
}

#[test]
fn texts_are_escaped() {
    let mut html = Html::default();
    html.raw("<p title=\"").text("\"><script>'&").raw("\">").number(7_u64);
    assert_eq!(html.into_string(), "<p title=\"&quot;&gt;&lt;script&gt;&#39;&amp;\">7");
    for (text, shown) in [
        ("unknown tool `a<b`, not `c`", "unknown tool <code>a&lt;b</code>, not <code>c</code>"),
        ("`a` and one ` more", "<code>a</code> and one ` more"),
        ("none", "none"),
        ("", ""),
    ] {
        let mut html = Html::default();
        html.prose(text);
        assert_eq!(html.into_string(), shown);
    }
}
