use super::*;
use crate::tests::{client, context, object};
use fake::Fake;
use serde_json::json;

mod fake;

const PARIS: &str = r#"{"results":[
    {"id":1,"name":"Paris","latitude":48.85341,"longitude":2.3488,"country_code":"FR","country":"France","admin1":"Île-de-France"},
    {"id":2,"name":"Paris","latitude":33.66094,"longitude":-95.55551,"country_code":"US","country":"United States","admin1":"Texas"}
],"generationtime_ms":0.5}"#;
const DRIZZLE: &str = r#"{"latitude":48.86,"longitude":2.35,"timezone":"Europe/Paris","current_units":{"temperature_2m":"°C"},
    "current":{"time":"2030-01-01T12:00","interval":900,"temperature_2m":7.4,"relative_humidity_2m":81,
    "apparent_temperature":4.2,"precipitation":0.1,"weather_code":51,"wind_speed_10m":14.8}}"#;

fn tool(fake: &Fake, timeout: Duration) -> WeatherTool {
    let url = Url::parse(&fake.url()).expect("an address");
    WeatherTool { spec: Arc::new(spec()), client: client(), forecast: url.clone(), geocoding: url, timeout }
}

async fn ask(fake: &Fake, arguments: Value) -> Result<Value, ToolError> {
    tool(fake, TIMEOUT).call(object(&arguments), context()).await
}

async fn fault(fake: &Fake) -> ToolError {
    ask(fake, json!({"city": "Paris"})).await.expect_err("a failure")
}

#[tokio::test]
async fn tells_the_weather() {
    let fake = Fake::start(&[(200, PARIS), (200, DRIZZLE)]).await;
    let told = ask(&fake, json!({"city": "Paris"})).await.expect("an answer");
    let expected = json!({
        "city": "Paris", "region": "Île-de-France", "country": "France",
        "observed_at": "2030-01-01T12:00", "zone": "Europe/Paris", "conditions": "light drizzle",
        "temperature": 7.4, "feels_like": 4.2, "humidity": 81.0, "precipitation": 0.1, "wind_speed": 14.8,
        "units": {"temperature": "°C", "humidity": "%", "precipitation": "mm", "wind_speed": "km/h"},
        "source": "Open-Meteo.com",
    });
    assert_eq!(told, expected);
    let asked = fake.asked();
    assert_eq!(asked[0], "/v1/search?name=Paris&count=1&language=en&format=json");
    assert!(asked[1].starts_with("/v1/forecast?latitude=48.85341&longitude=2.3488&current=temperature_2m%2C"));
    assert!(!asked[1].contains("fahrenheit"));
}

#[tokio::test]
async fn imperial_units_are_asked_for_and_named() {
    let fake = Fake::start(&[(200, PARIS), (200, DRIZZLE)]).await;
    let told = ask(&fake, json!({"city": "Paris", "units": "imperial"})).await.expect("an answer");
    assert_eq!(told["units"]["temperature"], "°F");
    assert!(fake.asked()[1].ends_with("&temperature_unit=fahrenheit&wind_speed_unit=mph&precipitation_unit=inch"));
}

#[tokio::test]
async fn words_after_a_comma_choose_among_cities_of_one_name() {
    for (city, country) in [
        ("Paris, Texas", "United States"),
        ("Paris,us", "United States"),
        ("Paris, USA", "United States"),
        ("Paris, FRANCE", "France"),
        ("Paris, Atlantis", "France"),
    ] {
        let fake = Fake::start(&[(200, PARIS), (200, DRIZZLE)]).await;
        let told = ask(&fake, json!({"city": city})).await.expect("an answer");
        assert_eq!(told["country"], country, "{city}");
        assert!(fake.asked()[0].starts_with("/v1/search?name=Paris&count=20&"));
    }
}

