//! Checking one value against its shape.

use std::collections::HashSet;

use toml::de::{DeArray, DeValue};

use super::{Checker, Node, brief, in_order, integer_of, number_of, type_in_words};
use crate::definition::path::Path;
use crate::definition::shape::{ListShape, Shape, Status, TextRule};
use crate::definition::suggest::suggest;

impl Checker<'_> {
    pub(super) fn value(&mut self, node: &Node<'_>, shape: &'static Shape, path: &Path<'_>) {
        if self.unknown.contains(&node.span().start) {
            return;
        }
        match (shape, node.get_ref()) {
            (Shape::Bool, DeValue::Boolean(_))
            | (Shape::OnlyFalse | Shape::False, DeValue::Boolean(false))
            | (Shape::Text, DeValue::String(_)) => {}
            (Shape::OnlyFalse, DeValue::Boolean(true)) => self.later(node, path, "true"),
            (Shape::Integer(least, most), DeValue::Integer(_)) => self.integer(node, *least, *most, shape, path),
            (Shape::Number(least, most), DeValue::Integer(_) | DeValue::Float(_)) => {
                if !number_of(node.get_ref()).is_some_and(|number| (*least..=*most).contains(&number)) {
                    self.out_of_range(node, shape, path);
                }
            }
            (Shape::Rule(rule), DeValue::String(text)) => self.rule(node, rule, text, path),
            (Shape::Choice(choices), DeValue::String(text)) => self.choice(node, choices, text, path),
            (Shape::List(list), DeValue::Array(items)) => self.list(node, items, list, path),
            (Shape::Table(table), DeValue::Table(inner)) => self.table(inner, table, path, node.span()),
            (Shape::Either(shapes), found) => match shapes.iter().find(|shape| fits(shape, found)) {
                Some(shape) => self.value(node, shape, path),
                None => self.wrong_type(node, shape, path),
            },
            (Shape::Any, _) => self.any(node, path),
            _ => self.wrong_type(node, shape, path),
        }
    }

    fn later(&mut self, node: &Node<'_>, path: &Path<'_>, value: &str) {
        let problem =
            self.error("not_available_yet", node.span(), format!("this version does not have `{path} = {value}` yet"));
        problem.help = Some("take it out; nothing would act on it".to_owned());
    }

    fn integer(&mut self, node: &Node<'_>, least: i64, most: i64, shape: &Shape, path: &Path<'_>) {
        if !integer_of(node.get_ref()).is_some_and(|number| (least..=most).contains(&number)) {
            self.out_of_range(node, shape, path);
        }
    }

    fn out_of_range(&mut self, node: &Node<'_>, shape: &Shape, path: &Path<'_>) {
        self.error("out_of_range", node.span(), format!("`{path}` must be {}", shape.noun()));
    }

    fn rule(&mut self, node: &Node<'_>, rule: &TextRule, text: &str, path: &Path<'_>) {
        if let Err(fault) = (rule.check)(text) {
            self.error(rule.code, node.span(), format!("`{path}` {}", fault.message)).help = fault.help;
        }
    }

    fn choice(&mut self, node: &Node<'_>, choices: &'static [(&str, Status)], text: &str, path: &Path<'_>) {
        let shape = Shape::Choice(choices);
        match choices.iter().find(|(name, _)| *name == text) {
            Some((_, Status::Built)) => {}
            Some((name, _)) => {
                let problem = self.error(
                    "not_available_yet",
                    node.span(),
                    format!("this version does not have `{path} = \"{name}\"` yet"),
                );
                problem.help = Some(format!("write {}", shape.noun()));
            }
            None => {
                let found = if self.secret.contains(&node.span().start) {
                    String::new()
                } else {
                    format!(", found `\"{}\"`", brief(text))
                };
                let meant = suggest(text, choices.iter().map(|(name, _)| *name));
                let problem =
                    self.error("unknown_value", node.span(), format!("`{path}` must be {}{found}", shape.noun()));
                problem.help = meant.map(|meant| format!("did you mean `\"{meant}\"`?"));
            }
        }
    }

    fn list(&mut self, node: &Node<'_>, items: &DeArray<'_>, list: &'static ListShape, path: &Path<'_>) {
        if items.len() < list.least {
            self.error("out_of_range", node.span(), format!("`{path}` is an empty list"));
        }
        let mut seen = HashSet::new();
        for (index, item) in items.iter().enumerate() {
            self.value(item, &list.item, &path.item(index));
            if let (true, DeValue::String(text)) = (list.unique, item.get_ref())
                && !seen.insert(text.as_ref())
            {
                let secret = self.secret.contains(&item.span().start);
                let name = if secret { "an item".to_owned() } else { format!("`{}`", brief(text)) };
                let problem = self.error("duplicate", item.span(), format!("{name} stands twice in `{path}`"));
                problem.help = Some("delete one of the two".to_owned());
            }
        }
    }

    fn any(&mut self, node: &Node<'_>, path: &Path<'_>) {
        match node.get_ref() {
            DeValue::Integer(_) if integer_of(node.get_ref()).is_none() => {
                self.error("out_of_range", node.span(), format!("`{path}` does not fit 64 bits"));
            }
            DeValue::Float(_) if !number_of(node.get_ref()).is_some_and(f64::is_finite) => {
                self.error("out_of_range", node.span(), format!("`{path}` must be a finite number"));
            }
            DeValue::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.any(item, &path.item(index));
                }
            }
            DeValue::Table(table) => {
                for (key, value) in in_order(table) {
                    self.any(value, &path.child(key.get_ref()));
                }
            }
            _ => {}
        }
    }

    fn wrong_type(&mut self, node: &Node<'_>, shape: &Shape, path: &Path<'_>) {
        let message = format!("`{path}` must be {}, found {}", shape.noun(), type_in_words(node.get_ref()));
        let help = self.retyped(node, shape);
        self.error("wrong_type", node.span(), message).help = help;
    }

    /// How the same value would be written in the type wanted, where that is plain.
    fn retyped(&self, node: &Node<'_>, shape: &Shape) -> Option<String> {
        if self.secret.contains(&node.span().start) {
            return None;
        }
        match (shape, node.get_ref()) {
            (Shape::List(_), DeValue::String(text)) => Some(format!("write [\"{}\"]", brief(text))),
            (Shape::Integer(..) | Shape::Number(..), DeValue::String(text)) if text.trim().parse::<f64>().is_ok() => {
                Some(format!("write {} without quotation marks", text.trim()))
            }
            (Shape::Bool | Shape::OnlyFalse, DeValue::String(text)) if matches!(text.trim(), "true" | "false") => {
                Some(format!("write {} without quotation marks", text.trim()))
            }
            (Shape::Text | Shape::Rule(_), DeValue::Integer(_) | DeValue::Float(_)) => {
                let written = self.source.get(node.span())?;
                let legal = match shape {
                    Shape::Rule(rule) => (rule.check)(written).is_ok(),
                    _ => true,
                };
                if legal {
                    return Some(format!("put quotation marks round it: \"{}\"", brief(written)));
                }
                match shape {
                    Shape::Rule(rule) => (rule.check)("").err().and_then(|fault| fault.help),
                    _ => None,
                }
            }
            (Shape::Rule(rule), _) => (rule.check)("").err().and_then(|fault| fault.help),
            (Shape::Either(shapes), found) => shapes.iter().find_map(|shape| match (shape, found) {
                (Shape::List(_), DeValue::String(_)) => None,
                _ => self.retyped(node, shape),
            }),
            _ => None,
        }
    }
}

fn fits(shape: &Shape, found: &DeValue<'_>) -> bool {
    match shape {
        Shape::Bool | Shape::OnlyFalse => found.is_bool(),
        Shape::False => found.as_bool() == Some(false),
        Shape::Integer(..) => found.is_integer(),
        Shape::Number(..) => found.is_integer() || found.is_float(),
        Shape::Text | Shape::Rule(_) | Shape::Choice(_) => found.is_str(),
        Shape::List(_) => found.is_array(),
        Shape::Table(_) => found.is_table(),
        Shape::Either(shapes) => shapes.iter().any(|shape| fits(shape, found)),
        Shape::Any => true,
    }
}
