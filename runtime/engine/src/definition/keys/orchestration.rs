//! The keys of `[orchestration]`.

use super::super::shape::{Fault, Key, ListShape, Shape, Status, TableShape, TextRule};
use super::{AGENT_ID, DURATION};

/// `[orchestration]`.
pub(super) static ORCHESTRATION: TableShape = TableShape::closed(&[
    Key::new(
        "pattern",
        "delegate: the model asks the agents it chooses; parallel: all stages at once, put together by this agent's model; \
         pipeline: one stage after the other, a stage with the role reviewer may send the draft back once.",
        Shape::Choice(&[("delegate", Status::Built), ("parallel", Status::Built), ("pipeline", Status::Built)]),
    )
    .required(),
    Key::new(
        "stages",
        "Who does what, in order; at most 8.",
        Shape::List(&ListShape { item: Shape::Table(&STAGE), least: 1, unique: false }),
    ),
    Key::new("stage_timeout", "After this a stage is given up and the others go on.", Shape::Rule(&DURATION))
        .default("\"60s\""),
]);

static STAGE: TableShape = TableShape::closed(&[
    Key::new(
        "role",
        "What this stage is called, such as \"researcher\"; \"reviewer\" judges a draft.",
        Shape::Rule(&ROLE),
    )
    .required(),
    Key::new("agent", "The id of the agent that does it.", Shape::Rule(&AGENT_ID)).required(),
]);

/// One word of any script.
static ROLE: TextRule = TextRule {
    noun: "a role in one word such as `\"researcher\"`",
    code: "bad_role",
    pattern: "^[^\\s\\u0000-\\u001f\\u007f-\\u009f]{1,64}$",
    check: |text| {
        let help = "write one word of at most 64 letters, such as \"researcher\"";
        if text.is_empty() {
            Err(Fault::new("is empty").help(help))
        } else if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            Err(Fault::new("must be one word").help(help))
        } else if text.chars().count() > 64 {
            Err(Fault::new("is longer than 64 letters").help(help))
        } else {
            Ok(())
        }
    },
};
