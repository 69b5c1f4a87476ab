use proptest::prelude::*;

use super::charsmap::Charsmap;
use super::model::{Model, ModelError, Piece};
use super::trie::{ROOT, Trie};
use super::unigram::Unigram;
use super::{BEGIN, END, Tokenizer, UNKNOWN};
use crate::local::tests::sample::{charsmap, field, model, piece};
use crate::local::{MAX_BYTES, MAX_TOKENS};

fn tokenizer() -> Tokenizer {
    Tokenizer::from_model(&model()).expect("model")
}

/// The text of each id, with `?` for the unknown piece, `<` and `>` for the marks.
fn pieces(text: &str) -> String {
    let bytes = model();
    let vocabulary = Model::read(&bytes).expect("model").pieces;
    let name = |id: u32| match id {
        UNKNOWN => "?",
        BEGIN => "<",
        END => ">",
        id => vocabulary[id as usize].text,
    };
    tokenizer().encode(text).into_iter().map(name).collect::<Vec<_>>().join(" ")
}

fn normal(text: &str) -> String {
    let bytes = model();
    Charsmap::read(Model::read(&bytes).expect("model").charsmap).expect("charsmap").normalise(text)
}

#[test]
fn the_best_pieces_are_taken() {
    assert_eq!(pieces("the cat"), "< ▁the ▁cat >");
    assert_eq!(pieces("the water"), "< ▁the ▁water >");
    assert_eq!(pieces("你好世界"), "< ▁你好 世界 >");
    assert_eq!(pieces("abc"), "< ▁ abc >");
}

#[test]
fn letters_without_a_piece_are_unknown_one_by_one() {
    assert_eq!(pieces("a🦄🦄a"), "< ▁a ? ? a >");
    assert_eq!(pieces("🦄"), "< ▁ ? >");
}

#[test]
fn nothing_is_one_unknown_piece() {
    for text in ["", "   ", "\t\n", "\u{200b}"] {
        assert_eq!(pieces(text), "< ? >", "{text:?}");
    }
}

#[test]
fn text_that_reads_like_a_mark_is_text() {
    assert_eq!(pieces("<s>"), "< ▁ ? s ? >");
    assert_eq!(pieces("<unk>"), "< ▁ ? u n k ? >");
}

#[test]
fn blanks_are_made_one_and_dropped_at_both_ends() {
    for (text, expected) in [
        ("a", "▁a"),
        ("  a \t\n b  ", "▁a▁b"),
        ("a\u{3000}\u{a0}b", "▁a▁b"),
        ("\u{200b} a", "▁a"),
        ("a \u{200b} b", "▁a▁b"),
        ("▁a▁", "▁▁a"),
        ("a▁ ", "▁a"),
        (" ", ""),
    ] {
        assert_eq!(normal(text), expected, "{text:?}");
    }
}

#[test]
fn letters_become_what_the_map_says_longest_first() {
    for (text, expected) in [
        ("ﬁne ½", "▁fine▁1⁄2"),
        ("ＡAa", "▁aaa"),
        ("A\u{301}", "▁á"),
        ("ｶ\u{ff9e}ｶ", "▁ガカ"),
        ("a¨", "▁a▁\u{308}"),
        ("¨a", "▁\u{308}a"),
        ("a\u{7f}b", "▁ab"),
    ] {
        assert_eq!(normal(text), expected, "{text:?}");
    }
}

#[test]
fn a_long_text_is_cut() {
    let ids = tokenizer().encode(&"the cat ".repeat(MAX_TOKENS));
    assert_eq!((ids.len(), ids[0], ids[MAX_TOKENS - 1]), (MAX_TOKENS, BEGIN, END));
    assert_eq!(ids, tokenizer().encode(&"the cat ".repeat(2 * MAX_TOKENS)));
    // One letter of three bytes crosses the border, and blanks before it leave no token.
    let text = " ".repeat(MAX_BYTES - 2) + "你";
    assert_eq!(tokenizer().encode(&text), [BEGIN, UNKNOWN, END]);
    assert_ne!(tokenizer().encode(&text[1..]), [BEGIN, UNKNOWN, END]);
}

#[test]
fn a_trie_finds_what_is_in_it() {
    let trie = Trie::new([("ab", 1), ("a", 2), ("b", 3), ("", 4), ("b", 5), ("你", 6)].into_iter());
    let find = |text: &str| {
        let node = text.bytes().try_fold(ROOT, |node, byte| trie.step(node, byte));
        node.and_then(|node| trie.piece(node))
    };
    assert_eq!(["ab", "a", "b", "你"].map(find), [Some(1), Some(2), Some(5), Some(6)]);
    assert_eq!(["", "abc", "c", "ba"].map(find), [None; 4]);
    assert_eq!(Trie::new(std::iter::empty()).step(ROOT, 0), None);
}

