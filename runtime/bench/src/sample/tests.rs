use super::*;

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() <= expected.abs() * 0.001, "{value} is not {expected}");
}

fn millis(values: impl IntoIterator<Item = u64>) -> Sample {
    let mut sample = Sample::new().expect("legal bounds");
    values.into_iter().for_each(|value| sample.add(Duration::from_millis(value)));
    sample
}

#[test]
fn percentiles_are_of_the_values_given() {
    let sample = millis(1..=1000);
    assert_eq!(sample.count(), 1000);
    close(sample.percentile(50.0), 500.0);
    close(sample.percentile(99.0), 990.0);
    close(sample.percentile(100.0), 1000.0);
}

#[test]
fn microseconds_are_told_apart() {
    let mut sample = Sample::new().expect("legal bounds");
    sample.add(Duration::from_micros(137));
    close(sample.percentile(50.0), 0.137);
}

#[test]
fn the_ends_of_the_range_are_held() {
    let mut sample = millis([3_600_000]);
    close(sample.percentile(50.0), 60_000.0);
    sample.add(Duration::ZERO);
    assert_eq!(sample.count(), 2);
    close(Sample::new().expect("legal bounds").percentile(50.0) + 1.0, 1.0);
}

#[test]
fn merging_counts_both() {
    let mut sample = millis([10]);
    sample.merge(&millis([30, 30])).expect("same bounds");
    assert_eq!(sample.count(), 3);
    close(sample.percentile(50.0), 30.0);
}

#[test]
fn median_takes_the_middle() {
    close(median(&[3.0, 1.0, 2.0]), 2.0);
    close(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    close(median(&[7.0]), 7.0);
    assert!(median(&[]).abs() < f64::EPSILON);
}