#[tokio::test]
async fn names_travel_encoded() {
    let fake = Fake::start(&[(200, r#"{"generationtime_ms":0.1}"#)]).await;
    let fault = ask(&fake, json!({"city": "北京 & count=9#"})).await.expect_err("not found");
    assert_eq!(fault.code, "not_found");
    assert!(fault.message.contains("`北京 & count=9#`"));
    assert_eq!(fake.asked()[0], "/v1/search?name=%E5%8C%97%E4%BA%AC+%26+count%3D9%23&count=1&language=en&format=json");
}

#[tokio::test]
async fn unknown_quantities_are_left_out_and_unknown_codes_said_so() {
    let sparse = r#"{"current":{"time":"2030-01-01T12:00","temperature_2m":7.4,"weather_code":42}}"#;
    let fake = Fake::start(&[(200, PARIS), (200, sparse)]).await;
    let told = ask(&fake, json!({"city": "Paris"})).await.expect("an answer");
    assert_eq!(told["conditions"], "unknown (code 42)");
    assert!(told.get("humidity").is_none() && told.get("zone").is_none());
}

#[tokio::test]
async fn a_city_that_is_not_there_is_not_found() {
    for nothing in [r#"{"results":[]}"#, "{}"] {
        assert_eq!(fault(&Fake::start(&[(200, nothing)]).await).await.code, "not_found");
    }
}

#[tokio::test]
async fn a_blank_city_asks_nobody() {
    let fake = Fake::start(&[]).await;
    for arguments in [json!({"city": " , "}), json!({}), json!({"city": "Paris", "units": "kelvin"})] {
        assert_eq!(ask(&fake, arguments).await.expect_err("refused").code, "invalid_arguments");
    }
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn answers_that_cannot_be_used_are_bad() {
    let reason = r#"{"error":true,"reason":"Latitude must be in range"}"#;
    for (script, words) in [
        (vec![(200, "<html>")], "the body is not of the expected form"),
        (vec![(200, PARIS), (200, r#"{"current":{"time":"x","temperature_2m":null}}"#)], "not of the expected form"),
        (vec![(200, PARIS), (400, reason)], "status 400: Latitude must be in range"),
        (vec![(500, "oops")], "it answered with status 500"),
        (vec![(204, "")], "status 204"),
    ] {
        let fault = fault(&Fake::start(&script).await).await;
        assert_eq!(fault.code, "bad_answer");
        assert!(fault.message.ends_with(words), "{}", fault.message);
    }
}

#[tokio::test]
async fn too_large_a_body_is_not_read_to_its_end() {
    let huge = format!(r#"{{"results":[], "pad": "{}"}}"#, "x".repeat(fetch::MAX_BODY));
    let fault = fault(&Fake::start(&[(200, &huge)]).await).await;
    assert_eq!((fault.code, fault.message.ends_with("larger than 256 KiB")), ("bad_answer", true));
}

#[tokio::test]
async fn a_body_that_breaks_off_is_a_bad_answer() {
    let fake = Fake::start(&[(fake::CUT, r#"{"results":"#)]).await;
    let fault = fault(&fake).await;
    assert_eq!((fault.code, fault.message.ends_with("broke off")), ("bad_answer", true), "{}", fault.message);
}

#[tokio::test]
async fn too_many_requests_are_told_apart() {
    assert_eq!(fault(&Fake::start(&[(429, "{}")]).await).await.code, "rate_limited");
}

#[tokio::test]
async fn without_network_the_model_is_told_so() {
    let mut fake = Fake::start(&[]).await;
    fake.stop().await;
    let fault = fault(&fake).await;
    assert_eq!(fault.code, "unreachable");
    assert_eq!(
        fault.message,
        "the weather service at `127.0.0.1` cannot be reached; the weather cannot be looked up right now"
    );
}

#[tokio::test]
async fn a_service_that_says_nothing_times_out() {
    let fake = Fake::start(&[(fake::SILENT, "")]).await;
    let tool = tool(&fake, Duration::from_millis(50));
    let fault = tool.call(object(&json!({"city": "Paris"})), context()).await.expect_err("too slow");
    assert_eq!((fault.code, fault.message.contains("within 0.05 s")), ("timeout", true), "{}", fault.message);
}

#[test]
fn every_code_of_the_table_has_words_of_its_own() {
    let words: Vec<&str> = (0..100).filter_map(codes::words).collect();
    let mut distinct = words.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!((words.len(), distinct.len()), (28, 28));
    assert_eq!(codes::words(65_535), None);
}
