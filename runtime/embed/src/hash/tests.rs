use proptest::prelude::*;
use roster_model::embedder::Embedder;

use super::features::each_feature;
use super::{DIMENSIONS, HashEmbedder, MAX_BYTES, SPACE, mixed, vector};

fn cosine(a: &str, b: &str) -> f32 {
    vector(a).iter().zip(vector(b)).map(|(a, b)| a * b).sum()
}

/// The features as `kind:letters`, weights left out.
fn features(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    each_feature(text, &mut |feature, _| {
        all.push(format!("{}:{}", char::from(feature[0]), String::from_utf8_lossy(&feature[1..])));
    });
    all
}

fn length(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

#[test]
fn words_are_counted_whole_and_in_pieces() {
    assert_eq!(features("Cat, A1"), ["w:cat", "p: ca", "p:cat", "p:at ", "w:a1", "p: a1", "p:a1 "]);
}

#[test]
fn chinese_is_counted_in_two_letter_steps() {
    assert_eq!(features("北京，上海"), ["l:北", "l:京", "s:北京", "l:上", "l:海", "s:上海"]);
}

#[test]
fn a_step_does_not_cross_other_letters() {
    assert_eq!(features("北a京"), ["l:北", "w:a", "p: a ", "l:京"]);
}

#[test]
fn korean_words_are_cut_in_twos() {
    assert_eq!(features("한국"), ["w:한국", "p: 한", "p:한국", "p:국 "]);
}

#[test]
fn full_width_and_capitals_are_the_plain_letters() {
    assert_eq!(vector("ＣＡＴ　ｄｏｇ"), vector("cat dog"));
}

#[test]
fn vectors_do_not_move_between_versions() {
    // A change here needs a new `SPACE`, else stored vectors would be compared with others.
    assert_eq!(SPACE, "hash-1/512");
    let vector = vector("Roster remembers: 北京 2026");
    let buckets = vector.iter().enumerate().filter(|(_, value)| **value != 0.0);
    let written: String = buckets.map(|(bucket, value)| format!("{bucket}:{value:.5} ")).collect();
    assert_eq!(mixed(written.as_bytes()), 0xbe64f37e4fd2dfab, "{written}");
}

#[test]
fn texts_that_share_words_are_nearer() {
    let question = "how do I reset my password";
    assert!(cosine(question, "resetting the password of an account") > cosine(question, "the weather is fine") + 0.2);
    assert!(cosine("今天北京的天气", "北京天气怎么样") > cosine("今天北京的天气", "我喜欢吃苹果") + 0.2);
}

#[test]
fn nothing_to_compare_gives_the_zero_vector() {
    for text in ["", "  \t", "?!…", "🦄"] {
        assert_eq!(vector(text), vec![0.0; DIMENSIONS], "{text:?}");
    }
}

#[test]
fn a_long_text_is_cut() {
    let long = "é".repeat(MAX_BYTES);
    assert_eq!(vector(&long), vector(&"é".repeat(MAX_BYTES / 2)));
}

#[tokio::test]
async fn one_vector_a_text_in_order() {
    let texts = ["one".to_owned(), String::new(), "two".to_owned()];
    let vectors = HashEmbedder.embed(&texts).await.expect("vectors");
    assert_eq!(vectors, [vector("one"), vector(""), vector("two")]);
    assert_eq!((HashEmbedder.space(), HashEmbedder.dimensions()), (SPACE, DIMENSIONS));
}

proptest! {
    #[test]
    fn any_text_gives_a_vector_of_length_one_or_zero(text in any::<String>()) {
        let vector = vector(&text);
        prop_assert_eq!(vector.len(), DIMENSIONS);
        let length = length(&vector);
        // Features that cancel out exactly are possible, if rare.
        prop_assert!((length - 1.0).abs() < 1e-5 || length == 0.0, "{}", length);
    }
}
