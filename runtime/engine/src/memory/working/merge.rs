//! The rule by which an update is joined to what is there. Written once here, in words for the model and in code.
//!
//! *Object* (a definition with `schema`): fields named by the update change, fields it does not name stay, `null`
//! deletes a field, a list replaces the whole list, and the same holds inside nested objects (JSON Merge Patch, RFC 7396).
//! *Text* (a definition with `template`): the text replaces the whole text, but a text that is empty or holds nothing
//! beyond the template replaces nothing.

use serde_json::{Map, Value};

use crate::definition::WorkingForm;

/// The rule for objects, as the model is told.
pub(super) const OBJECT_RULE: &str = "Send only the fields that change: fields you leave out stay as they are, null \
deletes a field, and a list replaces the whole old list (so send it complete). The same holds inside nested objects.";

/// The rule for texts, as the model is told.
pub(super) const TEXT_RULE: &str = "Send the complete new text: it replaces the old one as a whole, so repeat what \
stays true. An empty text, or the template without anything filled in, changes nothing.";

/// Why an update was not joined to what is there. Told to the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeFault {
    /// A text for an object, or the other way round.
    #[error("`memory` must be {expected}; nothing was changed")]
    WrongType {
        /// What it must be.
        expected: &'static str,
    },
    /// A text that says nothing.
    #[error("the text holds nothing beyond the template; nothing was changed")]
    Nothing,
    /// What is stored is no object, although the definition has a schema.
    #[error("the working memory that is stored is no JSON object; nothing was changed, a person has to set it anew")]
    NoObject,
}

/// What is there after the update: `None` when it would be the same as before.
///
/// # Errors
/// [`MergeFault`]; what is there stays.
pub fn merge(form: &WorkingForm, current: Option<&str>, update: &Value) -> Result<Option<String>, MergeFault> {
    match form {
        WorkingForm::Template(template) => text(template, current, update),
        WorkingForm::Schema(_) => object(current, update),
    }
}

fn text(template: &str, current: Option<&str>, update: &Value) -> Result<Option<String>, MergeFault> {
    let Value::String(text) = update else { return Err(MergeFault::WrongType { expected: "a text" }) };
    let said = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let (lines, known): (Vec<String>, Vec<String>) = (said(text), said(template));
    if lines.iter().all(|line| known.contains(line)) {
        return Err(MergeFault::Nothing);
    }
    Ok((current != Some(text.as_str())).then(|| text.clone()))
}

fn object(current: Option<&str>, update: &Value) -> Result<Option<String>, MergeFault> {
    let Value::Object(change) = update else { return Err(MergeFault::WrongType { expected: "an object" }) };
    let before = match current.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => serde_json::from_str::<Map<String, Value>>(text).map_err(|_| MergeFault::NoObject)?,
        None => Map::new(),
    };
    let mut after = before.clone();
    patch(&mut after, change);
    Ok((after != before).then(|| Value::Object(after).to_string()))
}

fn patch(target: &mut Map<String, Value>, change: &Map<String, Value>) {
    for (name, value) in change {
        match value {
            Value::Null => {
                target.shift_remove(name);
            }
            Value::Object(inner) => {
                let field = target.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                if !field.is_object() {
                    *field = Value::Object(Map::new());
                }
                if let Value::Object(field) = field {
                    patch(field, inner);
                }
            }
            other => {
                target.insert(name.clone(), other.clone());
            }
        }
    }
}
