//! What a user said about themselves, found by a few fixed phrases.

use super::words::clipped;

const NAME: [&str; 6] = ["my name is ", "call me ", "i am called ", "我的名字是", "我叫", "叫我"];
const PLACE: [&str; 3] = ["i live in ", "我住在", "我居住在"];
/// A question in the form of a statement: 我叫什么, "my name is what".
const NO_FACT: [&str; 8] = ["什么", "谁", "哪", "啥", "what", "who", "where", "a "];

/// Facts, each the newest told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) name: Option<String>,
    pub(super) place: Option<String>,
}

impl Facts {
    /// Facts of several messages, oldest first.
    pub(super) fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut facts = Self::default();
        for line in lines {
            facts.name = after_any(line, &NAME).or(facts.name);
            facts.place = after_any(line, &PLACE).or(facts.place);
        }
        facts
    }

    pub(super) fn is_empty(&self) -> bool {
        self.name.is_none() && self.place.is_none()
    }
}

fn after_any(line: &str, phrases: &[&str]) -> Option<String> {
    // ASCII letters keep their length in bytes, so places in one text are places in the other.
    let lower = line.to_ascii_lowercase();
    phrases.iter().find_map(|phrase| {
        let place = lower.rfind(phrase)?;
        value(&line[place + phrase.len()..])
    })
}

/// The value that follows a phrase: up to a punctuation mark or a word that begins something new.
fn value(rest: &str) -> Option<String> {
    let end = rest.find(['.', ',', '!', '?', ';', '\n', '，', '。', '！', '？', '；', '、']);
    let mut value = &rest[..end.unwrap_or(rest.len())];
    for joint in [" and ", " but ", " please", "吧", "，"] {
        value = value.split(joint).next().unwrap_or_default();
    }
    let value = value.trim().trim_matches(|c| matches!(c, '"' | '\'' | '“' | '”' | '「' | '」'));
    let lower = value.to_lowercase();
    let is_fact = !value.is_empty() && !NO_FACT.iter().any(|word| lower.starts_with(word));
    is_fact.then(|| clipped(value, 60))
}
