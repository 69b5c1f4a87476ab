use super::*;

#[test]
fn ready_lines_name_listener_and_address() {
    let address: SocketAddr = "127.0.0.1:8787".parse().expect("legal");
    assert_eq!(ready_line("gateway http://127.0.0.1:8787"), Some(("gateway", address)));
    assert_eq!(ready_line("studio http://[::1]:4111\r").map(|(name, _)| name), Some("studio"));
    for line in ["", "listening on 127.0.0.1:8787", "gateway https://127.0.0.1:8787", "gateway http://localhost"] {
        assert_eq!(ready_line(line), None, "{line}");
    }
}

#[test]
fn resident_memory_is_read_in_mebibytes() {
    let status = "Name:\troster\nVmHWM:\t   99999 kB\nVmRSS:\t   38912 kB\nThreads:\t9\n";
    assert_eq!(resident_mib(status), Some(38.0));
    assert_eq!(resident_mib("Name:\troster\n"), None);
}

#[test]
fn processor_time_is_user_and_system_together() {
    let stat = "17 (a ) (name) S 1 17 17 0 -1 4194560 100 0 0 0 250 31 7 8 20 0 5 0 1 2 3";
    assert_eq!(processor_time(stat), Some(Duration::from_millis(2810)));
    assert_eq!(processor_time("17 (roster) S 1"), None);
}

#[test]
fn the_program_is_found_among_messages() {
    let messages = concat!(
        r#"{"reason":"compiler-artifact","target":{"name":"roster_host"},"executable":null}"#,
        "\nwarning: not JSON\n",
        r#"{"reason":"compiler-artifact","target":{"name":"roster"},"executable":"/t/release/roster"}"#,
        "\n",
        r#"{"reason":"build-finished","success":true}"#,
    );
    assert_eq!(executable(messages), Some(PathBuf::from("/t/release/roster")));
    assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().expect("a folder");
    let fault = Subject::start(&dir.path().join("roster"), dir.path()).await.err().expect("nothing to start");
    assert!(format!("{fault:#}").contains("failed to start"), "{fault:#}");
}

/// A stand-in for the runtime: a shell script. A shell writes it: a program that this process had open for writing
/// could not be started while another test's child, made at the same moment, still holds it.
#[cfg(unix)]
fn stand_in(dir: &Path, script: &str) -> PathBuf {
    let file = dir.join("stand-in");
    let script = format!("#!/bin/sh\ntrap 'exit 0' TERM\necho oops >&2\n{script}\n");
    let written = std::process::Command::new("sh")
        .args(["-c", "printf '%s' \"$1\" > \"$2\" && chmod +x \"$2\"", "sh", &script])
        .arg(&file)
        .status()
        .expect("a shell");
    assert!(written.success());
    file
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_ends_early_shows_its_log() {
    let dir = tempfile::tempdir().expect("a folder");
    for (said, words) in [("exit 3", "stdout ended"), ("echo hello", "`hello` on stdout is no ready line")] {
        let program = stand_in(dir.path(), said);
        let fault = Subject::start(&program, dir.path()).await.err().expect("never ready");
        let fault = format!("{fault:#}");
        assert!(fault.contains(words) && fault.contains("oops"), "{fault}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_is_started_and_stopped() {
    let dir = tempfile::tempdir().expect("a folder");
    let lines = "echo gateway http://127.0.0.1:1; echo studio http://127.0.0.1:2\nwhile :; do :; done";
    let subject = Subject::start(&stand_in(dir.path(), lines), dir.path()).await.expect("ready");
    assert_eq!((subject.gateway.port(), subject.studio.port()), (1, 2));
    assert!(subject.ready_after > Duration::ZERO);
    subject.stop().await.expect("it ends with 0");
}
