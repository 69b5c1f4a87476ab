//! Rules of the text index.

use crate::suite::conversation::key;
use crate::suite::session::{Session, Subject, hit_places, hits, long_thread, owner, words_only};

/// A thread whose messages hold these terms.
async fn texts(store: &dyn Session, resource: &str, thread: &str, terms: &[&str]) {
    let key = key(resource, thread);
    long_thread(store, &key, terms.len()).await;
    let entries = terms.iter().enumerate().map(|(n, terms)| words_only(&format!("{thread}.{n}"), terms)).collect();
    store.index(&key, "s", entries).await.expect("indexed");
}

fn at(thread: &str, seqs: &[u64]) -> Vec<(String, u64)> {
    seqs.iter().map(|seq| (thread.to_owned(), *seq)).collect()
}

/// More of the words come first, and rare words count more than common ones.
pub async fn words_find_messages_best_first(subject: &Subject) {
    let store = &*subject.store;
    let mut terms = vec!["locker word orchid", "locker key lost", "word of the day", "nothing here"];
    terms.extend(["the weather is fine"; 20]);
    texts(store, "shop", "t", &terms).await;
    let found = hits(store, &owner("shop"), &["locker", "word", "orchid"]).await;
    assert_eq!(hit_places(&found)[0], ("t".to_owned(), 1));
    assert_eq!(found.len(), 3);
    assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score), "{found:?}");
    assert!(found.iter().all(|hit| hit.score > 0.0));
    let found = hits(store, &owner("shop"), &["weather", "orchid"]).await;
    assert_eq!((hit_places(&found)[0].1, found.len()), (1, 21));
    let two = store.find_words(&owner("shop"), None, &["weather".to_owned()], 2).await.expect("found");
    assert_eq!(two.len(), 2, "at most so many");
}

/// Whatever it is made of: two letters of Chinese, punctuation, capitals, an emoji, an operator of a query language.
pub async fn any_word_is_a_word(subject: &Subject) {
    let store = &*subject.store;
    let words = [
        "北京",
        "京城",
        "c++",
        "c",
        "it's",
        "\"quoted\"",
        "zz",
        "z7a",
        "Word",
        "word",
        "naïve",
        "naive",
        "😀",
        "AND",
        "NOT",
        "a*",
        "a",
        "(x)",
        "col:x",
        "-x",
        "x",
        "x\u{0}y",
        "ß",
        "100%",
        "10",
        "100",
        "é",
        "e\u{301}",
        "_",
    ];
    texts(store, "shop", "t", &words).await;
    for (seq, word) in (1..).zip(words) {
        let found = hits(store, &owner("shop"), &[word]).await;
        assert_eq!(hit_places(&found), at("t", &[seq]), "{word:?}");
    }
    assert_eq!(hits(store, &owner("shop"), &words).await.len(), words.len());
}

/// The same words under two owners.
pub async fn owners_never_share_words(subject: &Subject) {
    let store = &*subject.store;
    texts(store, "a", "t", &["locker word orchid", "alone"]).await;
    texts(store, "b", "t", &["locker word tulip"]).await;
    assert_eq!(hit_places(&hits(store, &owner("a"), &["locker"]).await), at("t", &[1]));
    assert_eq!(hits(store, &owner("b"), &["orchid", "alone"]).await, []);
    assert_eq!(hits(store, &owner("c"), &["locker"]).await, []);
}

/// Other threads give no hit and take no place.
pub async fn words_can_be_looked_for_in_one_thread(subject: &Subject) {
    let store = &*subject.store;
    texts(store, "shop", "a", &["tea tea tea"; 30]).await;
    texts(store, "shop", "b", &["milk", "a cup of tea with much milk"]).await;
    texts(store, "shop", "c", &["tea tea tea"; 30]).await;
    let thread = key("shop", "b").thread;
    let found = store.find_words(&owner("shop"), Some(&thread), &["tea".to_owned()], 5).await.expect("found");
    assert_eq!(hit_places(&found), at("b", &[2]));
    let none = store.find_words(&owner("bank"), Some(&thread), &["tea".to_owned()], 5).await.expect("found");
    assert_eq!(none, []);
}

/// The owners before and behind hold the word oftener.
pub async fn one_owner_among_many_loses_no_hit(subject: &Subject) {
    let store = &*subject.store;
    for number in 0..40 {
        let terms: &[&str] = if number == 20 { &["one cup of tea and other things"] } else { &["tea tea"; 20] };
        texts(store, &format!("user:{number}"), "t", terms).await;
    }
    let found = store.find_words(&owner("user:20"), None, &["tea".to_owned()], 3).await.expect("found");
    assert_eq!(hit_places(&found), at("t", &[1]));
}

/// Also when another space writes them, and when none are left.
pub async fn terms_written_again_are_replaced(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    texts(store, "shop", "t", &["old shared", "other"]).await;
    store.index(&key, "r", vec![words_only("t.0", "new shared")]).await.expect("indexed");
    assert_eq!(hits(store, &owner("shop"), &["old"]).await, []);
    assert_eq!(hit_places(&hits(store, &owner("shop"), &["new"]).await), at("t", &[1]));
    assert_eq!(hit_places(&hits(store, &owner("shop"), &["shared"]).await), at("t", &[1]));
    store.index(&key, "s", vec![words_only("t.0", " ")]).await.expect("indexed");
    assert_eq!(hits(store, &owner("shop"), &["old", "new", "shared"]).await, []);
    assert_eq!(hits(store, &owner("shop"), &["other"]).await.len(), 1);
}

/// No words, empty words, a limit of none.
pub async fn nothing_is_looked_for_without_words(subject: &Subject) {
    let store = &*subject.store;
    texts(store, "shop", "t", &["tea", ""]).await;
    for words in [&[][..], &[""], &["", ""]] {
        assert_eq!(hits(store, &owner("shop"), words).await, []);
    }
    assert_eq!(hits(store, &owner("shop"), &["", "tea"]).await.len(), 1);
    let none = store.find_words(&owner("shop"), None, &["tea".to_owned()], 0).await.expect("found");
    assert_eq!(none, []);
}
