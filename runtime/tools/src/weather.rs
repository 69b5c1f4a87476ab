//! `get_weather`: the weather now at a place, asked of Open-Meteo or a service of the same form.
//!
//! Two questions: where the place is (`place`), and what the weather is there (`current`). `fetch` is the only part
//! that touches the network and the only one that decides what a failure is called.

mod codes;
mod current;
mod fetch;
mod place;

use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Url};
use roster_model::BoxFuture;
use roster_model::tool::{SettingsError, Tool, ToolContext, ToolError, ToolMaker, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{arguments, settings};

/// The name definitions write.
pub const NAME: &str = "get_weather";

/// Where forecasts are asked, unless the setting `base_url` says otherwise.
pub const FORECAST_URL: &str = "https://api.open-meteo.com/v1";
/// Where places are looked up, unless the setting `geocoding_url` says otherwise.
pub const GEOCODING_URL: &str = "https://geocoding-api.open-meteo.com/v1";

/// For the whole call, both questions together.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Makes `get_weather`. Settings: `base_url` and `geocoding_url`, addresses up to and including the version
/// (`https://host/v1`).
pub struct WeatherMaker {
    client: Client,
    /// One for all agents that have the tool.
    spec: Arc<ToolSpec>,
}

impl WeatherMaker {
    /// A maker whose tools ask through this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, spec: Arc::new(spec()) }
    }
}

impl ToolMaker for WeatherMaker {
    fn make(&self, settings: &Map<String, Value>) -> Result<Arc<dyn Tool>, SettingsError> {
        settings::refuse_unknown(settings, NAME, &["base_url", "geocoding_url"])?;
        Ok(Arc::new(WeatherTool {
            spec: Arc::clone(&self.spec),
            client: self.client.clone(),
            forecast: settings::base_url(settings, "base_url", FORECAST_URL, current::LEAF)?,
            geocoding: settings::base_url(settings, "geocoding_url", GEOCODING_URL, place::LEAF)?,
            timeout: TIMEOUT,
        }))
    }
}

struct WeatherTool {
    spec: Arc<ToolSpec>,
    client: Client,
    forecast: Url,
    geocoding: Url,
    timeout: Duration,
}

/// In which units the answer is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    #[default]
    Metric,
    Imperial,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The city, such as `Berlin`. A region or country after a comma tells cities of one name apart: `Paris, Texas`.
    #[schemars(length(min = 1, max = 200))]
    city: String,
    /// `metric` (°C, km/h; the default) or `imperial` (°F, mph).
    #[serde(default)]
    units: Units,
}

impl Tool for WeatherTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn call(&self, arguments: Map<String, Value>, _context: ToolContext) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async move {
            let arguments: Arguments = arguments::read(arguments)?;
            match tokio::time::timeout(self.timeout, self.ask(&arguments)).await {
                Ok(answer) => answer,
                Err(_) => Err(fetch::too_slow(self.timeout)),
            }
        })
    }
}

impl WeatherTool {
    async fn ask(&self, arguments: &Arguments) -> Result<Value, ToolError> {
        let place = place::find(&self.client, &self.geocoding, &arguments.city).await?;
        let answer = current::ask(&self.client, &self.forecast, &place, arguments.units).await?;
        serde_json::to_value(answer).map_err(|fault| fetch::bad_answer(&fault.to_string()))
    }
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Tells the current weather in a city: conditions, temperature, humidity and wind.".to_owned(),
        input_schema: arguments::schema_of::<Arguments>(),
    }
}

#[cfg(test)]
mod tests;
