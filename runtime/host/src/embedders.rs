//! What the names of embedders stand for: `hash`, `local`, and models of the configured providers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use roster_embed::hash::HashEmbedder;
use roster_embed::local::import::HINT;
use roster_embed::local::{LocalEmbedder, is_imported};
use roster_engine::definition::suggest;
use roster_engine::registry::{BoundEmbedder, EmbedderSource, NameFault};
use roster_model::embedder::{EmbedErrorKind, Embedder};

use crate::catalog::Models;

/// Where the weights of `local` are, relative to the root.
pub const LOCAL_WEIGHTS: &str = ".temp/models/use-multilingual";

/// The built-in embedders of one process. Made once: the weights of `local` take about 70 MB when it is first asked,
/// and every agent shares them, whatever is reloaded.
pub struct Embedders {
    weights: PathBuf,
    local: Arc<dyn Embedder>,
    hash: Arc<dyn Embedder>,
}

impl Embedders {
    /// The embedders of the project at `root`. Loads nothing.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let weights = root.join(LOCAL_WEIGHTS);
        Self { local: Arc::new(LocalEmbedder::new(&weights)), hash: Arc::new(HashEmbedder), weights }
    }

    /// Whether the weights of `local` are there now.
    #[must_use]
    pub fn has_weights(&self) -> bool {
        is_imported(&self.weights)
    }
}

/// What names stand for in one configuration.
pub struct NamedEmbedders {
    built_in: Arc<Embedders>,
    models: Arc<Models>,
    /// Whether the weights of `local` were there when this was made.
    weights: bool,
    /// Whether the plugins are as they were when this was made.
    plugins: Box<dyn Fn() -> bool + Send + Sync>,
}

impl NamedEmbedders {
    /// The built-in embedders and those of the configured providers.
    #[must_use]
    pub fn new(built_in: Arc<Embedders>, models: Arc<Models>, plugins: Box<dyn Fn() -> bool + Send + Sync>) -> Self {
        Self { weights: built_in.has_weights(), built_in, models, plugins }
    }

    fn hash(&self) -> BoundEmbedder {
        BoundEmbedder { embedder: Arc::clone(&self.built_in.hash), notice: None }
    }

    fn local(&self) -> BoundEmbedder {
        BoundEmbedder { embedder: Arc::clone(&self.built_in.local), notice: (!self.weights).then(no_weights) }
    }
}

impl EmbedderSource for NamedEmbedders {
    fn resolve(&self, name: &str) -> Result<BoundEmbedder, NameFault> {
        match name {
            "hash" => Ok(self.hash()),
            "local" => Ok(self.local()),
            _ if name.contains('/') => self.models.embedder(name),
            _ if name.contains(':') => self.models.embedder_of_plugin(name),
            _ => Err(unknown(name)),
        }
    }

    /// `local` where its weights are there, else `hash`.
    fn unnamed(&self) -> Result<BoundEmbedder, NameFault> {
        Ok(if self.weights { self.local() } else { self.hash() })
    }

    /// Until weights are imported, or taken away, or a plugin comes or goes.
    fn is_current(&self) -> bool {
        self.weights == self.built_in.has_weights() && (self.plugins)()
    }
}

fn no_weights() -> NameFault {
    NameFault {
        code: EmbedErrorKind::MissingWeights.code(),
        message: format!("the weights of the embedder `local` are not in {LOCAL_WEIGHTS}; recall goes by words alone"),
        help: Some(format!("{HINT}; or write embedder = \"hash\"")),
    }
}

fn unknown(name: &str) -> NameFault {
    let help = match suggest(name, ["hash", "local"]) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "known embedders: `hash`, `local`, `provider/model`, `plugin:embedder`".to_owned(),
    };
    NameFault { code: "unknown_embedder", message: format!("unknown embedder `{name}`"), help: Some(help) }
}

#[cfg(test)]
mod tests;
