//! The lock file that a restore takes alone: opening waits for it, but not for ever, and not for what is none.
#![cfg(unix)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use roster_storage::sqlite::{OpenError, OpenErrorKind, Options, SqliteStore, Trial, open};

use crate::sqlite::options;

/// Long enough for anything that ends.
const LONG: Duration = Duration::from_secs(20);

/// Where a store of this folder will be, and its lock files' folder.
fn places(folder: &Path) -> (PathBuf, PathBuf) {
    let locks = folder.join("roster.db.holders");
    std::fs::create_dir(&locks).expect("made");
    (folder.join("roster.db"), locks)
}

/// Opens on a thread of its own, so that waiting for ever is a failure and no stop.
fn opening(database: &Path, options: Options) -> Receiver<Result<SqliteStore, OpenError>> {
    let (give, take) = channel();
    let database = database.to_owned();
    std::thread::spawn(move || give.send(open(database, &options)));
    take
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("started").success());
}

#[test]
fn a_lock_that_is_kept_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (database, locks) = places(folder.path());
    let gate = File::create(locks.join("gate")).expect("made");
    gate.lock().expect("locked");
    let trial = Trial { gate: Some(Duration::from_millis(30)), ..Trial::default() };
    let opened = opening(&database, Options { trial, ..options() }).recv_timeout(LONG).expect("gives up");
    let error = opened.err().expect("refused");
    assert_eq!(error.kind(), OpenErrorKind::Busy);
    let gate = locks.canonicalize().expect("resolved").join("gate");
    for part in [&format!("keeps `{}` locked", gate.display()), "roster.db`", "hint: a restore may be under way"] {
        assert!(error.to_string().contains(part), "{part} in {error}");
    }
    assert!(!database.exists(), "nothing was made");
}

#[test]
fn opening_waits_for_a_restore_to_end() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (database, locks) = places(folder.path());
    let gate = File::create(locks.join("gate")).expect("made");
    gate.lock().expect("locked");
    let opened = opening(&database, options());
    let early = opened.recv_timeout(Duration::from_millis(100)).map(|opened| opened.is_ok());
    assert_eq!(early, Err(RecvTimeoutError::Timeout), "waits");
    drop(gate);
    opened.recv_timeout(LONG).expect("ends").expect("opens");
}

#[test]
fn a_pipe_in_the_place_of_the_lock_is_refused() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (database, locks) = places(folder.path());
    pipe(&locks.join("gate"));
    let error = opening(&database, options()).recv_timeout(LONG).expect("does not wait").err().expect("refused");
    assert!(error.to_string().contains("gate` is no ordinary file\nhint: remove it"), "{error}");
    let restored = roster_storage::sqlite::restore(&database, &locks);
    assert!(restored.is_err(), "nor does a restore go through it");
}

#[test]
fn a_pipe_among_the_holders_stops_nothing() {
    let folder = tempfile::tempdir().expect("temp folder");
    let (database, locks) = places(folder.path());
    pipe(&locks.join("0123456789abcdef0123456789abcdef"));
    opening(&database, options()).recv_timeout(LONG).expect("does not wait").expect("opens");
}
