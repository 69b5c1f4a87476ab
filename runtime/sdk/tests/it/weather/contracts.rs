//! What the guide's plugin says of itself and answers.

use roster_sdk::abi::code;
use roster_sdk::contract::Contribution;
use roster_sdk::testing::Harness;
use serde_json::json;

use super::{Ask, Weather, arp_plugin_manifest};

fn weather() -> Harness<Weather> {
    Harness::new(json!({ "units": "metric" })).expect("a plugin")
}

#[test]
fn it_answers_and_tells_progress() {
    let answer = weather().start("get_forecast", "invoke", json!({ "city": "Rome", "days": 2 })).answer();
    assert_eq!(answer.result.expect("an answer"), json!({ "summary": "fair, Rome (metric)", "high": 21.5 }));
    assert_eq!(answer.progress[0].message.as_deref(), Some("asking the station"));
}

#[test]
fn its_errors_arrive_with_code_and_message() {
    let error = weather().tool("get_forecast", json!({ "city": "" })).expect_err("an empty city");
    assert_eq!((error.status(), error.fault().code.as_str()), (code::E_INVALID, "invalid"));
    assert_eq!(error.to_string(), "city is empty");
    let error = weather().tool("get_forecast", json!({ "town": "Rome" })).expect_err("no city");
    assert!(error.to_string().contains("missing field `city`"), "{error}");
}

#[test]
fn unknown_names_are_told() {
    let error = weather().tool("get_tides", json!({})).expect_err("no such component");
    assert_eq!(error.to_string(), "there is no component `get_tides`");
    let error = weather().call("get_forecast", "explode", json!({})).expect_err("no such method");
    assert_eq!(error.to_string(), "this component has no method `explode`");
    assert_eq!(error.status(), code::E_NOT_FOUND);
}

#[test]
fn a_configuration_that_does_not_fit_makes_no_instance() {
    let error = Harness::<Weather>::new(json!({ "units": 3 })).err().expect("refused");
    assert!(error.to_string().starts_with("the configuration does not fit: invalid type: integer `3`"), "{error}");
}

#[test]
fn schemas_are_described_without_an_instance() {
    let description = Harness::<Weather>::describe().expect("a description");
    assert_eq!(description.config_schema["required"], json!(["units"]));
    let tool: &Contribution = &description.contributes[0];
    assert_eq!((tool.kind.as_str(), tool.contract.as_str(), tool.idempotent), ("tool", "tool/1", true));
    let input = tool.input_schema.as_ref().expect("a schema");
    assert_eq!((&input["required"], &input["type"]), (&json!(["city"]), &json!("object")));
    assert_eq!(tool.output_schema.as_ref().expect("a schema")["required"], json!(["summary", "high"]));
}

#[test]
fn the_manifest_says_how_it_wants_to_be_called() {
    assert!(arp_plugin_manifest.id.starts_with(b"com.example.weather\0"));
    assert_eq!(arp_plugin_manifest.flags, code::MF_BLOCKING | code::MF_CONCURRENT);
}

#[test]
fn arguments_left_out_have_their_defaults() {
    let ask: Ask = serde_json::from_value(json!({ "city": "Rome" })).expect("reads");
    assert_eq!((ask.city.as_str(), ask.days), ("Rome", 0));
}