#[test]
fn models_of_another_kind_are_refused() {
    let refused = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = model();
        change(&mut bytes);
        Tokenizer::from_model(&bytes).expect_err("refused")
    };
    assert_eq!(Tokenizer::from_model(&[]).expect_err("empty"), ModelError::Empty);
    assert_eq!(refused(&|bytes| bytes.truncate(bytes.len() - 1)), ModelError::Broken);
    assert_eq!(refused(&|bytes| bytes.push(7)), ModelError::Broken);
    assert_eq!(refused(&|bytes| field(bytes, 2, &[3 << 3, 2])), ModelError::NotUnigram);
    assert_eq!(refused(&|bytes| field(bytes, 3, &[4 << 3, 0])), ModelError::Blanks);
    assert_eq!(refused(&|bytes| field(bytes, 1, &[1 << 3 | 2, 1, 0xff])), ModelError::Encoding);
    let with_charsmap = |charsmap: &[u8]| {
        let mut normalizer = Vec::new();
        field(&mut normalizer, 2, charsmap);
        refused(&|bytes| field(bytes, 3, &normalizer))
    };
    for (what, charsmap) in [
        ("no size", &[1, 2][..]),
        ("a size beyond its end", &[8, 0, 0, 0, 1, 2, 3, 4]),
        ("half a unit", &[2, 0, 0, 0, 1, 2]),
        ("no UTF-8", &[0, 0, 0, 0, 0xff]),
    ] {
        assert_eq!(with_charsmap(charsmap), ModelError::Charsmap, "{what}");
    }
}

#[test]
fn fields_that_are_not_needed_are_passed_over() {
    let mut bytes = model();
    // A number, eight bytes, four bytes, bytes; all of field 9.
    bytes.extend([9 << 3, 0x80, 1, 9 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8, 9 << 3 | 5, 1, 2, 3, 4, 9 << 3 | 2, 1, 7]);
    let tokenizer = Tokenizer::from_model(&bytes).expect("model");
    assert_eq!(tokenizer.encode("the cat"), super::tests::tokenizer().encode("the cat"));
}

/// Every way to cut the text, scored; the slow and obvious counterpart of the search.
fn best_score(pieces: &[Piece<'_>], text: &str, unknown: f64) -> f64 {
    let Some(letter) = text.chars().next() else { return 0.0 };
    let begins = pieces.iter().filter(|piece| text.starts_with(piece.text));
    let covered = begins.clone().any(|piece| piece.text.len() == letter.len_utf8());
    let ways = begins.map(|piece| f64::from(piece.score) + best_score(pieces, &text[piece.text.len()..], unknown));
    let alone = (!covered).then(|| unknown + best_score(pieces, &text[letter.len_utf8()..], unknown));
    ways.chain(alone).fold(f64::NEG_INFINITY, f64::max)
}

proptest! {
    #[test]
    fn no_way_to_cut_a_text_scores_more(
        words in prop::collection::btree_map("[ab界]{1,3}", -8_i8..0, 1..8),
        text in "[ab界c]{0,8}",
    ) {
        let pieces: Vec<_> = words
            .iter()
            .map(|(text, score)| Piece { text, score: f32::from(*score), is_text: true })
            .collect();
        let unknown = f64::from(pieces.iter().map(|piece| piece.score).fold(f32::INFINITY, f32::min)) - 10.0;
        // Ids of unknown letters are 0, so a piece in front takes that id from the others.
        let mark = Piece { text: "", score: 0.0, is_text: false };
        let vocabulary: Vec<_> = std::iter::once(mark).chain(pieces.iter().copied()).collect();
        let ids = Unigram::new(&vocabulary).segment(&text);
        let score: f64 =
            ids.iter().map(|id| if *id == UNKNOWN { unknown } else { f64::from(vocabulary[*id as usize].score) }).sum();
        prop_assert_eq!(score, best_score(&pieces, &text, unknown));
    }

    #[test]
    fn any_text_has_ids(text in any::<String>()) {
        let tokenizer = tokenizer();
        let ids = tokenizer.encode(&text);
        prop_assert!(ids.len() >= 3 && ids.len() <= MAX_TOKENS);
        prop_assert!(ids.iter().all(|id| (*id as usize) < tokenizer.pieces()));
        let normal = tokenizer.charsmap.normalise(&text);
        prop_assert!(!normal.contains(' ') && !normal.ends_with('▁'));
    }

    #[test]
    fn a_damaged_map_of_letters_panics_nowhere(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        text in "[\\PCaAｶ½①\u{301}\u{ff9e}]{0,12}",
    ) {
        let mut bytes = charsmap(&[("ａ", "a"), ("A\u{301}", "á"), ("½", "1⁄2"), ("ｶ\u{ff9e}", "ガ"), ("ｶ", "カ")]);
        for (place, byte) in damage {
            let place = place.index(bytes.len() - 4) + 4;
            bytes[place] = byte;
        }
        if let Ok(charsmap) = Charsmap::read(&bytes) {
            charsmap.normalise(&text);
        }
    }

    #[test]
    fn a_damaged_model_panics_nowhere(place in any::<prop::sample::Index>(), byte in any::<u8>(), cut in 0_usize..40) {
        let mut bytes = model();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(bytes.len() - cut);
        if let Ok(tokenizer) = Tokenizer::from_model(&bytes) {
            tokenizer.encode("the cat ½ ｶ\u{ff9e} 你好");
        }
    }
}

#[test]
fn scores_that_are_no_numbers_end_as_well() {
    let mut bytes = Vec::new();
    for (text, score) in [("<unk>", f32::NAN), ("a", f32::INFINITY), ("b", f32::NEG_INFINITY), ("▁", f32::NAN)] {
        field(&mut bytes, 1, &piece(text, score, None));
    }
    let ids = Tokenizer::from_model(&bytes).expect("model").encode("abba c");
    assert!(ids.len() <= 9, "{ids:?}");
}
