//! Where a city is: the geocoding service of Open-Meteo, `/search`.

use roster_sdk::prelude::*;

use crate::fetch;

/// A place that was found.
#[derive(Deserialize)]
pub(crate) struct Place {
    name: String,
    #[serde(default)]
    country: Option<String>,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    results: Vec<Place>,
}

impl Place {
    /// `Berlin, Germany`.
    pub(crate) fn title(&self) -> String {
        match &self.country {
            Some(country) => format!("{}, {country}", self.name),
            None => self.name.clone(),
        }
    }
}

pub(crate) fn find(cx: &Context, base: &str, city: &str) -> Result<Place> {
    let query = [("name", city), ("count", "1"), ("language", "en"), ("format", "json")];
    let found: Found = fetch::json(cx, &format!("{base}/search"), &query)?;
    let first = found.results.into_iter().next();
    first.ok_or_else(|| Error::new("city_unknown", format!("no place called `{city}` was found")))
}
