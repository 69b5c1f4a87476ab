//! A turn that waits for a person, on a door whose form knows nothing of it: the answer ends as usual, and an object of
//! our own beside it says what waits.

use roster_engine::turn::TurnEvent;
use roster_model::id::TurnId;
use serde::Serialize;
use serde_json::{Map, Value};

/// `"roster": {"status": "suspended", …}`.
#[derive(Serialize)]
pub(super) struct Suspended<'a> {
    status: &'static str,
    turn_id: &'a TurnId,
    calls: &'a [Waiting],
}

/// A call that waits.
#[derive(Serialize)]
pub(super) struct Waiting {
    id: String,
    name: String,
    arguments: Map<String, Value>,
}

impl Waiting {
    /// The call of this event, where it waits.
    pub(super) fn of(event: &TurnEvent) -> Option<Self> {
        match event {
            TurnEvent::ToolCalled { id, name, arguments, approval: true } => {
                Some(Self { id: id.clone(), name: name.clone(), arguments: arguments.clone() })
            }
            _ => None,
        }
    }
}

impl<'a> Suspended<'a> {
    /// `None` when nothing waits.
    pub(super) fn new(turn_id: &'a TurnId, calls: &'a [Waiting]) -> Option<Self> {
        (!calls.is_empty()).then_some(Self { status: "suspended", turn_id, calls })
    }
}
