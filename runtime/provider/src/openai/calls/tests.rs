use proptest::prelude::*;

use super::*;

/// The rule in words, with a look at every call; `Places` must find the same.
fn by_looking(calls: &[Call], piece: &Piece) -> Option<usize> {
    let newest = |fits: &dyn Fn(&Call) -> bool| calls.iter().rposition(fits);
    let Some(id) = &piece.id else {
        return match piece.number {
            Some(number) => newest(&|call| call.number == Some(number)),
            None => calls.len().checked_sub(1),
        };
    };
    let like = |call: &Call| piece.number.is_none() || call.number.is_none() || call.number == piece.number;
    let known = newest(&|call| call.id.as_ref() == Some(id) && (like(call) || piece.name.is_none()));
    let waits = |call: &Call| call.id.is_none() && piece.number.is_some() && call.number == piece.number;
    known.or_else(|| if piece.name.is_none() { newest(&waits) } else { None })
}

fn piece() -> impl Strategy<Value = Piece> {
    let id = proptest::option::of("[a-c]");
    let name = proptest::option::of("[xy]");
    let arguments = proptest::sample::select(vec!["", "{", "}", "{}"]);
    (proptest::option::of(0..3_u64), id, name, arguments).prop_map(|(number, id, name, arguments)| Piece {
        number,
        id,
        name,
        arguments: arguments.to_owned(),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_piece_finds_the_call_that_a_look_at_each_would(pieces in proptest::collection::vec(piece(), 0..40)) {
        let mut calls = Calls::default();
        for piece in pieces {
            prop_assert_eq!(calls.places.of(&piece), by_looking(&calls.calls, &piece), "{:?} after {:?}", piece, calls);
            calls.take(piece, &mut Deltas::new()).expect("few");
        }
    }
}

fn numbered(number: usize) -> Piece {
    let id = Some(format!("id-{number}"));
    Piece { id, name: Some("weigh".to_owned()), arguments: "{}".to_owned(), ..Piece::default() }
}

#[test]
fn more_than_two_hundred_and_fifty_six_calls_are_refused() {
    for take in [Calls::take, Calls::take_whole] {
        let (mut calls, mut deltas) = (Calls::default(), Deltas::new());
        for number in 0..MAX_CALLS {
            take(&mut calls, numbered(number), &mut deltas).expect("not too many");
        }
        let error = take(&mut calls, numbered(MAX_CALLS), &mut deltas).expect_err("too many");
        assert_eq!(error.kind, ProviderErrorKind::Protocol);
        assert_eq!(error.message, "the answer holds more than 256 tool calls");
        assert_eq!((calls.calls.len(), deltas.len()), (MAX_CALLS, 2 * MAX_CALLS));
    }
}
