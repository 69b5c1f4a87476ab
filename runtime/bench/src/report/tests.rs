use super::*;

fn report(outcomes: Vec<Outcome>) -> Report {
    Report { conditions: crate::conditions::sample_for_tests(), outcomes }
}

fn outcome(figures: Vec<Figure>, error: Option<&str>) -> Outcome {
    Outcome { scenario: "memory", figures, error: error.map(str::to_owned) }
}

fn check_line(figure: &Figure, expected: &str) {
    let table = report(vec![outcome(vec![figure.clone()], None)]).table();
    assert_eq!(table.lines().last(), Some(expected));
}

#[test]
fn figures_stand_in_columns_with_their_verdict() {
    let rate = Figure::of_rounds("own conversation", "turns/s", vec![1400.0, 1712.4, 1800.0]);
    check_line(&rate, "  own conversation                               1712 turns/s");
    let met = rate.target(Target::AtLeast(1500.0));
    check_line(&met, "  own conversation                               1712 turns/s  >= 1500 met");
    let missed = Figure::new("added p50", "ms", 0.7312).target(Target::AtMost(0.5));
    check_line(&missed, "  added p50                                     0.731 ms       <= 0.5 MISSED");
}

#[test]
fn limits_themselves_are_met() {
    assert_eq!(Figure::new("a", "ms", 0.5).target(Target::AtMost(0.5)).met, Some(true));
    assert_eq!(Figure::new("a", "ms", 0.5).target(Target::AtLeast(0.5)).met, Some(true));
    assert_eq!(Figure::new("a", "ms", 0.4).target(Target::AtLeast(0.5)).met, Some(false));
}

#[test]
fn numbers_keep_the_digits_that_matter() {
    let check = |value: f64, expected: &str| assert_eq!(number(value), expected);
    check(0.13749, "0.137");
    check(9.9994, "9.999");
    check(38.25, "38.2");
    check(1500.6, "1501");
    check(-0.02, "-0.020");
}

#[test]
fn no_line_is_wider_than_the_table() {
    let wide = Figure::new("x".repeat(90), "turns/s", 1.0).target(Target::AtLeast(123_456.0));
    let table = report(vec![outcome(vec![wide], Some(&"漢".repeat(200)))]).table();
    assert!(table.lines().all(|line| line.chars().count() <= WIDTH), "{table}");
}

#[test]
fn a_failed_scenario_says_why() {
    let whole = report(vec![outcome(vec![Figure::new("a", "ms", 1.0)], None)]);
    let failed = report(vec![outcome(vec![], Some("no binary\nbuild it"))]);
    assert!(whole.is_whole() && !failed.is_whole());
    assert!(failed.table().ends_with("memory\n  failed: no binary\n  failed: build it\n"));
}

#[test]
fn json_holds_conditions_rounds_and_verdicts() {
    let figure = Figure::of_rounds("own", "turns/s", vec![1.0, 3.0]).target(Target::AtLeast(1.5));
    let text = report(vec![outcome(vec![figure], None)]).json().expect("writable");
    let json: serde_json::Value = serde_json::from_str(&text).expect("readable");
    let figure = &json["outcomes"][0]["figures"][0];
    assert_eq!(figure["value"], 2.0);
    assert_eq!(figure["rounds"], serde_json::json!([1.0, 3.0]));
    assert_eq!((&figure["target"]["at_least"], &figure["met"]), (&1.5.into(), &true.into()));
    assert_eq!(json["conditions"]["cores"], 2);
    assert!(json["outcomes"][0].get("error").is_none());
}

#[test]
fn what_was_counted_stands_without_decimals() {
    let table = report(vec![outcome(vec![Figure::new("saves", "", 50.0), Figure::new("a", "ms", 7.0)], None)]).table();
    assert!(table.contains(" 50\n") && table.contains(" 7.000 ms\n"), "{table}");
}
