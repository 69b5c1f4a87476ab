//! The plugin in the harness, with the weather service played by the test.

use std::sync::{Arc, Mutex};

use roster_sdk::abi::code;
use roster_sdk::prelude::*;
use roster_sdk::testing::Harness;

use crate::Weather;

const PLACES: &str = r#"{"results":[{"name":"Rome","country":"Italy","latitude":41.89,"longitude":12.51}]}"#;
const DAYS: &str = r#"{"daily":{"time":["2030-01-01","2030-01-02"],"weather_code":[0,null],"temperature_2m_max":[12.5,11],
    "temperature_2m_min":[3,2.5],"precipitation_sum":[0,null]}}"#;

/// A plugin whose service answers with these bodies, and the addresses it asked.
fn plugin(
    config: Value,
    places: (u16, &'static str),
    days: (u16, &'static str),
) -> (Harness<Weather>, Arc<Mutex<Vec<String>>>) {
    let harness = Harness::new(config).expect("a plugin");
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    harness.service("http.fetch", move |input| {
        let url = input["url"].as_str().expect("an address").to_owned();
        let (status, body) = if url.contains("/search") { places } else { days };
        log.lock().expect("kept").push(url);
        Ok(json!({ "status": status, "body": body }))
    });
    (harness, asked)
}

#[test]
fn it_looks_the_city_up_and_asks_for_the_days() {
    let (plugin, asked) = plugin(json!({}), (200, PLACES), (200, DAYS));
    let answer = plugin.tool("get_forecast", json!({ "city": "  Rome ", "days": 2 })).expect("an answer");
    assert_eq!(answer["city"], "Rome, Italy");
    assert_eq!(
        answer["days"][0],
        json!({ "date": "2030-01-01", "summary": "clear sky", "high": 12.5, "low": 3.0, "precipitation": 0.0 })
    );
    assert_eq!(answer["days"][1]["summary"], "unknown");
    let asked = asked.lock().expect("kept");
    let search = "https://geocoding-api.open-meteo.com/v1/search?name=Rome&count=1&language=en&format=json";
    assert_eq!(asked[0], search);
    assert!(asked[1].starts_with("https://api.open-meteo.com/v1/forecast?latitude=41.89&longitude=12.51&daily="));
    assert!(asked[1].ends_with("&timezone=auto&forecast_days=2"), "{}", asked[1]);
}

#[test]
fn configuration_decides_units_and_addresses() {
    let config = json!({ "units": "imperial", "base_url": "http://h/v2/", "geocoding_url": "http://g" });
    let (plugin, asked) = plugin(config, (200, PLACES), (200, DAYS));
    let answer = plugin.tool("get_forecast", json!({ "city": "羅馬 & co" })).expect("an answer");
    assert_eq!(answer["units"], "imperial");
    let asked = asked.lock().expect("kept");
    assert!(asked[0].starts_with("http://g/search?name=%E7%BE%85%E9%A6%AC%20%26%20co&"), "{}", asked[0]);
    assert!(asked[1].starts_with("http://h/v2/forecast?"), "{}", asked[1]);
    assert!(asked[1].ends_with("forecast_days=3&temperature_unit=fahrenheit&precipitation_unit=inch"), "{}", asked[1]);
}

#[test]
fn what_cannot_be_answered_says_why() {
    let ask = |places, days, arguments| {
        let error = plugin(json!({}), places, days).0.tool("get_forecast", arguments).expect_err("no answer");
        (error.fault().code.clone(), error.fault().retryable)
    };
    let rome = json!({ "city": "Rome" });
    assert_eq!(ask((200, "{}"), (200, DAYS), rome.clone()), ("city_unknown".to_owned(), false));
    assert_eq!(ask((200, "<html>"), (200, DAYS), rome.clone()), ("weather_unreadable".to_owned(), false));
    assert_eq!(ask((503, ""), (200, DAYS), rome.clone()), ("weather_unavailable".to_owned(), true));
    assert_eq!(ask((200, PLACES), (400, ""), rome.clone()), ("weather_refused".to_owned(), false));
    let uneven = r#"{"daily":{"time":["2030-01-01"],"weather_code":[],"temperature_2m_max":[],"temperature_2m_min":[],"precipitation_sum":[]}}"#;
    assert_eq!(ask((200, PLACES), (200, uneven), rome), ("weather_unreadable".to_owned(), false));
    assert_eq!(ask((200, PLACES), (200, DAYS), json!({ "city": " " })), ("invalid".to_owned(), false));
    assert_eq!(ask((200, PLACES), (200, DAYS), json!({ "city": "Rome", "days": 8 })), ("invalid".to_owned(), false));
}

#[test]
fn without_a_grant_it_says_so() {
    let plugin = Harness::<Weather>::new(json!({})).expect("a plugin");
    let error = plugin.tool("get_forecast", json!({ "city": "Rome" })).expect_err("no grant");
    assert_eq!(error.status(), code::E_DENIED);
}

#[test]
fn an_address_must_be_one() {
    let error = Harness::<Weather>::new(json!({ "base_url": "api.example" })).err().expect("refused");
    assert_eq!(error.to_string(), "`base_url` must begin with `http://` or `https://`: `api.example`");
    let error = Harness::<Weather>::new(json!({ "unit": "metric" })).err().expect("refused");
    assert!(error.to_string().contains("unknown field `unit`"), "{error}");
}
