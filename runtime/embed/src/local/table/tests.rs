use proptest::prelude::*;

use super::{Table, pack, packed_bytes, unpack};

#[test]
fn a_piece_is_found_in_its_chunk() {
    // Two chunks of two rows: pieces 0 and 2 in the first, 1 and 3 in the second.
    let packed = pack(&[0, 1, 2, 3, 20, 21, 22, 23, 10, 11, 12, 13, 30, 31, 32, 33]).expect("packed");
    let table = Table::new(packed, 4, vec![1.0, 2.0], vec![0.0, -1.0]).expect("table");
    assert_eq!((table.rows(), table.width()), (4, 4));
    let row = |piece| {
        let mut row = [0.0; 4];
        table.read(piece, &mut row);
        row
    };
    assert_eq!(row(0), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(row(1), [19.0, 21.0, 23.0, 25.0]);
    assert_eq!(row(2), [20.0, 21.0, 22.0, 23.0]);
    assert_eq!(row(3), [59.0, 61.0, 63.0, 65.0]);
    // Nothing there: as the unknown piece.
    assert_eq!((row(4), row(u32::MAX)), (row(0), row(0)));
}

#[test]
fn parts_that_do_not_fit_make_no_table() {
    let fits = |packed: usize, width, scale: usize, lowest: usize| {
        Table::new(vec![0; packed], width, vec![1.0; scale], vec![0.0; lowest]).is_some()
    };
    assert!(fits(12, 4, 2, 2));
    assert!(!fits(0, 4, 2, 2), "no rows");
    assert!(!fits(12, 0, 2, 2), "no width");
    assert!(!fits(12, 6, 2, 2), "a width that fills no groups");
    assert!(!fits(12, 4, 0, 0), "no chunks");
    assert!(!fits(9, 4, 2, 2), "chunks of different sizes");
    assert!(!fits(13, 4, 2, 2), "a byte too many");
    assert!(!fits(12, 4, 2, 1), "a lowest value too few");
}

#[test]
fn only_six_bits_are_packed() {
    assert_eq!(pack(&[63, 63, 63, 63]), Some(vec![255, 255, 255]));
    assert_eq!(pack(&[64, 0, 0, 0]), None);
    assert_eq!(pack(&[1, 2, 3]), None);
    assert_eq!((packed_bytes(512), packed_bytes(510)), (Some(384), None));
}

proptest! {
    #[test]
    fn unpacking_undoes_packing(values in prop::array::uniform4(0_u8..64)) {
        let packed = pack(&values).expect("packed");
        prop_assert_eq!(unpack([packed[0], packed[1], packed[2]]), values);
    }
}
