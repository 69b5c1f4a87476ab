use super::*;
use std::convert::Infallible;

fn read(text: &str, piece: usize) -> (Vec<String>, bool) {
    let mut reader = SseReader::default();
    let mut events = Vec::new();
    for piece in text.as_bytes().chunks(piece) {
        let taken = reader.push(piece, |data| {
            events.push(String::from_utf8_lossy(data).into_owned());
            Ok::<(), Infallible>(())
        });
        taken.expect("never fails");
    }
    (events, reader.is_in_event())
}

fn check(text: &str, expected: &[&str], unfinished: bool) {
    for piece in [1, 2, 3, 7, 1000] {
        let (events, rest) = read(text, piece);
        assert_eq!((events.as_slice(), rest), (expected.map_strings().as_slice(), unfinished), "pieces of {piece}");
    }
}

trait MapStrings {
    fn map_strings(&self) -> Vec<String>;
}

impl MapStrings for &[&str] {
    fn map_strings(&self) -> Vec<String> {
        self.iter().map(|text| (*text).to_owned()).collect()
    }
}

#[test]
fn events_come_whole_whatever_the_pieces() {
    check("data: {\"a\":1}\n\ndata: 北京 😀\n\n", &["{\"a\":1}", "北京 😀"], false);
    check("data:x\r\n\r\ndata: [DONE]\r\n\r\n", &["x", "[DONE]"], false);
    check("data: one\ndata: two\n\n", &["one\ntwo"], false);
}

#[test]
fn comments_names_and_empty_lines_are_no_events() {
    check(": warming up\n\nevent: text\nid: 1\ndata: x\n\n\n\n", &["x"], false);
}

#[test]
fn an_event_without_its_end_is_not_handed_on() {
    check("data: x\n\ndata: y\n", &["x"], true);
    check("data: x", &[], true);
}

#[test]
fn the_first_failure_stops() {
    let mut seen = 0;
    let failed = SseReader::default().push(b"data: 1\n\ndata: 2\n\n", |_| {
        seen += 1;
        Err("no")
    });
    assert_eq!((failed, seen), (Err("no"), 1));
}
