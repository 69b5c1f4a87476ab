use super::*;

#[test]
fn the_mount_with_the_longest_path_counts() {
    let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /var/data tmpfs rw 0 0\nproc /proc proc rw 0 0\n";
    let check = |dir: &str, expected: &str| assert_eq!(file_system(mounts, Path::new(dir)), expected);
    check("/var/data/x", "tmpfs");
    check("/var/database", "ext4");
    check("/home", "ext4");
    assert_eq!(file_system("", Path::new("/home")), "unknown file system");
}

#[test]
fn what_the_system_does_not_tell_is_said_to_be_unknown() {
    assert_eq!(processor("processor\t: 0\nmodel name\t: Example 9000\n"), "Example 9000");
    assert_eq!(processor(""), "unknown processor");
    assert!((load("0.52 0.40 0.30 1/200 4242\n") - 0.52).abs() < f64::EPSILON);
    assert!(load("") < 0.0);
}

#[test]
fn a_durable_write_takes_time() {
    let dir = tempfile::tempdir().expect("a folder");
    assert!(sync_time(dir.path()).expect("writable") > 0.0);
    assert!(sync_time(&dir.path().join("missing")).is_err());
}

#[test]
fn the_head_names_what_matters_and_quick_runs() {
    let head = Conditions { quick: true, ..sample_for_tests() }.lines().join("\n");
    for part in
        ["0123abc+", "(quick: not to be quoted)", ", release", "2 cores", "load before 0.25", "ext4", "0.400 ms"]
    {
        assert!(head.contains(part), "{part} is missing in {head}");
    }
}
