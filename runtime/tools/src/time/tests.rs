use super::*;
use crate::tests::{Fixed, context, object};
use serde_json::json;

/// 2030-07-01T12:34:56.789Z, a Monday.
const SUMMER: i64 = 1_909_139_696_789;

async fn ask(millis: i64, arguments: Value) -> Result<Value, ToolError> {
    let tool = TimeMaker::new(Arc::new(Fixed(millis))).make(&Map::new()).expect("no settings");
    tool.call(object(&arguments), context()).await
}

async fn check(arguments: Value, iso: &str, zone: &str, weekday: &str) {
    let told = ask(SUMMER, arguments).await.expect("a known zone");
    assert_eq!(told, json!({"iso": iso, "zone": zone, "weekday": weekday, "unix": 1_909_139_696}));
}

#[tokio::test]
async fn without_a_zone_it_is_utc() {
    check(json!({}), "2030-07-01T12:34:56+00:00", "UTC", "Monday").await;
    check(json!({"zone": null}), "2030-07-01T12:34:56+00:00", "UTC", "Monday").await;
    check(json!({"zone": "  "}), "2030-07-01T12:34:56+00:00", "UTC", "Monday").await;
}

#[tokio::test]
async fn zones_shift_the_hour_and_the_day() {
    check(json!({"zone": "Europe/Berlin"}), "2030-07-01T14:34:56+02:00", "Europe/Berlin", "Monday").await;
    check(json!({"zone": "asia/kathmandu"}), "2030-07-01T18:19:56+05:45", "Asia/Kathmandu", "Monday").await;
    check(json!({"zone": "Pacific/Kiritimati"}), "2030-07-02T02:34:56+14:00", "Pacific/Kiritimati", "Tuesday").await;
}

#[tokio::test]
async fn winter_time_is_known() {
    let told = ask(1_893_456_000_000, json!({"zone": "Europe/Berlin"})).await.expect("a known zone");
    assert_eq!(told["iso"], "2030-01-01T01:00:00+01:00");
}

async fn check_unknown(zone: &str, hint: &str) {
    let fault = ask(SUMMER, json!({"zone": zone})).await.expect_err("no such zone");
    assert_eq!(fault.code, "unknown_zone");
    assert!(fault.message.ends_with(hint), "{}", fault.message);
}

#[tokio::test]
async fn a_wrong_zone_names_the_one_meant() {
    check_unknown("Tokyo", "did you mean `Asia/Tokyo`?").await;
    check_unknown("new york", "did you mean `America/New_York`?").await;
    check_unknown("Europe/Berln", "did you mean `Europe/Berlin`?").await;
    check_unknown("???", "use an IANA name such as `Europe/Berlin`, or leave `zone` out for UTC").await;
    check_unknown("../../etc/passwd", "or leave `zone` out for UTC").await;
}

#[tokio::test]
async fn a_long_zone_is_cut_in_the_message() {
    let fault = ask(SUMMER, json!({"zone": "漢".repeat(10_000)})).await.expect_err("no such zone");
    assert!(fault.message.len() < 400, "{} bytes", fault.message.len());
}

#[tokio::test]
async fn arguments_of_the_wrong_form_are_refused() {
    for arguments in [json!({"zone": 1}), json!({"place": "UTC"})] {
        assert_eq!(ask(SUMMER, arguments).await.expect_err("refused").code, "invalid_arguments");
    }
}
