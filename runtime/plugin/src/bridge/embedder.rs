//! `embedder/1` as an [`Embedder`].

use std::sync::Arc;

use roster_abi::code::ENC_F32LE;
use roster_abi::contract::{CallContext, Contribution, Embed, kind};
use roster_model::BoxFuture;
use roster_model::embedder::{EmbedError, EmbedErrorKind, Embedder};

use crate::call::{CallError, Payload};
use crate::plugin::{Ask, Plugin};

/// Texts of one call when the plugin does not say.
const BATCH: usize = 64;

/// An embedder of a plugin.
pub struct PluginEmbedder {
    plugin: Arc<Plugin>,
    component: String,
    space: String,
    dimensions: usize,
    batch: usize,
    idempotent: bool,
}

/// The embedder of this id that a plugin has now.
#[must_use]
pub fn embedder(plugin: &Arc<Plugin>, id: &str) -> Option<Arc<dyn Embedder>> {
    let one = plugin.contribution(kind::EMBEDDER, id).filter(|one| one.contract == "embedder/1")?;
    let generation = plugin.generation()?;
    Some(Arc::new(PluginEmbedder::new(plugin, &generation.manifest.id, &one)))
}

impl PluginEmbedder {
    fn new(plugin: &Arc<Plugin>, library: &str, one: &Contribution) -> Self {
        Self {
            plugin: Arc::clone(plugin),
            component: one.id.clone(),
            space: one.space.clone().unwrap_or_else(|| format!("{library}/{}", one.id)),
            dimensions: one.dimensions.unwrap_or_default(),
            batch: one.max_batch.unwrap_or(BATCH).max(1),
            idempotent: one.idempotent,
        }
    }

    async fn batch(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let ask = Ask {
            component: &self.component,
            method: "embed",
            input: Payload::json(&Embed { texts: texts.to_vec() }),
            context: &CallContext::default(),
            chunks: false,
            timeout: None,
        };
        let payload = self.plugin.ask(ask, self.idempotent).await.map_err(|error| told(&error))?;
        self.rows(&payload, texts.len())
    }

    /// Rows of little-endian floats, as many as texts and as long as declared.
    fn rows(&self, payload: &Payload, texts: usize) -> Result<Vec<Vec<f32>>, EmbedError> {
        let bad = |what: String| {
            self.plugin.counters.error("plugin_bad_output");
            EmbedError::new(
                EmbedErrorKind::BadAnswer,
                format!("the embedder `{}:{}` {what}", self.plugin.key(), self.component),
            )
        };
        if payload.encoding != ENC_F32LE {
            return Err(bad(format!("answered in encoding {}, not with floats", payload.encoding)));
        }
        let floats: Vec<f32> =
            payload.bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        let wanted = texts * self.dimensions;
        if self.dimensions == 0 || floats.len() != wanted || !payload.bytes.len().is_multiple_of(4) {
            return Err(bad(format!(
                "gave {} floats for {texts} texts of {} dimensions",
                floats.len(),
                self.dimensions
            )));
        }
        if floats.iter().any(|float| !float.is_finite()) {
            return Err(bad("gave a number that is none".to_owned()));
        }
        Ok(floats.chunks_exact(self.dimensions).map(<[f32]>::to_vec).collect())
    }
}

impl Embedder for PluginEmbedder {
    fn space(&self) -> &str {
        &self.space
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, EmbedError>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(texts.len());
            for batch in texts.chunks(self.batch) {
                all.extend(self.batch(batch).await?);
            }
            Ok(all)
        })
    }
}

fn told(error: &CallError) -> EmbedError {
    let kind = match error.code.as_str() {
        "too_long" => EmbedErrorKind::TooLong,
        "plugin_bad_output" => EmbedErrorKind::BadAnswer,
        _ if error.retryable => EmbedErrorKind::Unreachable,
        _ => EmbedErrorKind::Refused,
    };
    EmbedError::new(kind, error.message.clone())
}
