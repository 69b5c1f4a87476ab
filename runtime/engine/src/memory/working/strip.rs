//! Keeping the calls of the working-memory tool out of what is stored: they are the model's notes to itself, and the
//! notebook holds what came of them.

use roster_model::message::Part;

use super::WORKING_MEMORY_TOOL;

/// The parts without calls of the tool and their results. Words on both sides of a call that goes are kept apart by an
/// empty line.
#[must_use]
pub fn without_calls(parts: &[Part]) -> Vec<Part> {
    let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
    let mut gap = false;
    for part in parts {
        match part {
            Part::ToolCall(call) if call.name == WORKING_MEMORY_TOOL => gap = true,
            Part::ToolResult(result) if result.name == WORKING_MEMORY_TOOL => gap = true,
            Part::Text { text } => {
                let joined = gap && matches!(kept.last(), Some(Part::Text { .. }));
                kept.push(if joined { Part::text(format!("\n\n{text}")) } else { part.clone() });
                gap = false;
            }
            other => {
                kept.push(other.clone());
                gap = false;
            }
        }
    }
    kept
}
