//! Where a city is.

use reqwest::{Client, Url};
use roster_model::tool::ToolError;
use serde::Deserialize;

use super::fetch;

/// What is asked below the address.
pub(super) const LEAF: &str = "search";

/// A place as the service knows it.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Place {
    pub(super) name: String,
    /// State or province.
    #[serde(rename = "admin1")]
    pub(super) region: Option<String>,
    pub(super) country: Option<String>,
    country_code: Option<String>,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

#[derive(Deserialize)]
struct Found {
    /// Absent when nothing was found.
    #[serde(default)]
    results: Vec<Place>,
}

/// Looks the city up. The service matches names only, so what follows a comma (`Paris, Texas`) chooses among the
/// places of that name.
///
/// # Errors
/// `invalid_arguments` for a blank name, `not_found`, and those of [`fetch::get`].
pub(super) async fn find(client: &Client, geocoding: &Url, city: &str) -> Result<Place, ToolError> {
    let mut words = city.split([',', '，']).map(str::trim).filter(|word| !word.is_empty());
    let Some(name) = words.next() else {
        return Err(ToolError { code: "invalid_arguments", message: "`city` is blank".to_owned() });
    };
    let wanted: Vec<String> = words.map(|word| usual_code(word.to_lowercase())).collect();
    let count = if wanted.is_empty() { "1" } else { "20" };
    let query = [("name", name), ("count", count), ("language", "en"), ("format", "json")];
    let found: Found = fetch::get(client, geocoding, LEAF, &query).await?;
    choose(found.results, &wanted).ok_or_else(|| not_found(city))
}

/// The country code for what people write in its place.
fn usual_code(word: String) -> String {
    match word.as_str() {
        "usa" | "u.s." | "u.s.a." => "us".to_owned(),
        "uk" | "u.k." => "gb".to_owned(),
        _ => word,
    }
}

/// The place that meets most of the wanted words; the first, which is the largest, when several meet as many. With
/// words that no place meets it is still the first: the answer names its country, so the model can see it.
fn choose(places: Vec<Place>, wanted: &[String]) -> Option<Place> {
    let met = |place: &Place| wanted.iter().filter(|word| place.is_in(word)).count();
    places.into_iter().reduce(|best, next| if met(&next) > met(&best) { next } else { best })
}

impl Place {
    /// Whether `word` (in lower case) is its region, country or country code.
    fn is_in(&self, word: &str) -> bool {
        [&self.region, &self.country, &self.country_code].into_iter().flatten().any(|name| name.to_lowercase() == word)
    }
}

fn not_found(city: &str) -> ToolError {
    let shown: String = city.chars().take(64).collect();
    ToolError {
        code: "not_found",
        message: format!("no city named `{shown}` is known; check the spelling or name a larger city nearby"),
    }
}
