//! The next days at a place: the forecast service of Open-Meteo, `/forecast`.

use roster_sdk::prelude::*;

use crate::place::Place;
use crate::{Config, Units, codes, fetch};

/// What the tool answers.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Forecast {
    /// The place that was found.
    city: String,
    /// `metric`: °C, mm; `imperial`: °F, inch.
    units: Units,
    /// Today first.
    days: Vec<Day>,
}

#[derive(Serialize, JsonSchema)]
struct Day {
    /// ISO date at the place.
    date: String,
    summary: String,
    high: f64,
    low: f64,
    /// Sum of the day.
    precipitation: f64,
}

#[derive(Deserialize)]
struct Answer {
    daily: Daily,
}

/// One list per quantity, all of the same length.
#[derive(Deserialize)]
struct Daily {
    time: Vec<String>,
    weather_code: Vec<Option<u64>>,
    temperature_2m_max: Vec<f64>,
    temperature_2m_min: Vec<f64>,
    precipitation_sum: Vec<Option<f64>>,
}

pub(crate) fn ask(cx: &Context, config: &Config, place: &Place, days: u8) -> Result<Forecast> {
    let (latitude, longitude) = (place.latitude.to_string(), place.longitude.to_string());
    let days = days.to_string();
    let mut query = vec![
        ("latitude", latitude.as_str()),
        ("longitude", longitude.as_str()),
        ("daily", "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum"),
        ("timezone", "auto"),
        ("forecast_days", days.as_str()),
    ];
    if config.units == Units::Imperial {
        query.extend([("temperature_unit", "fahrenheit"), ("precipitation_unit", "inch")]);
    }
    let answer: Answer = fetch::json(cx, &format!("{}/forecast", config.base_url), &query)?;
    Ok(Forecast { city: place.title(), units: config.units, days: answer.daily.days()? })
}

impl Daily {
    fn days(self) -> Result<Vec<Day>> {
        let count = self.time.len();
        let lengths = [self.temperature_2m_max.len(), self.temperature_2m_min.len(), self.precipitation_sum.len()];
        if count == 0 || self.weather_code.len() != count || lengths.iter().any(|length| *length != count) {
            return Err(fetch::unreadable("its lists of days differ in length"));
        }
        let day = |(at, date): (usize, String)| Day {
            date,
            summary: codes::words(self.weather_code[at].unwrap_or(u64::MAX)).to_owned(),
            high: self.temperature_2m_max[at],
            low: self.temperature_2m_min[at],
            precipitation: self.precipitation_sum[at].unwrap_or(0.0),
        };
        Ok(self.time.into_iter().enumerate().map(day).collect())
    }
}
