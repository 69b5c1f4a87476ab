use proptest::prelude::*;

use super::{Kind, NpyError, bytes, floats, header};
use crate::local::tests::sample::npy;

fn floats_of(file: &[u8]) -> Result<Vec<f32>, NpyError> {
    let mut from = file;
    let header = header(&mut from)?;
    floats(&header, &mut from)
}

fn bytes_of(file: &[u8]) -> Result<Vec<u8>, NpyError> {
    let mut from = file;
    let header = header(&mut from)?;
    bytes(&header, &mut from)
}

#[test]
fn arrays_of_each_kind_are_read() {
    let two: Vec<u8> = [1.5_f32, -2.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(floats_of(&npy("<f4", &[2, 1], &two)).expect("floats"), [1.5, -2.0]);
    assert_eq!(floats_of(&npy("<f8", &[], &1e-12_f64.to_le_bytes())).expect("a single number"), [1e-12]);
    assert_eq!(bytes_of(&npy("|u1", &[3], &[1, 2, 255])).expect("bytes"), [1, 2, 255]);
    assert_eq!(bytes_of(&npy("|i1", &[1], &[6])).expect("bytes"), [6]);
    let mut from = &npy("<f4", &[512, 256], &[])[..];
    let header = header(&mut from).expect("header");
    assert_eq!((header.kind, header.shape), (Kind::F32, vec![512, 256]));
}

#[test]
fn a_later_version_has_a_longer_length() {
    let first = npy("|u1", &[1], &[9]);
    let mut second = b"\x93NUMPY\x02\x00".to_vec();
    second.extend([first[8], first[9], 0, 0]);
    second.extend(&first[10..]);
    assert_eq!(bytes_of(&second).expect("bytes"), [9]);
}

#[test]
fn other_arrays_are_refused() {
    let refused = |file: &[u8]| floats_of(file).expect_err("refused").to_string();
    assert_eq!(refused(b"PK\x03\x04 and so on"), "it is no numpy array");
    assert!(refused(&npy("<i4", &[1], &[0; 4])).contains("is of another kind"));
    assert!(refused(&npy(">f4", &[1], &[0; 4])).contains("is of another kind"));
    assert_eq!(refused(&npy("|u1", &[1], &[0])), "its numbers are of another type");
    assert_eq!(bytes_of(&npy("<f4", &[1], &[0; 4])).expect_err("kind").to_string(), "its numbers are of another type");
    assert_eq!(refused(&npy("<f4", &[1], &[0; 5])), "bytes follow its last number");
    assert_eq!(refused(&npy("<f4", &[1], &[0; 8])), "bytes follow its last number");
    assert!(matches!(floats_of(&npy("<f4", &[2], &[0; 4])), Err(NpyError::Io(_))));
    let columns = String::from_utf8_lossy(&npy("<f4", &[1], &[])[10..]).replace("False", "True ");
    let mut file = npy("<f4", &[1], &[])[..10].to_vec();
    file.extend(columns.bytes());
    assert!(refused(&file).contains("is of another kind"));
}

proptest! {
    #[test]
    fn damage_anywhere_gives_an_error_or_numbers(place in 0_usize..132, byte in any::<u8>(), cut in 0_usize..132) {
        let mut file = npy("<f4", &[1], &[0; 4]);
        file[place] = byte;
        file.truncate(file.len() - cut.min(file.len()) / 7);
        if let Ok(numbers) = floats_of(&file) {
            prop_assert!(numbers.len() <= 1);
        }
    }
}
