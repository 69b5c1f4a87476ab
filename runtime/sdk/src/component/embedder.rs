//! `embedder/1`: texts in, vectors out.

use roster_abi::code;
use roster_abi::contract::{Contribution, Embed, kind};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::plugin::Plugin;
use crate::registry::{Entry, Registry};

impl<P: Plugin> Registry<P> {
    /// An embedder of `dimensions` floats per text. Vectors have length 1 by the Euclidean norm, or are zero where there
    /// is nothing to compare; one per text, in order.
    pub fn embedder<F>(&mut self, id: &str, description: &str, dimensions: usize, run: F) -> EmbedderEntry<'_>
    where
        F: Fn(&P, Vec<String>, &Context) -> Result<Vec<Vec<f32>>> + Send + Sync + 'static,
    {
        let about = Contribution {
            kind: kind::EMBEDDER.to_owned(),
            contract: "embedder/1".to_owned(),
            id: id.to_owned(),
            description: description.to_owned(),
            dimensions: Some(dimensions),
            idempotent: true,
            ..Contribution::default()
        };
        EmbedderEntry(self.add(about, move |call| {
            if call.method != "embed" {
                let error = call.unknown_method();
                return call.responder.fail(&error);
            }
            let rows = call.read().and_then(|Embed { texts }| {
                let count = texts.len();
                packed(&run(&call.plugin, texts, &call.cx)?, count, dimensions)
            });
            match rows {
                Ok(bytes) => call.responder.bytes(code::ENC_F32LE, &bytes),
                Err(error) => call.responder.fail(&error),
            }
        }))
    }
}

/// What more can be said about an embedder.
pub struct EmbedderEntry<'a>(Entry<'a>);

impl EmbedderEntry<'_> {
    /// Most texts of one call.
    pub fn max_batch(self, texts: usize) -> Self {
        self.0.0.max_batch = Some(texts);
        self
    }

    /// Names model and version: stored beside every vector, and only vectors of equal spaces are compared. Without it
    /// the plugin's id and the component's name.
    pub fn space(self, space: &str) -> Self {
        self.0.0.space = Some(space.to_owned());
        self
    }
}

fn packed(rows: &[Vec<f32>], count: usize, dimensions: usize) -> Result<Vec<u8>> {
    if rows.len() != count || rows.iter().any(|row| row.len() != dimensions) {
        return Err(Error::new("bad_vectors", format!("the embedder did not give {count} vectors of {dimensions}")));
    }
    let mut bytes = Vec::with_capacity(count * dimensions * 4);
    for number in rows.iter().flatten() {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    Ok(bytes)
}
