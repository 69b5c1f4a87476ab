//! Replaces what was found.

use roster_sdk::prelude::*;

use crate::find::{self, Found};
use crate::{Kind, Language};

pub(crate) struct Masks {
    kinds: Vec<Kind>,
    language: Language,
}

impl Masks {
    pub(crate) fn new(kinds: Vec<Kind>, language: Language) -> Self {
        Self { kinds, language }
    }

    fn word(&self, kind: Kind) -> &'static str {
        match (self.language, kind) {
            (Language::En, Kind::Email) => "[email]",
            (Language::En, Kind::Phone) => "[phone]",
            (Language::En, Kind::Card) => "[card]",
            (Language::Zh, Kind::Email) => "[邮箱]",
            (Language::Zh, Kind::Phone) => "[电话]",
            (Language::Zh, Kind::Card) => "[卡号]",
        }
    }

    /// The text with everything masked.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for Found { kind, start, end } in find::all(text) {
            if self.kinds.contains(&kind) {
                out.push_str(&text[from..start]);
                out.push_str(self.word(kind));
                from = end;
            }
        }
        out.push_str(&text[from..]);
        out
    }

    /// Every text within a value.
    pub(crate) fn apply(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.apply(value)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.apply(value)),
            _ => {}
        }
    }
}
