//! When content is taken: moments are told, none passes.

use std::time::Duration;

use super::super::stamp::digest;
use super::{Found, Look, PATIENCE, QUIET, Stamps, Tracked, WRITTEN};
use crate::reload::stamp::Stamp;
use tokio::time::Instant;

fn content(text: &str) -> [u8; 32] {
    digest([Ok(text.as_bytes())])
}

/// Stamps that differ with `number`; made of real files, since only those have any.
fn stamps(number: usize) -> Stamps {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f");
    #[expect(clippy::disallowed_methods, reason = "a file of the test's own")]
    std::fs::write(&path, "x".repeat(number)).unwrap();
    [Stamp::of(&path), None]
}

fn taken(text: &str) -> (Tracked, Stamps, Instant) {
    let mut tracked = Tracked::default();
    let stamps = stamps(1);
    tracked.take(stamps, content(text));
    (tracked, stamps, Instant::now())
}

#[test]
fn what_does_not_change_is_not_read() {
    let (mut tracked, stamps, now) = taken("a");
    assert_eq!(tracked.look(stamps, None, now), Look::Rest);
    assert_eq!(tracked.due(), None);
}

#[test]
fn a_touched_file_is_the_same() {
    let (mut tracked, _, now) = taken("a");
    let touched = stamps(2);
    assert_eq!(tracked.look(touched, None, now), Look::Read);
    assert_eq!(tracked.read(content("a"), now), Found::Same);
    assert_eq!(tracked.look(touched, None, now), Look::Rest, "and is not read again");
}

#[test]
fn new_content_must_be_quiet_first() {
    let (mut tracked, _, now) = taken("a");
    let new = stamps(2);
    assert_eq!(tracked.look(new, None, now), Look::Read);
    assert_eq!(tracked.read(content("b"), now), Found::Wait);
    assert_eq!(tracked.due(), Some(now + QUIET));
    let later = now + QUIET;
    assert_eq!(tracked.look(new, None, later), Look::Read);
    assert_eq!(tracked.read(content("b"), later), Found::Stable(QUIET));
}

#[test]
fn every_change_starts_the_wait_anew() {
    let (mut tracked, _, now) = taken("a");
    tracked.look(stamps(2), None, now);
    tracked.read(content("b"), now);
    let second = now + QUIET - Duration::from_millis(1);
    tracked.look(stamps(3), None, second);
    assert_eq!(tracked.read(content("c"), second), Found::Wait);
    let third = now + QUIET * 2;
    tracked.look(stamps(4), None, third);
    assert_eq!(tracked.read(content("d"), third), Found::Wait);
    assert_eq!(tracked.due(), Some(third + QUIET));
}

#[test]
fn other_content_under_the_same_stamp_starts_it_anew_too() {
    let (mut tracked, stamps, now) = taken("a");
    tracked.suspect(now);
    assert_eq!(tracked.look(stamps, None, now), Look::Read);
    assert_eq!(tracked.read(content("b"), now), Found::Wait);
    let later = now + QUIET;
    assert_eq!(tracked.look(stamps, None, later), Look::Read);
    assert_eq!(tracked.read(content("c"), later), Found::Wait);
    assert_eq!(tracked.read(content("c"), later + QUIET), Found::Stable(QUIET));
}

#[test]
fn a_file_being_written_is_left_alone_until_it_is_closed() {
    let (mut tracked, _, now) = taken("a");
    let half = stamps(2);
    assert_eq!(tracked.look(half, Some(now), now), Look::Wait);
    let much_later = now + QUIET * 10;
    assert_eq!(tracked.look(half, Some(now), much_later), Look::Wait);
    assert_eq!(tracked.look(half, None, much_later), Look::Read, "closed");
}

#[test]
fn a_lost_close_does_not_block_for_ever() {
    let (mut tracked, _, now) = taken("a");
    let new = stamps(2);
    assert_eq!(tracked.look(new, Some(now), now), Look::Wait);
    assert_eq!(tracked.due(), Some(now + WRITTEN));
    let later = now + WRITTEN;
    assert_eq!(tracked.look(new, Some(now), later), Look::Read);
    assert_eq!(tracked.read(content("b"), later), Found::Stable(WRITTEN));
}

#[test]
fn what_cannot_be_used_is_looked_at_again_until_its_patience_is_over() {
    let (mut tracked, _, now) = taken("a");
    let new = stamps(2);
    let mut at = now;
    let mut looks = 0;
    loop {
        tracked.look(new, None, at);
        if let Found::Stable(quiet) = tracked.read(content("bad"), at) {
            if quiet >= PATIENCE {
                break;
            }
            tracked.be_patient(at);
        }
        at = tracked.due().expect("it goes on");
        looks += 1;
    }
    assert_eq!(at, now + PATIENCE);
    assert!((3..20).contains(&looks), "{looks}");
}

#[test]
fn starting_over_forgets_the_time_that_passed() {
    let (mut tracked, _, now) = taken("a");
    let gone = [None, None];
    tracked.look(gone, None, now);
    tracked.read(content("gone"), now);
    let back = now + PATIENCE * 5;
    tracked.start_over(back);
    tracked.look(gone, None, back);
    assert_eq!(tracked.read(content("gone"), back), Found::Wait);
}
