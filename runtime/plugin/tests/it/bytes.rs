//! Libraries that were cut, damaged or are something else: told from their bytes, with nothing of them run.

use roster_plugin::preflight::preflight;
use roster_plugin::refusal::RefusalKind;
use roster_plugin::stage::{Cache, read};

use crate::liar::liar;

fn library() -> Vec<u8> {
    std::fs::read(liar(&[])).expect("built")
}

/// A small generator: the same damage in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).expect("below a usize")
    }
}

#[test]
fn a_good_library_says_what_it_is() {
    let manifest = preflight(&library()).expect("good");
    assert_eq!((manifest.id.as_str(), manifest.version.as_str()), ("com.example.liar", "1.0.0"));
    assert!(manifest.is_blocking() && manifest.is_concurrent() && !manifest.panics_abort());
}

#[test]
fn nothing_cut_short_passes() {
    let whole = library();
    for percent in 0..100 {
        let cut = whole.len() * percent / 100;
        assert!(preflight(&whole[..cut]).is_err(), "cut at {percent} %");
    }
    assert!(preflight(&whole[..whole.len() - 1]).is_err(), "one byte short");
}

#[test]
fn twenty_thousand_corruptions_never_panic() {
    let whole = library();
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let mut refused = 0;
    for round in 0..20_000 {
        let mut damaged = whole.clone();
        // Headers are where a reader can be led astray.
        let reach = if round % 2 == 0 { 4096.min(damaged.len()) } else { damaged.len() };
        for _ in 0..=dice.roll(8) {
            let at = dice.roll(reach);
            damaged[at] = u8::try_from(dice.roll(256)).expect("a byte");
        }
        if round % 5 == 0 {
            damaged.truncate(dice.roll(whole.len()));
        }
        refused += usize::from(preflight(&damaged).is_err());
    }
    assert!(refused > 4_000, "the cut ones at least: {refused}");
}

#[test]
fn other_files_are_named() {
    let refused = |bytes: &[u8]| preflight(bytes).expect_err("no plugin");
    assert_eq!(refused(b"").kind, RefusalKind::Damaged);
    assert!(refused(b"[project]\nname = \"x\"\n").message.contains("a text"));
    assert_eq!(refused(&[0, 159, 146, 150, 7, 255]).kind, RefusalKind::NotAPlugin);
    let own = std::fs::read(std::env::current_exe().expect("us")).expect("readable");
    assert_eq!(refused(&own).kind, RefusalKind::NotAPlugin, "a program, not a plugin");
    let mut foreign = library();
    // e_machine of an ELF header: AArch64.
    foreign[18..20].copy_from_slice(&183_u16.to_le_bytes());
    let refusal = refused(&foreign);
    assert_eq!(refusal.kind, RefusalKind::Platform);
    assert!(refusal.message.contains("aarch64") && refusal.message.contains("x86_64"), "{}", refusal.message);
    let mut small = library();
    small[4] = 1;
    assert!(refused(&small).message.contains("32-bit"));
}

#[test]
fn copies_have_names_of_their_own_and_go_with_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = read(&liar(&[])).expect("readable");
    let other = Cache::new(folder.path());
    let _copy = other.stage("liar", &source).expect("staged");
    let runs = || std::fs::read_dir(folder.path()).expect("a folder").count();
    {
        let cache = Cache::new(folder.path());
        let (one, two) = (cache.stage("liar", &source).expect("staged"), cache.stage("liar", &source).expect("again"));
        assert_ne!(one.path, two.path);
        assert_eq!(std::fs::read(&two.path).expect("there"), source.bytes);
        let gone = one.path.clone();
        drop(one);
        assert!(!gone.exists());
        assert_eq!(runs(), 2);
    }
    assert_eq!(runs(), 1);
    // What a killed run left is swept by the next; a living one is let be.
    let dead = folder.path().join("run-dead");
    std::fs::create_dir(&dead).expect("made");
    std::fs::write(dead.join("lock"), "").expect("written");
    let third = Cache::new(folder.path());
    let _another = third.stage("liar", &source).expect("staged");
    assert!(!dead.exists());
    assert_eq!(runs(), 2);
    drop(other);
}

#[test]
fn three_libraries_are_kept_and_come_back_as_they_were() {
    let folder = tempfile::tempdir().expect("a folder");
    let cache = Cache::new(folder.path());
    let mut hashes = Vec::new();
    for answer in ["a", "b", "c", "d"] {
        let source = read(&liar(&[&format!("ANSWER=\"{answer}\"")])).expect("readable");
        cache.keep("liar", &source).expect("kept");
        cache.keep("liar", &source).expect("kept once");
        hashes.push(source.sha256);
    }
    let kept: Vec<String> = cache.kept("liar").into_iter().map(|(_, hash)| hash).collect();
    assert_eq!(kept, hashes[1..]);
    assert_eq!(cache.kept_source("liar", &hashes[2]).expect("kept").sha256, hashes[2]);
    assert_eq!(cache.kept_source("liar", &hashes[0]).expect_err("gone").kind, RefusalKind::Missing);
}
