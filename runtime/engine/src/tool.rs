//! Tools as an agent holds them: legal names for the model, checked arguments, bounded calls.

mod dispatch;
mod names;
mod toolbox;
mod validate;

pub use dispatch::dispatch;
pub use names::offered_name;
pub use toolbox::{BoundTool, Target, ToolBox, Unbound};
pub use validate::{ArgumentFault, Compiled, Schemas, Validator, parse_arguments};
