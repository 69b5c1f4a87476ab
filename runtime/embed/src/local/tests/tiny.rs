use std::fs;
use std::io::Cursor;
use std::path::Path;

use super::sample;
use super::{compare, sample::DIMENSIONS};
use crate::local::import::tests::imported_bytes;
use crate::local::weights;

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its golden file, and writes it when a person asks")]
fn the_checked_in_package_is_the_generated_one() {
    let file = Path::new(GOLDEN).join("tiny.whl");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&file, sample::wheel()).expect("written");
    }
    let wheel = fs::read(&file).expect("the checked-in package");
    assert!(wheel.len() < 200_000);
    assert!(wheel == sample::wheel(), "`tiny.whl` is stale; see `tests/sample.rs` on how to make it anew");
}

#[test]
fn ids_and_vectors_are_those_of_the_original_package() {
    let bytes = imported_bytes(&sample::model(), &sample::weights(zip::CompressionMethod::Stored));
    let (tokenizer, network) = weights::read(Cursor::new(bytes), DIMENSIONS).expect("weights");
    compare::check(&tokenizer, &network, &compare::read(include_str!("../../../tests/golden/tiny.jsonl")));
}
