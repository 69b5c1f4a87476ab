//! `get_time`: the date and time now, in any zone.

use std::sync::Arc;

use jiff::tz::{self, TimeZone};
use roster_model::BoxFuture;
use roster_model::time::Clock;
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{arguments, settings};

/// The name definitions write.
pub const NAME: &str = "get_time";

/// How alike (Jaro-Winkler, 0 to 1) a zone must be to be suggested.
const ALIKE: f64 = 0.85;

/// Makes `get_time`. It has no settings of its own.
pub struct TimeMaker {
    clock: Arc<dyn Clock>,
    /// One for all agents that have the tool.
    spec: Arc<ToolSpec>,
}

impl TimeMaker {
    /// A maker whose tools read this clock.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, spec: Arc::new(spec()) }
    }
}

impl ToolMaker for TimeMaker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        settings::refuse_unknown(settings, NAME, &[])?;
        Ok(Arc::new(TimeTool { spec: Arc::clone(&self.spec), clock: Arc::clone(&self.clock) }))
    }
}

struct TimeTool {
    spec: Arc<ToolSpec>,
    clock: Arc<dyn Clock>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// IANA time zone name, such as `Europe/Berlin` or `Asia/Tokyo`. Left out: UTC.
    zone: Option<String>,
}

/// What the model is told.
#[derive(Serialize)]
struct Answer {
    /// ISO-8601 with the zone's offset, whole seconds.
    iso: String,
    /// The zone's name as the database spells it.
    zone: String,
    /// English, in full.
    weekday: String,
    /// Seconds since 1970-01-01T00:00:00Z.
    unix: i64,
}

impl Tool for TimeTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let arguments: Arguments = arguments::read(arguments)?;
            self.answer(arguments.zone.as_deref())
        })
    }
}

impl TimeTool {
    fn answer(&self, zone: Option<&str>) -> Result<Value, ToolError> {
        let zone = find_zone(zone)?;
        let unreadable = |fault: String| ToolError { code: "internal", message: format!("the clock is off: {fault}") };
        let moment = jiff::Timestamp::from_millisecond(self.clock.now().millis())
            .map_err(|fault| unreadable(fault.to_string()))?
            .to_zoned_datetime(zone);
        let answer = Answer {
            iso: moment.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
            zone: moment.time_zone().iana_name().unwrap_or("UTC").to_owned(),
            weekday: moment.strftime("%A").to_string(),
            unix: moment.timestamp().as_second(),
        };
        serde_json::to_value(answer).map_err(|fault| unreadable(fault.to_string()))
    }
}

/// The zone of this name; none, or a blank one (models send it for "no choice"), is UTC.
fn find_zone(name: Option<&str>) -> Result<TimeZone, ToolError> {
    let name = name.map(str::trim).unwrap_or_default();
    if name.is_empty() {
        return Ok(TimeZone::UTC);
    }
    tz::db().get(name).map_err(|_| unknown_zone(name))
}

fn unknown_zone(name: &str) -> ToolError {
    let shown: String = name.chars().take(64).collect();
    let hint = match suggest(&shown) {
        Some(zone) => format!("did you mean `{zone}`?"),
        None => "use an IANA name such as `Europe/Berlin`, or leave `zone` out for UTC".to_owned(),
    };
    ToolError { code: "unknown_zone", message: format!("`{shown}` is no known time zone; {hint}") }
}

/// The zone most like `text`, as a whole or by its city alone: "tokyo" means `Asia/Tokyo`.
fn suggest(text: &str) -> Option<String> {
    let text = text.to_lowercase().replace(' ', "_");
    tz::db()
        .available()
        .map(|name| (likeness(&text, name.as_str()), name.as_str().to_owned()))
        .filter(|(alike, _)| *alike >= ALIKE)
        .reduce(|best, next| if next.0 > best.0 { next } else { best })
        .map(|(_, name)| name)
}

fn likeness(text: &str, zone: &str) -> f64 {
    let zone = zone.to_lowercase();
    let city = zone.rsplit('/').next().unwrap_or(&zone);
    strsim::jaro_winkler(text, &zone).max(strsim::jaro_winkler(text, city))
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Tells the current date, time and weekday, in UTC or in a given time zone. Use it whenever an \
                      answer depends on today's date or the time now."
            .to_owned(),
        input_schema: arguments::schema_of::<Arguments>(),
    }
}

#[cfg(test)]
mod tests;
