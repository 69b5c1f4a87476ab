use std::io::Cursor;

use proptest::prelude::*;

use super::{MAX_HEADER, TensorError, TensorFile, TensorPlan, Type};

fn file() -> Vec<u8> {
    let mut plan = TensorPlan::default();
    plan.note("format", "test");
    plan.add("words", Type::U8, &[3]);
    plan.add("numbers", Type::F32, &[2, 2]);
    assert_eq!(plan.data_bytes(), 19);
    let mut bytes = Vec::new();
    plan.write_header(&mut bytes).expect("header");
    bytes.extend(b"abc");
    bytes.extend([1.0_f32, -2.0, 0.5, 1e-12].iter().flat_map(|number| number.to_le_bytes()));
    bytes
}

/// A file with this header and so many bytes behind it.
fn with_header(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

fn floats_of(header: &str, data: usize) -> Result<Vec<f32>, TensorError> {
    TensorFile::open(Cursor::new(with_header(header, data)))?.floats("a", &[2])
}

#[test]
fn what_was_written_is_read() {
    let bytes = file();
    let header_length = u64::from_le_bytes(bytes[..8].try_into().expect("eight"));
    assert_eq!(header_length % 8, 0);
    let mut file = TensorFile::open(Cursor::new(bytes)).expect("file");
    assert_eq!((file.note("format"), file.note("other")), (Some("test"), None));
    assert_eq!(file.shape("numbers").expect("shape"), [2, 2]);
    assert_eq!(file.floats("numbers", &[2, 2]).expect("numbers"), [1.0, -2.0, 0.5, 1e-12]);
    assert_eq!(file.bytes("words").expect("words"), b"abc");
}

#[test]
fn another_shape_or_type_is_told() {
    let mut file = TensorFile::open(Cursor::new(file())).expect("file");
    let error = file.floats("numbers", &[4]).expect_err("shape");
    assert_eq!(error.to_string(), "`numbers` is F32 [2, 2] instead of F32 [4]");
    let error = file.bytes("numbers").expect_err("type");
    assert_eq!(error.to_string(), "`numbers` is F32 [2, 2] instead of U8 [2, 2]");
    let error = file.floats("others", &[4]).expect_err("missing");
    assert_eq!(error.to_string(), "`others` is not in it");
}

#[test]
fn impossible_headers_are_refused() {
    let good = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    assert_eq!(floats_of(good, 8).expect("numbers"), [0.0, 0.0]);
    for (what, header, data) in [
        ("broken off", good, 7),
        ("too few bytes", &good.replace("0,8", "0,4"), 8),
        ("end before begin", &good.replace("0,8", "8,0"), 8),
        ("end beyond numbers", &good.replace("0,8", "18446744073709551608,18446744073709551615"), 8),
        ("a type not used here", &good.replace("F32", "F16"), 8),
        ("no JSON", "{", 8),
    ] {
        assert!(floats_of(header, data).is_err(), "{what}");
    }
    let huge = r#"{"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,8]}}"#;
    assert!(TensorFile::open(Cursor::new(with_header(huge, 8))).expect("file").bytes("a").is_err());
    let long = (MAX_HEADER + 1).to_le_bytes().to_vec();
    assert!(TensorFile::open(Cursor::new(long)).is_err());
}

proptest! {
    #[test]
    fn damage_anywhere_gives_an_error_or_numbers(cut in 0_usize..200, place in 0_usize..200, bits in any::<u8>()) {
        let mut bytes = file();
        bytes.truncate(bytes.len().saturating_sub(cut % 3 * cut));
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= bits;
        }
        if let Ok(mut file) = TensorFile::open(Cursor::new(bytes)) {
            // Whatever comes, it comes without a panic and without reserving what the file cannot hold.
            if let Ok(words) = file.bytes("words") {
                prop_assert!(words.len() < 1000);
            }
            if let Ok(numbers) = file.floats("numbers", &[2, 2]) {
                prop_assert_eq!(numbers.len(), 4);
            }
        }
    }
}
