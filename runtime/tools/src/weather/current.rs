//! What the weather is at a place.

use reqwest::{Client, Url};
use roster_model::tool::ToolError;
use serde::{Deserialize, Serialize};

use super::Units;
use super::place::Place;
use super::{codes, fetch};

/// What is asked below the address.
pub(super) const LEAF: &str = "forecast";

/// The quantities asked for, by the service's names.
const QUANTITIES: &str =
    "temperature_2m,relative_humidity_2m,apparent_temperature,precipitation,weather_code,wind_speed_10m";

#[derive(Deserialize)]
struct Forecast {
    timezone: Option<String>,
    current: Current,
}

#[derive(Deserialize)]
struct Current {
    time: String,
    temperature_2m: f64,
    relative_humidity_2m: Option<f64>,
    apparent_temperature: Option<f64>,
    precipitation: Option<f64>,
    weather_code: Option<u16>,
    wind_speed_10m: Option<f64>,
}

/// What the model is told. What the service does not know is left out.
#[derive(Debug, Serialize)]
pub(super) struct Answer {
    city: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    country: Option<String>,
    /// Local time of the observation, as the service writes it.
    observed_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conditions: Option<String>,
    temperature: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    feels_like: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    humidity: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    precipitation: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wind_speed: Option<f64>,
    units: UnitNames,
    /// The service's licence asks to be named.
    source: &'static str,
}

/// In which unit each number is.
#[derive(Debug, Clone, Copy, Serialize)]
struct UnitNames {
    temperature: &'static str,
    humidity: &'static str,
    precipitation: &'static str,
    wind_speed: &'static str,
}

const METRIC: UnitNames = UnitNames { temperature: "°C", humidity: "%", precipitation: "mm", wind_speed: "km/h" };
const IMPERIAL: UnitNames = UnitNames { temperature: "°F", humidity: "%", precipitation: "inch", wind_speed: "mph" };

/// Asks for the weather at `place`.
///
/// # Errors
/// Those of [`fetch::get`].
pub(super) async fn ask(client: &Client, forecast: &Url, place: &Place, units: Units) -> Result<Answer, ToolError> {
    let (latitude, longitude) = (place.latitude.to_string(), place.longitude.to_string());
    let mut query = vec![
        ("latitude", latitude.as_str()),
        ("longitude", longitude.as_str()),
        ("current", QUANTITIES),
        ("timezone", "auto"),
    ];
    if units == Units::Imperial {
        query.extend([("temperature_unit", "fahrenheit"), ("wind_speed_unit", "mph"), ("precipitation_unit", "inch")]);
    }
    let told: Forecast = fetch::get(client, forecast, LEAF, &query).await?;
    Ok(answer(place, told, units))
}

fn answer(place: &Place, told: Forecast, units: Units) -> Answer {
    let Forecast { timezone, current } = told;
    Answer {
        city: place.name.clone(),
        region: place.region.clone().filter(|name| !name.is_empty()),
        country: place.country.clone(),
        observed_at: current.time,
        zone: timezone,
        conditions: current.weather_code.map(conditions),
        temperature: current.temperature_2m,
        feels_like: current.apparent_temperature,
        humidity: current.relative_humidity_2m,
        precipitation: current.precipitation,
        wind_speed: current.wind_speed_10m,
        units: if units == Units::Imperial { IMPERIAL } else { METRIC },
        source: "Open-Meteo.com",
    }
}

fn conditions(code: u16) -> String {
    codes::words(code).map_or_else(|| format!("unknown (code {code})"), str::to_owned)
}
