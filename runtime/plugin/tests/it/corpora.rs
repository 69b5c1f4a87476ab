//! What fuzzing found worth keeping runs as ordinary tests, whole, cut anywhere and with a byte changed anywhere
//! (`fuzz/`: the file of a target says what must hold).

use std::path::{Path, PathBuf};

use roster_plugin::preflight::preflight;

#[path = "../../../../fuzz/frames.rs"]
mod frames;

/// The files of a target's corpus.
fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let paths = std::fs::read_dir(folder).expect("a corpus").map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = paths.map(|path| (path.clone(), std::fs::read(path).expect("readable"))).collect();
    assert!(files.len() >= 8, "{target}: {}", files.len());
    files
}

/// The bytes, and near misses of them; at most a thousand of each kind.
fn near(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    let step = bytes.len() / 1_000 + 1;
    let cut = (0..bytes.len()).step_by(step).map(|at| bytes[..at].to_vec());
    let changed = (0..bytes.len()).step_by(step).map(|at| {
        let mut other = bytes.to_vec();
        other[at] = other[at].wrapping_add(0x7f);
        other
    });
    std::iter::once(bytes.to_vec()).chain(cut).chain(changed)
}

#[test]
fn frames_of_the_corpus_are_read_alike_by_both_readers() {
    for (_, bytes) in corpus("frames") {
        near(&bytes).for_each(|bytes| frames::check(&bytes));
    }
}

#[test]
fn libraries_of_the_corpus_are_plugins_or_refused_in_words() {
    let mut good = 0;
    for (path, bytes) in corpus("preflight") {
        good += usize::from(preflight(&bytes).is_ok());
        for bytes in near(&bytes) {
            if let Err(refusal) = preflight(&bytes) {
                assert!(!refusal.message.is_empty() && !refusal.help.is_empty(), "{}", path.display());
            }
        }
    }
    assert!(good >= 1, "one is whole");
}
