use std::io::Cursor;

use proptest::prelude::*;
use zip::CompressionMethod;

use super::{FILE, WeightsError, load, read};
use crate::local::import::tests::imported_bytes;
use crate::local::tests::sample::{self, DIMENSIONS};
use crate::local::worker::encode;

fn bytes() -> Vec<u8> {
    imported_bytes(&sample::model(), &sample::weights(CompressionMethod::Stored))
}

fn refused(bytes: Vec<u8>) -> String {
    match read(Cursor::new(bytes), DIMENSIONS) {
        Err(error @ WeightsError::Damaged(_)) => error.to_string(),
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("it was read"),
    }
}

/// The file with words of its header replaced by others of the same length.
fn with_header(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes();
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).expect("in the header");
    bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
    bytes
}

#[test]
fn a_folder_without_the_file_has_no_weights() {
    let folder = tempfile::tempdir().expect("folder");
    assert!(matches!(load(folder.path(), DIMENSIONS), Err(WeightsError::Missing)));
    assert!(!crate::local::is_imported(folder.path()));
    crate::local::import::tests::import_sample(folder.path());
    assert!(crate::local::is_imported(folder.path()));
    assert!(load(folder.path(), DIMENSIONS).is_ok());
}

#[test]
fn a_folder_in_the_files_place_is_told() {
    let folder = tempfile::tempdir().expect("folder");
    std::fs::create_dir(folder.path().join(FILE)).expect("folder");
    assert!(matches!(load(folder.path(), DIMENSIONS), Err(WeightsError::Io(_))));
}

#[test]
fn damaged_files_are_told() {
    let whole = bytes();
    assert!(refused(whole[..whole.len() - 1].to_vec()).contains("is impossible"));
    assert!(refused(whole[..100].to_vec()).contains("its header cannot be read"));
    assert!(refused(Vec::new()).contains("damaged"));
    assert!(refused(with_header("roster-use-1", "roster-use-9")).contains("it is in another format"));
    assert!(refused(with_header("\"cnn_b\"", "\"cnn_c\"")).contains("`cnn_b` is not in it"));
    assert!(refused(with_header("\"sentencepiece\"", "\"sentencepeace\"")).contains("`sentencepiece` is not in it"));
    assert!(refused(with_header("\"shape\":[16,8]", "\"shape\":[8,16]")).contains("instead of"));
    assert!(refused(with_header("\"shape\":[136,12]", "\"shape\":[12,136]")).contains("table do not fit"));
}

#[test]
fn a_vocabulary_larger_than_the_table_is_refused() {
    let mut model = sample::model();
    for number in 0..136 {
        sample::field(&mut model, 1, &sample::piece(&format!("more{number}"), -9.0, None));
    }
    let bytes = imported_bytes(&model, &sample::weights(CompressionMethod::Stored));
    assert!(refused(bytes).contains("more pieces than its table"));
}

#[test]
fn another_length_of_vectors_is_refused() {
    let Err(error) = read(Cursor::new(bytes()), 512) else { panic!("it was read") };
    assert!(error.to_string().contains("its vectors have 16 numbers"), "{error}");
}

proptest! {
    #[test]
    fn damage_anywhere_gives_an_error_or_vectors(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut bytes = bytes();
        // The header and the vocabulary are the first quarter; a wrong number behind them is only a wrong number.
        let place = place.index(bytes.len() / 4);
        bytes[place] = byte;
        if let Ok((tokenizer, network)) = read(Cursor::new(bytes), DIMENSIONS) {
            let vectors = encode(&network, &[tokenizer.encode("the cat 你好"), tokenizer.encode("")]);
            prop_assert!(vectors.iter().all(|vector| vector.len() == DIMENSIONS));
        }
    }
}
