//! Fields that servers leave out, null or send as another type: read as far as they make sense, never a reason to fail.

use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Text, or nothing: a string, the text parts of a list, and empty for anything else.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(pub(crate) String);

impl Words {
    pub(crate) fn given(self) -> Option<String> {
        (!self.0.is_empty()).then_some(self.0)
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordsVisitor)
    }
}

struct WordsVisitor;

impl<'de> Visitor<'de> for WordsVisitor {
    type Value = Words;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E>(self, text: &str) -> Result<Words, E> {
        Ok(Words(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Words, E> {
        Ok(Words(text))
    }

    fn visit_unit<E>(self) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Words, E> {
        Ok(Words(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Words, E> {
        Ok(Words(number.to_string()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Words, E> {
        Ok(Words::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Words, A::Error> {
        let mut all = Words::default();
        while let Some(part) = parts.next_element::<TextPart>()? {
            all.0.push_str(&part.text.0);
        }
        Ok(all)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Words, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Words::default())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct TextPart {
    text: Words,
}

/// Larger numbers are no counts of anything, and no JSON number of every reader.
const MAX_COUNT: u64 = 1 << 53;

/// A whole number from 0 to [`MAX_COUNT`], where one stands; also inside a string.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count(pub(crate) Option<u64>);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let whole = value.as_u64().or_else(|| value.as_f64().and_then(whole_number));
        let whole = whole.or_else(|| value.as_str()?.parse().ok());
        Ok(Self(whole.filter(|count| *count <= MAX_COUNT)))
    }
}

/// Some servers write whole numbers with a fraction of zero.
fn whole_number(number: f64) -> Option<u64> {
    let is_count = number.fract() == 0.0 && (0.0..9e15).contains(&number);
    is_count.then_some(number as u64)
}
