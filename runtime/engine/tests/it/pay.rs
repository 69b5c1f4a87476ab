//! A tool that counts its runs and waits for the test.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use roster_model::BoxFuture;
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

/// `pay {amount}`: counts its runs and waits at the test's gate when there is one. A large amount has a receipt of about as
/// many bytes.
pub struct Pay {
    spec: ToolSpec,
    pub runs: Arc<AtomicUsize>,
    pub gates: Arc<Mutex<BTreeMap<i64, Arc<Notify>>>>,
}

/// From here on there are receipts.
pub const LARGE: i64 = 10_000;

/// What stands on one.
pub fn receipt(amount: i64) -> String {
    "secret ".repeat(usize::try_from(amount).unwrap() / 7)
}

impl Tool for Pay {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: Map<String, Value>, _: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            self.runs.fetch_add(1, Ordering::SeqCst);
            let amount = arguments.get("amount").and_then(Value::as_i64).unwrap_or_default();
            assert!(amount != 666, "the tool crashes on purpose");
            let gate = self.gates.lock().unwrap().get(&amount).cloned();
            if let Some(gate) = gate {
                gate.notified().await;
            }
            if amount >= LARGE {
                return Ok(json!({"paid": amount, "receipt": receipt(amount)}));
            }
            Ok(json!({"paid": amount}))
        })
    }
}

/// Makes [`Pay`]; all it makes share their counter and gates.
#[derive(Clone, Default)]
pub struct PayMaker {
    pub runs: Arc<AtomicUsize>,
    pub gates: Arc<Mutex<BTreeMap<i64, Arc<Notify>>>>,
}

impl ToolMaker for PayMaker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        if let Some((key, _)) = settings.iter().next() {
            let message = format!("unknown key `{key}`");
            return Err(SettingsError { key: key.clone(), message, help: None });
        }
        let spec = ToolSpec {
            name: "pay".into(),
            description: "Pays.".into(),
            input_schema: json!({"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}),
        };
        let Self { runs, gates } = self.clone();
        Ok(Arc::new(Pay { spec, runs, gates }))
    }
}
