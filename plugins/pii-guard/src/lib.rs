//! `pii-guard:mask`: e-mail addresses, phone and card numbers are masked before a model reads them, and in what it
//! answers, also when one arrives in pieces.
//!
//! What is stored of the person's own message is not changed: the processor sees what is about to be fed. Tool results
//! that are fed are masked, too. `find` knows what the things look like, `mask` replaces them, `piece` decides how much
//! of an unfinished text may go on.

mod find;
mod mask;
mod piece;
#[cfg(test)]
mod tests;

use roster_sdk::contract::{Chunk, ChunkOut, Message, Processed};
use roster_sdk::prelude::*;

use mask::Masks;

/// What is masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    /// E-mail addresses.
    Email,
    /// Phone numbers: international, Chinese and North American forms.
    Phone,
    /// Card numbers of 13 to 19 digits whose check digit is right (ISO/IEC 7812, Luhn).
    Card,
}

/// In which language the masks are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    /// `[email]`, `[phone]`, `[card]`.
    #[default]
    En,
    /// `[邮箱]`, `[电话]`, `[卡号]`.
    Zh,
}

/// `[plugins.pii-guard.config]`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// What is masked; everything when left out.
    #[serde(default = "all")]
    mask: Vec<Kind>,
    /// `en` (the default) or `zh`.
    #[serde(default)]
    language: Language,
}

fn all() -> Vec<Kind> {
    vec![Kind::Email, Kind::Phone, Kind::Card]
}

/// The plugin.
pub struct Guard {
    masks: Masks,
}

impl Plugin for Guard {
    type Config = Config;

    fn create(_host: Host, config: Config) -> Result<Self> {
        if config.mask.is_empty() {
            return Err(Error::invalid(
                "`mask` is empty: name `email`, `phone` or `card`, or leave it out for all three",
            ));
        }
        Ok(Self { masks: Masks::new(config.mask, config.language) })
    }

    fn register(r: &mut Registry<Self>) {
        r.processor("mask", "Masks e-mail addresses, phone and card numbers.")
            .input(|p, messages, _| Ok(p.whole(messages)))
            .chunk(|p, chunk, _| Ok(p.piece(&chunk)))
            .output(|p, messages, _| Ok(p.whole(messages)));
    }
}

impl Guard {
    fn whole(&self, mut messages: Vec<Message>) -> Processed {
        for part in messages.iter_mut().flat_map(|message| &mut message.parts) {
            match part["type"].as_str() {
                Some("text") => self.masks.apply(&mut part["text"]),
                Some("tool-result") => self.masks.apply(&mut part["output"]),
                _ => {}
            }
        }
        Processed { messages: Some(messages), abort: None }
    }

    fn piece(&self, chunk: &Chunk) -> ChunkOut {
        let held = chunk.state.as_str().unwrap_or_default();
        let text = format!("{held}{}", chunk.part["text"].as_str().unwrap_or_default());
        let ready = if chunk.last { text.len() } else { piece::ready(&text) };
        let (out, rest) = text.split_at(ready);
        let part = if out.is_empty() { Value::Null } else { json!({ "type": "text", "text": self.masks.text(out) }) };
        ChunkOut { part, state: json!(rest), abort: None }
    }
}

export_plugin!(Guard, id = "dev.roster.pii-guard");
