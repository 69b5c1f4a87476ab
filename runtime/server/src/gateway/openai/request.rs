//! The request's fields, each with its type and its range. Fields nobody here knows are ignored.

use std::fmt;

use http::StatusCode;
use roster_model::provider::ModelSettings;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::Value;

use crate::gateway::messages::WireMessage;
use crate::gateway::tools::WireTool;
use crate::http::error::ApiError;

#[derive(Deserialize)]
pub(super) struct Body {
    pub(super) model: String,
    pub(super) messages: Vec<WireMessage>,
    pub(super) conversation_id: Option<String>,
    pub(super) resource: Option<String>,
    stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    temperature: Option<f64>,
    top_p: Option<f64>,
    max_tokens: Option<u32>,
    max_completion_tokens: Option<u32>,
    stop: Option<Stop>,
    seed: Option<i64>,
    presence_penalty: Option<f64>,
    frequency_penalty: Option<f64>,
    reasoning_effort: Option<String>,
    pub(super) tool_choice: Option<Value>,
    n: Option<u32>,
    pub(super) tools: Option<Vec<WireTool>>,
    functions: Option<Vec<IgnoredAny>>,
    response_format: Option<ResponseFormat>,
}

#[derive(Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

#[derive(Deserialize)]
struct ResponseFormat {
    #[serde(rename = "type")]
    kind: String,
}

/// One text or a few.
struct Stop(Vec<String>);

/// As many as the strictest provider takes.
const MOST_STOPS: usize = 4;

impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Stop;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Stop, E> {
                Ok(Stop(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Stop, A::Error> {
                let mut texts = Vec::new();
                while let Some(text) = list.next_element()? {
                    texts.push(text);
                }
                Ok(Stop(texts))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

fn unsupported(param: &str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, "unsupported_parameter", message).param(param)
}

fn within(param: &'static str, value: Option<f64>, least: f64, most: f64) -> Result<Option<f64>, ApiError> {
    match value {
        Some(number) if !(least..=most).contains(&number) => {
            Err(ApiError::invalid(format!("`{param}` must be from {least} to {most}")).param(param))
        }
        value => Ok(value),
    }
}

impl Body {
    pub(super) fn stream(&self) -> bool {
        self.stream.unwrap_or(false)
    }

    pub(super) fn include_usage(&self) -> bool {
        self.stream_options.as_ref().and_then(|options| options.include_usage).unwrap_or(false)
    }

    /// What the request sets of the model call.
    ///
    /// # Errors
    /// 400 naming the parameter.
    pub(super) fn settings(&self) -> Result<ModelSettings, ApiError> {
        self.refuse_unsupported()?;
        let (max_name, max) = match self.max_completion_tokens {
            Some(most) => ("max_completion_tokens", Some(most)),
            None => ("max_tokens", self.max_tokens),
        };
        if max == Some(0) {
            return Err(ApiError::invalid(format!("`{max_name}` must be at least 1")).param(max_name));
        }
        Ok(ModelSettings {
            temperature: within("temperature", self.temperature, 0.0, 2.0)?,
            top_p: within("top_p", self.top_p, 0.0, 1.0)?,
            max_output_tokens: max,
            stop: self.stop()?,
            seed: self.seed,
            presence_penalty: within("presence_penalty", self.presence_penalty, -2.0, 2.0)?,
            frequency_penalty: within("frequency_penalty", self.frequency_penalty, -2.0, 2.0)?,
            reasoning_effort: self.reasoning_effort.clone(),
            ..ModelSettings::default()
        })
    }

    fn stop(&self) -> Result<Vec<String>, ApiError> {
        let texts = self.stop.as_ref().map_or(&[][..], |stop| &stop.0);
        if texts.len() > MOST_STOPS || texts.iter().any(String::is_empty) {
            let message = format!("`stop` must be at most {MOST_STOPS} texts, none of them empty");
            return Err(ApiError::invalid(message).param("stop"));
        }
        Ok(texts.to_vec())
    }

    /// What would change the answer and cannot be honoured is refused, never passed over.
    fn refuse_unsupported(&self) -> Result<(), ApiError> {
        if self.functions.as_ref().is_some_and(|list| !list.is_empty()) {
            return Err(unsupported("functions", "`functions` is not taken; write `tools` instead"));
        }
        if self.n.is_some_and(|n| n != 1) {
            return Err(unsupported("n", "`n` must be 1"));
        }
        if let Some(format) = &self.response_format
            && format.kind != "text"
        {
            let message = format!("`response_format` of type `{}` is not supported", format.kind);
            return Err(unsupported("response_format", message));
        }
        Ok(())
    }
}
