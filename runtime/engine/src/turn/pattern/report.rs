//! What came of an orchestration, as clients are given it.

use roster_model::provider::Usage;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::turn::event::Failure;

/// The result of the whole.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    /// `delegate`, `parallel` or `pipeline`.
    pub(super) pattern: &'static str,
    /// What was asked.
    pub(super) task: String,
    /// In the order of the definition; of `delegate`, in the order in which they ended.
    pub(super) stages: Vec<StageReport>,
    /// What came out in the end; empty while it is under way.
    pub(super) final_draft: String,
}

/// What one agent did of it.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::turn) struct StageReport {
    /// Its role, or the agent's id where the definition gives none.
    pub(in crate::turn) role: String,
    pub(in crate::turn) agent_id: String,
    pub(in crate::turn) status: StageStatus,
    pub(in crate::turn) duration_ms: u64,
    /// The model that answered last, `provider/model`.
    pub(in crate::turn) model: Option<String>,
    #[serde(serialize_with = "usage")]
    pub(in crate::turn) usage: Usage,
    /// Its last words; empty when it failed.
    pub(in crate::turn) output: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::turn) error: Option<StageError>,
    pub(in crate::turn) meta: Meta,
    /// The failure itself, for a turn that fails with it.
    #[serde(skip)]
    pub(in crate::turn) failure: Option<Failure>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::turn) enum StageStatus {
    Completed,
    Failed,
    /// There was nothing to do it on.
    Skipped,
}

/// A failure as clients are told it.
#[derive(Debug, Clone, Serialize)]
pub(in crate::turn) struct StageError {
    pub(in crate::turn) code: &'static str,
    pub(in crate::turn) message: String,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(in crate::turn) struct Meta {
    /// Whether it was asked a second time, after a review.
    pub(in crate::turn) retried: bool,
    /// What a reviewer said.
    pub(in crate::turn) verdict: Option<Verdict>,
}

/// A reviewer's verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::turn) enum Verdict {
    Approve,
    Revise,
}

impl StageReport {
    /// The stages of a report that was stored: what people and models are told of them.
    pub(super) fn all_in(report: &Value) -> Vec<Self> {
        let stages = report.get("stages").and_then(Value::as_array);
        stages.into_iter().flatten().map(Self::read).collect()
    }

    fn read(stored: &Value) -> Self {
        let text = |pointer| stored.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
        let status = match text("/status").as_str() {
            "completed" => StageStatus::Completed,
            "skipped" => StageStatus::Skipped,
            _ => StageStatus::Failed,
        };
        let error = stored.get("error").map(|_| StageError { code: "stage_failed", message: text("/error/message") });
        Self {
            role: text("/role"),
            agent_id: text("/agentId"),
            status,
            duration_ms: 0,
            model: None,
            usage: Usage::default(),
            output: text("/output"),
            error,
            meta: Meta::default(),
            failure: None,
        }
    }

    pub(super) fn completed(&self) -> bool {
        self.status == StageStatus::Completed
    }

    /// What it failed of, in words.
    pub(super) fn fault(&self) -> &str {
        self.error.as_ref().map_or("it was not done", |error| error.message.as_str())
    }
}

/// Tokens in the words of the doors.
fn usage<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Wire {
        #[serde(skip_serializing_if = "Option::is_none")]
        input_tokens: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        output_tokens: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        total_tokens: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cached_input_tokens: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_tokens: Option<u64>,
    }
    let Usage { input_tokens, output_tokens, total_tokens, cached_input_tokens, reasoning_tokens } = *usage;
    Wire { input_tokens, output_tokens, total_tokens, cached_input_tokens, reasoning_tokens }.serialize(serializer)
}
