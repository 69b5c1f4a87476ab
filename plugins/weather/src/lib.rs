//! `weather:get_forecast`: the weather of the next days in a city.
//!
//! Everything goes through the host's `http.fetch`: the operator grants the two hosts it asks, `http:HOST` each. `place`
//! and `forecast` say what is asked and read the answers; `fetch` is the only part that decides what a failure is
//! called.

mod codes;
mod fetch;
mod forecast;
mod place;
#[cfg(test)]
mod tests;

use std::time::Duration;

use roster_sdk::prelude::*;

use forecast::Forecast;

/// In which units the answer is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Units {
    /// °C and mm.
    #[default]
    Metric,
    /// °F and inches.
    Imperial,
}

/// `[plugins.weather.config]`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// `metric` (the default) or `imperial`.
    #[serde(default)]
    units: Units,
    /// Where forecasts are asked, up to and including the version: `https://api.open-meteo.com/v1`.
    #[serde(default = "forecast_url")]
    base_url: String,
    /// Where places are looked up: `https://geocoding-api.open-meteo.com/v1`.
    #[serde(default = "geocoding_url")]
    geocoding_url: String,
}

fn forecast_url() -> String {
    "https://api.open-meteo.com/v1".to_owned()
}

fn geocoding_url() -> String {
    "https://geocoding-api.open-meteo.com/v1".to_owned()
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// The city, such as `Berlin`.
    #[schemars(length(min = 1, max = 200))]
    city: String,
    /// How many days, today included: 1 to 7; 3 when left out.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 7))]
    days: u8,
}

fn three() -> u8 {
    3
}

/// The plugin.
pub struct Weather {
    config: Config,
}

impl Plugin for Weather {
    type Config = Config;

    fn create(_host: Host, mut config: Config) -> Result<Self> {
        for (key, url) in [("base_url", &mut config.base_url), ("geocoding_url", &mut config.geocoding_url)] {
            if !url.starts_with("http://") && !url.starts_with("https://") {
                return Err(Error::invalid(format!("`{key}` must begin with `http://` or `https://`: `{url}`")));
            }
            url.truncate(url.trim_end_matches('/').len());
        }
        Ok(Self { config })
    }

    fn register(r: &mut Registry<Self>) {
        r.tool("get_forecast", "Weather forecast for a city, day by day, for up to a week.", |p, ask: Ask, cx| {
            p.forecast(&ask, cx)
        })
        .idempotent()
        .timeout(Duration::from_secs(20));
    }
}

impl Weather {
    fn forecast(&self, ask: &Ask, cx: &Context) -> Result<Forecast> {
        let city = ask.city.trim();
        if city.is_empty() {
            return Err(Error::invalid("`city` is empty"));
        }
        if !(1..=7).contains(&ask.days) {
            return Err(Error::invalid(format!("`days` is {}, but must be 1 to 7", ask.days)));
        }
        cx.progress(0.1, "looking the city up");
        let place = place::find(cx, &self.config.geocoding_url, city)?;
        cx.progress(0.5, "asking for the forecast");
        forecast::ask(cx, &self.config, &place, ask.days)
    }
}

export_plugin!(Weather, id = "dev.roster.weather", blocking = true);
