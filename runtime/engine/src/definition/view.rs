//! Reading a tree that was checked: a key that is absent or was refused reads as nothing.

use std::ops::Range;
use std::time::Duration;

use serde_json::{Map, Value};
use toml::de::{DeTable, DeValue};

use super::table::{Node, in_order, integer_of, number_of};
use super::units;

/// A table of a checked tree.
#[derive(Debug, Clone, Copy)]
pub struct View<'m, 't>(pub &'m DeTable<'t>);

impl<'m, 't> View<'m, 't> {
    /// The value of `key` and its place.
    #[must_use]
    pub fn node(self, key: &str) -> Option<&'m Node<'t>> {
        self.0.get(key)
    }

    /// The place of `key`'s value.
    #[must_use]
    pub fn span(self, key: &str) -> Option<Range<usize>> {
        self.node(key).map(toml::Spanned::span)
    }

    /// The place of `key` itself.
    #[must_use]
    pub fn key_span(self, key: &str) -> Option<Range<usize>> {
        self.0.get_key_value(key).map(|(key, _)| key.span())
    }

    /// A string.
    #[must_use]
    pub fn text(self, key: &str) -> Option<&'m str> {
        self.node(key)?.get_ref().as_str()
    }

    /// A switch.
    #[must_use]
    pub fn flag(self, key: &str) -> Option<bool> {
        self.node(key)?.get_ref().as_bool()
    }

    /// A whole number.
    #[must_use]
    pub fn integer(self, key: &str) -> Option<i64> {
        integer_of(self.node(key)?.get_ref())
    }

    /// A whole number that was checked to fit.
    #[must_use]
    pub fn count(self, key: &str) -> Option<u32> {
        self.integer(key).and_then(|number| u32::try_from(number).ok())
    }

    /// A number.
    #[must_use]
    pub fn number(self, key: &str) -> Option<f64> {
        number_of(self.node(key)?.get_ref())
    }

    /// A time.
    #[must_use]
    pub fn duration(self, key: &str) -> Option<Duration> {
        units::duration(self.text(key)?).ok()
    }

    /// A size, in bytes.
    #[must_use]
    pub fn size(self, key: &str) -> Option<u64> {
        units::size(self.text(key)?).ok()
    }

    /// A table.
    #[must_use]
    pub fn table(self, key: &str) -> Option<View<'m, 't>> {
        self.node(key)?.get_ref().as_table().map(View)
    }

    /// The tables in a list of tables.
    #[must_use]
    pub fn tables(self, key: &str) -> Vec<(View<'m, 't>, Range<usize>)> {
        let items = self.node(key).and_then(|node| node.get_ref().as_array());
        let items = items.map(|items| items.iter()).into_iter().flatten();
        items.filter_map(|item| Some((View(item.get_ref().as_table()?), item.span()))).collect()
    }

    /// The strings of a list, and their places.
    #[must_use]
    pub fn texts(self, key: &str) -> Vec<(&'m str, Range<usize>)> {
        let items = self.node(key).and_then(|node| node.get_ref().as_array());
        let items = items.map(|items| items.iter()).into_iter().flatten();
        items.filter_map(|item| Some((item.get_ref().as_str()?, item.span()))).collect()
    }

    /// The entries, in the order of the file.
    pub fn entries(self) -> impl Iterator<Item = (&'m str, Range<usize>, &'m Node<'t>)> {
        in_order(self.0).into_iter().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value))
    }

    /// The table as JSON, without the keys in `except`.
    #[must_use]
    pub fn json(self, except: &[&str]) -> Map<String, Value> {
        let entries = self.entries().filter(|(key, _, _)| !except.contains(key));
        entries.map(|(key, _, value)| (key.to_owned(), json_of(value.get_ref()))).collect()
    }
}

/// A value as JSON: dates become strings; what JSON cannot say was refused by the checker.
#[must_use]
pub fn json_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::from(text.as_ref()),
        DeValue::Integer(_) => integer_of(value).map_or(Value::Null, Value::from),
        DeValue::Float(_) => number_of(value).map_or(Value::Null, Value::from),
        DeValue::Boolean(flag) => Value::from(*flag),
        DeValue::Datetime(date) => Value::from(date.to_string()),
        DeValue::Array(items) => items.iter().map(|item| json_of(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(View(table).json(&[])),
    }
}
