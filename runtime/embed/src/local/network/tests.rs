use std::io::Cursor;

use proptest::prelude::*;
use zip::CompressionMethod;

use super::{Network, spans, windows};
use crate::local::import::tests::imported_bytes;
use crate::local::matrix::Matrix;
use crate::local::tests::sample::{self, DIMENSIONS};
use crate::local::weights;

fn network() -> Network {
    let bytes = imported_bytes(&sample::model(), &sample::weights(CompressionMethod::Stored));
    weights::read(Cursor::new(bytes), DIMENSIONS).expect("weights").1
}

#[test]
fn windows_end_at_the_sentences_borders() {
    let input = Matrix::from_values(3, 1, vec![1.0, 2.0, 3.0]).expect("matrix");
    let spans = spans(&[vec![5, 6], vec![], vec![7]]);
    assert_eq!(spans, [0..2, 2..2, 2..3]);
    let gathered = windows(&input, 3, 1, &spans);
    assert_eq!(gathered.row(0), [0.0, 1.0, 2.0]);
    assert_eq!(gathered.row(1), [1.0, 2.0, 0.0]);
    assert_eq!(gathered.row(2), [0.0, 3.0, 0.0]);
    assert_eq!(windows(&input, 2, 0, &spans).row(0), [1.0, 2.0]);
}

#[test]
fn a_batch_of_nothing_is_nothing() {
    assert_eq!(network().encode(&[]), Vec::<Vec<f32>>::new());
    let vectors = network().encode(&[vec![], vec![1, 2]]);
    assert_eq!(vectors[0].len(), DIMENSIONS);
    assert!(vectors.iter().flatten().all(|value| value.is_finite()));
}

proptest! {
    #[test]
    fn a_sentences_vector_does_not_depend_on_its_company(
        sentences in prop::collection::vec(prop::collection::vec(0_u32..150, 1..12), 1..6),
    ) {
        let network = network();
        let together = network.encode(&sentences);
        for (sentence, together) in sentences.iter().zip(&together) {
            let alone = network.encode(std::slice::from_ref(sentence)).remove(0);
            let difference = alone.iter().zip(together).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            prop_assert!(difference < 1e-5, "{}", difference);
        }
    }
}
