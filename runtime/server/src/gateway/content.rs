//! The content of a message as clients of the chat doors write it: a text, or a list of parts.

use std::fmt;

use roster_model::message::{FileData, Part};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use crate::http::error::ApiError;

/// `"…"`, `[{…}]` or `null`.
#[derive(Debug, Default)]
pub(super) enum Content {
    /// Nothing.
    #[default]
    Empty,
    /// Words.
    Text(String),
    /// Parts.
    Parts(Vec<WirePart>),
}

/// A part; which fields it needs follows from its type.
#[derive(Debug, Deserialize)]
pub(super) struct WirePart {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<Address>,
    file: Option<WireFile>,
    file_data: Option<String>,
    file_url: Option<String>,
    filename: Option<String>,
    input_audio: Option<WireAudio>,
}

#[derive(Debug, Deserialize)]
struct WireFile {
    file_data: Option<String>,
    filename: Option<String>,
}

#[derive(Debug, Deserialize)]
struct WireAudio {
    data: String,
    format: String,
}

/// `"https://…"` or `{"url":"https://…"}`.
#[derive(Debug)]
struct Address(String);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        #[derive(Deserialize)]
        struct Object {
            url: String,
        }

        impl<'de> Visitor<'de> for Reader {
            type Value = Address;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an address or an object with `url`")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Address, E> {
                Ok(Address(text.to_owned()))
            }

            fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Address, E> {
                Ok(Address(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Address, A::Error> {
                Object::deserialize(MapAccessDeserializer::new(map)).map(|object| Address(object.url))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Content;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of parts")
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Content, E> {
                Ok(Content::Empty)
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Content, E> {
                Ok(Content::Text(text.to_owned()))
            }

            fn visit_string<E: serde::de::Error>(self, text: String) -> Result<Content, E> {
                Ok(Content::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Content, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = list.next_element()? {
                    parts.push(part);
                }
                Ok(Content::Parts(parts))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl Content {
    /// As the turn takes it; empty texts are left out.
    ///
    /// # Errors
    /// 400 naming the part: `at` is the message's place, `messages.3`.
    pub(super) fn into_parts(self, at: &str) -> Result<Vec<Part>, ApiError> {
        match self {
            Self::Empty => Ok(Vec::new()),
            Self::Text(text) if text.is_empty() => Ok(Vec::new()),
            Self::Text(text) => Ok(vec![Part::text(text)]),
            Self::Parts(parts) => {
                let mut read = Vec::with_capacity(parts.len());
                for (number, part) in parts.into_iter().enumerate() {
                    let part = part.into_part(&format!("{at}.content.{number}"))?;
                    if !matches!(&part, Part::Text { text } if text.is_empty()) {
                        read.push(part);
                    }
                }
                Ok(read)
            }
        }
    }
}

impl WirePart {
    fn into_part(self, at: &str) -> Result<Part, ApiError> {
        let lacks = |field: &str| {
            ApiError::invalid(format!("a part of type `{}` needs `{field}`", self.kind)).param(format!("{at}.{field}"))
        };
        match self.kind.as_str() {
            "text" | "input_text" | "output_text" => self.text.map(Part::text).ok_or_else(|| lacks("text")),
            "refusal" => self.refusal.map(Part::text).ok_or_else(|| lacks("refusal")),
            "image_url" | "input_image" => {
                let Some(Address(url)) = self.image_url else { return Err(lacks("image_url")) };
                file(url, "image/*", None, at)
            }
            "file" => {
                let Some(WireFile { file_data: Some(data), filename }) = self.file else {
                    return Err(lacks("file.file_data"));
                };
                file(data, "application/octet-stream", filename, at)
            }
            "input_file" => {
                let Some(data) = self.file_data.or(self.file_url) else { return Err(lacks("file_data")) };
                file(data, "application/octet-stream", self.filename, at)
            }
            "input_audio" => {
                let Some(audio) = self.input_audio else { return Err(lacks("input_audio")) };
                let media_type = format!("audio/{}", audio.format);
                Ok(Part::File { media_type, data: FileData::Base64(audio.data), name: None })
            }
            other => {
                let message = format!("a part of type `{other}` is not known");
                Err(ApiError::invalid(message).param(format!("{at}.type")))
            }
        }
    }
}

/// A file by its address: the media type of a `data:` address is its own.
fn file(url: String, otherwise: &str, name: Option<String>, at: &str) -> Result<Part, ApiError> {
    let media_type = match url.split_once(':') {
        Some(("data", rest)) if rest.contains(',') => {
            let own = rest.split([';', ',']).next().unwrap_or_default();
            if own.is_empty() { "text/plain" } else { own }.to_owned()
        }
        Some(("http" | "https", _)) => otherwise.to_owned(),
        _ => {
            let message = "a file must be a `data:`, `https:` or `http:` address";
            return Err(ApiError::invalid(message).param(at));
        }
    };
    Ok(Part::File { media_type, data: FileData::Url(url), name })
}
