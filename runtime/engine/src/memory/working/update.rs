//! Carrying out an update: read, join, write if nobody wrote meanwhile, else again.

use std::sync::atomic::{AtomicU64, Ordering};

use roster_model::housekeeping::SessionStore;
use roster_model::storage::{StoreError, StoreErrorKind};
use roster_model::tool::ToolError;
use roster_model::working::{MemoryScope, WorkingMemory};
use serde_json::{Value, json};

use super::{block, merge, scope_of};
use crate::definition::{WorkingConfig, WorkingForm};
use roster_model::id::ThreadKey;

/// Most bytes of UTF-8 a working memory may hold: it is fed whole at every model call. 16 KiB.
pub const SIZE_LIMIT: usize = 16 * 1024;
/// How often an update is joined anew when others write at the same moment.
const TRIES: usize = 32;

/// A turn's working memory: what it was shown, and where it writes.
#[derive(Debug)]
pub struct OpenWorking {
    /// Its form and rules.
    pub config: WorkingConfig,
    /// Whose it is in this turn.
    pub scope: MemoryScope,
    /// The version the model knows: the one it was shown, or the last it wrote itself; 0: nothing was there.
    version: AtomicU64,
    /// What the model was shown.
    pub block: String,
}

impl OpenWorking {
    /// Reads what is there and words the system text.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(
        store: &dyn SessionStore,
        config: &WorkingConfig,
        key: &ThreadKey,
        owner_named: bool,
    ) -> Result<Self, StoreError> {
        let scope = scope_of(config, key, owner_named);
        let current = store.working_memory(&scope).await?;
        let block = block(config, &scope, current.as_ref().map(|current| current.text.as_str()));
        let version = AtomicU64::new(current.map_or(0, |current| current.version));
        Ok(Self { config: config.clone(), scope, version, block })
    }

    /// The version the model knows.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Carries out an update of the model's.
    ///
    /// An object is joined to what is there now, whoever wrote it, so updates made at once are all kept. A text replaces
    /// the whole text and so must be written by someone who knew it: when another turn wrote since the model was shown
    /// it, nothing is changed and the model is given the text of now.
    ///
    /// # Errors
    /// What the model is told.
    pub async fn update(&self, store: &dyn SessionStore, update: &Value) -> Result<Value, ToolError> {
        for _ in 0..TRIES {
            let current = store.working_memory(&self.scope).await.map_err(|error| failed(&error))?;
            if let Some(error) = self.outdated(current.as_ref()) {
                return Err(error);
            }
            let text = current.as_ref().map(|current| current.text.as_str());
            let merged = merge(&self.config.form, text, update)
                .map_err(|fault| ToolError { code: "not_merged", message: fault.to_string() })?;
            let Some(merged) = merged else { return Ok(json!({"success": true})) };
            if merged.len() > SIZE_LIMIT {
                return Err(too_large(merged.len()));
            }
            let seen = current.map_or(0, |current| current.version);
            match store.set_working_memory(&self.scope, Some(merged), seen).await {
                Ok(version) => {
                    self.version.store(version, Ordering::Release);
                    return Ok(json!({"success": true}));
                }
                Err(error) if error.kind == StoreErrorKind::Conflict => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        let message = "too many others write to the working memory at the moment; nothing was changed, try again";
        Err(ToolError { code: "busy", message: message.to_owned() })
    }

    /// The refusal of a text whose writer did not know what it replaces. From then on the model knows.
    fn outdated(&self, current: Option<&WorkingMemory>) -> Option<ToolError> {
        let version = current.map_or(0, |current| current.version);
        if matches!(self.config.form, WorkingForm::Schema(_)) || version == self.version() {
            return None;
        }
        self.version.store(version, Ordering::Release);
        let now = current.map_or("(nothing)", |current| current.text.as_str());
        let message = format!(
            "the working memory was changed from another conversation meanwhile, so nothing was written. It now reads:\n\
             {now}\nJoin your change to this text and send the whole again."
        );
        Some(ToolError { code: "changed_meanwhile", message })
    }
}

fn too_large(bytes: usize) -> ToolError {
    let message = format!(
        "the working memory would have {bytes} bytes, at most {SIZE_LIMIT} are kept; nothing was changed, write it shorter"
    );
    ToolError { code: "too_large", message }
}

fn failed(error: &StoreError) -> ToolError {
    tracing::warn!(kind = ?error.kind, %error, "working memory could not be read or written");
    ToolError {
        code: "store_failed",
        message: "the working memory cannot be used at the moment; nothing was changed".into(),
    }
}
