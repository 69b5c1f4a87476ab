//! Runs one call: bounded in time and number, a panic caught.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use roster_model::tool::{Tool, ToolContext, ToolError};
use serde_json::{Map, Value};
use tokio::time::Instant;

use super::toolbox::BoundTool;

/// Runs a tool with arguments that were checked. Waits for a free slot within the tool's time-out.
///
/// # Errors
/// The tool's own error, `timeout`, or `panic`.
pub async fn dispatch(
    bound: &BoundTool,
    tool: &dyn Tool,
    arguments: Map<String, Value>,
    context: ToolContext,
) -> Result<Value, ToolError> {
    let deadline = Instant::now() + bound.timeout;
    let given_up = || ToolError {
        code: "timeout",
        message: format!("the tool gave no answer within {} s", bound.timeout.as_secs_f64()),
    };
    let call = async {
        let _slot = match &bound.slots {
            Some(slots) => slots.acquire().await.ok(),
            None => None,
        };
        // The slot may come free in the very moment in which the time is over: what is given up is not begun.
        if Instant::now() >= deadline {
            return Ok(Err(given_up()));
        }
        AssertUnwindSafe(tool.call(arguments, context)).catch_unwind().await
    };
    match tokio::time::timeout_at(deadline, call).await {
        Ok(Ok(result)) => result,
        Ok(Err(_panic)) => Err(ToolError { code: "panic", message: "the tool crashed".to_owned() }),
        Err(_elapsed) => Err(given_up()),
    }
}
