use super::*;
use crate::options::Options;
use clap::{CommandFactory, Parser};

#[test]
fn names_are_distinct_and_found() {
    for scenario in ALL {
        assert_eq!(find(scenario.name).map(|found| found.about), Ok(scenario.about));
    }
    let mut names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), ALL.len());
}

#[test]
fn the_command_line_takes_scenarios_by_name() {
    Options::command().debug_assert();
    let options = Options::try_parse_from(["roster-bench", "--scenario", "memory", "--scenario", "start", "--quick"]);
    let options = options.expect("legal");
    let names: Vec<&str> = options.scenarios.iter().map(|scenario| scenario.name).collect();
    assert_eq!((names, options.quick), (vec!["memory", "start"], true));
    let fault = Options::try_parse_from(["roster-bench", "--scenario", "memroy"]).expect_err("no such scenario");
    assert!(
        fault.to_string().contains("the scenarios are start, stateless, direct-64, memory, long-thread, recall, tools, plugin, in-flight, reload, many-agents"),
        "{fault}"
    );
}

#[test]
fn all_series_of_a_counter_count() {
    let metrics = "# TYPE calls counter\ncalls_total{agent=\"a b\"} 2\ncalls_total{agent=\"c\"} 3.0\ncalls_total_x 9\ncalls_totals 9\n# EOF\n";
    assert!((reload::counter(metrics, "calls_total") - 5.0).abs() < f64::EPSILON);
    assert!(reload::counter(metrics, "others_total").abs() < f64::EPSILON);
}
