//! Rules of versions: what was served can be served again.

use roster_model::ledger::{LedgerStore, LedgerWrite, Version};

use super::{Subject, agent, entry, generations, print, publish, serve, version};

async fn last(store: &dyn LedgerStore, name: &str) -> Option<Version> {
    store.last_served(&agent(name)).await.expect("asked")
}

async fn find(store: &dyn LedgerStore, name: &str, text: &str) -> Option<Version> {
    store.version(&agent(name), text).await.expect("asked")
}

/// An empty ledger answers, with nothing.
pub async fn nothing_is_known_of_a_new_agent(subject: &Subject) {
    let store = &*subject.store;
    assert_eq!(last(store, "clerk").await, None);
    assert_eq!(find(store, "clerk", &print("a")).await, None);
    assert!(generations(store, "clerk").await.is_empty());
    assert!(store.pins().await.expect("pins").is_empty());
    store.pin(&agent("clerk"), None).await.expect("nothing to take away");
    store.write(LedgerWrite::default()).await.expect("nothing to write");
    assert_eq!(last(store, "clerk").await, None);
}

/// Texts are kept byte for byte, with and without an instructions file, an empty one included.
pub async fn a_version_comes_back_as_it_was(subject: &Subject) {
    let store = &*subject.store;
    let odd = "\u{feff}id = 'clerk'\r\n# 漢字 \0 '; DROP TABLE versions; --\n";
    let long = "line of a long text\n".repeat(100_000);
    let cases = [("a", odd, None), ("b", odd, Some("")), ("c", "", Some(odd)), ("d", &long, Some(long.as_str()))];
    for (generation, (start, text, instructions)) in (1..).zip(cases) {
        let instructions = instructions.map(str::to_owned);
        let version = Version { text: text.to_owned(), instructions, ..version("clerk", start) };
        let entries = vec![entry(generation, "clerk", "changed", start)];
        store.write(LedgerWrite { versions: vec![version.clone()], entries }).await.expect("written");
        assert_eq!(last(store, "clerk").await.as_ref(), Some(&version), "{start}");
        assert_eq!(find(store, "clerk", &version.fingerprint).await, Some(version), "{start}");
    }
}

/// The same fingerprint is the same version: the first text stays.
pub async fn a_version_that_is_known_stays_as_it_is(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["a", "b"]).await;
    let crlf = Version { text: "other line ends".to_owned(), ..version("clerk", "a") };
    let entries = vec![entry(3, "clerk", "changed", "a")];
    store.write(LedgerWrite { versions: vec![crlf.clone(), crlf], entries }).await.expect("written");
    assert_eq!(last(store, "clerk").await, Some(version("clerk", "a")));
}

/// An agent that went away can come back as it was; going back to an old version makes that one the last.
pub async fn the_version_served_last_is_given_whatever_came_after(subject: &Subject) {
    let store = &*subject.store;
    let steps = [
        ("added", "a", "a"),
        ("changed", "b", "b"),
        ("changed", "a", "a"),
        ("rebound", "a", "a"),
        ("pinned", "b", "b"),
        ("unpinned", "a", "a"),
        // Says what was served, and is no proof that it is good.
        ("removed", "c", "a"),
        ("added", "d", "d"),
        ("removed", "d", "d"),
    ];
    for (generation, (change, start, expected)) in (1..).zip(steps) {
        store.write(publish(generation, "clerk", change, start)).await.expect("written");
        assert_eq!(last(store, "clerk").await, Some(version("clerk", expected)), "after {generation} {change}");
    }
    assert_eq!(last(store, "cook").await, None);
}

/// An entry may be there without its version; then the one before it counts.
pub async fn a_version_whose_text_is_unknown_is_passed_over(subject: &Subject) {
    let store = &*subject.store;
    let only_entry = |generation, start| LedgerWrite {
        entries: vec![entry(generation, "clerk", "changed", start)],
        ..LedgerWrite::default()
    };
    store.write(only_entry(1, "lost")).await.expect("written");
    assert_eq!(last(store, "clerk").await, None);
    store.write(publish(2, "clerk", "changed", "a")).await.expect("written");
    store.write(only_entry(3, "lost")).await.expect("written");
    assert_eq!(last(store, "clerk").await, Some(version("clerk", "a")));
    assert_eq!(generations(store, "clerk").await, [3, 2, 1]);
}

/// Eight characters are enough where they name one version; more are never wrong.
pub async fn a_version_is_found_by_the_beginning_of_its_fingerprint(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["12345678a", "12345678b", "9abcdef0", "f", "ffffffff"]).await;
    let whole = print("9abcdef0");
    for (text, expected) in [
        ("9abcdef0", Some("9abcdef0")),
        ("9ABCDEF0", Some("9abcdef0")),
        (whole.as_str(), Some("9abcdef0")),
        (&whole[..63], Some("9abcdef0")),
        ("9abcdef", None),
        ("", None),
        ("9abcdef01", None),
        (&format!("{whole}0"), None),
        ("12345678", None),
        ("12345678a", Some("12345678a")),
        ("12345678b", Some("12345678b")),
        ("12345678c", None),
        ("ffffffff", Some("ffffffff")),
        ("9abcdef%", None),
        ("9abcdef_", None),
        ("9abcdefé", None),
    ] {
        assert_eq!(find(store, "clerk", text).await, expected.map(|start| version("clerk", start)), "{text}");
    }
    // A whole fingerprint is meant even where another one begins with it, whatever it looks like.
    for fingerprint in ["abcdefab", "abcdefabcd", "no hex"] {
        let version = Version { fingerprint: fingerprint.to_owned(), ..version("cook", "a") };
        store.write(LedgerWrite { versions: vec![version.clone()], entries: Vec::new() }).await.expect("written");
        assert_eq!(find(store, "cook", fingerprint).await, Some(version));
    }
    assert_eq!(find(store, "cook", "no hex").await.map(|found| found.fingerprint).as_deref(), Some("no hex"));
    assert_eq!(find(store, "cook", "abcdefab").await.map(|found| found.fingerprint).as_deref(), Some("abcdefab"));
}

/// The same content under two agents is two versions.
pub async fn agents_do_not_share_versions(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["aaaaaaaa"]).await;
    assert_eq!(find(store, "cook", "aaaaaaaa").await, None);
    let copy = Version { agent: agent("cook"), ..version("clerk", "aaaaaaaa") };
    let entries = vec![entry(2, "cook", "added", "aaaaaaaa")];
    store.write(LedgerWrite { versions: vec![copy.clone()], entries }).await.expect("written");
    assert_eq!(find(store, "cook", "aaaaaaaa").await.as_ref(), Some(&copy));
    assert_eq!(last(store, "cook").await, Some(copy));
    assert_eq!(last(store, "clerk").await, Some(version("clerk", "aaaaaaaa")));
}

/// A first start of a big project.
pub async fn a_publish_of_3000_agents_is_whole(subject: &Subject) {
    let store = &*subject.store;
    let names: Vec<String> = (0..3000).map(|number| format!("agent-{number}")).collect();
    let versions = names.iter().map(|name| version(name, "a")).collect();
    let entries = names.iter().map(|name| entry(1, name, "added", "a")).collect();
    store.write(LedgerWrite { versions, entries }).await.expect("written");
    for name in &names {
        assert_eq!(last(store, name).await, Some(version(name, "a")));
        assert_eq!(generations(store, name).await, [1]);
    }
}

/// The newest entry alone counts, unlike in `last_served`, and its version must be there.
pub async fn what_the_newest_entry_serves_is_known_for_many_at_once(subject: &Subject) {
    let store = &*subject.store;
    serve(store, "clerk", &["a", "b"]).await;
    serve(store, "cook", &["a"]).await;
    store.write(publish(2, "cook", "removed", "a")).await.expect("written");
    serve(store, "baker", &["a", "b"]).await;
    store.write(publish(3, "baker", "pinned", "a")).await.expect("written");
    let only_entry = LedgerWrite { entries: vec![entry(1, "smith", "added", "a")], ..LedgerWrite::default() };
    store.write(only_entry).await.expect("written");
    let asked = [
        ("clerk", "b", true),
        ("clerk", "a", false),
        ("cook", "a", false),
        ("nobody", "a", false),
        ("baker", "a", true),
        ("baker", "b", false),
        ("smith", "a", false),
        ("clerk", "b", true),
    ];
    let versions = asked.iter().map(|(name, start, _)| (agent(name), print(start))).collect();
    let expected: Vec<bool> = asked.iter().map(|(_, _, expected)| *expected).collect();
    assert_eq!(store.are_served_last(versions).await.expect("asked"), expected);
    assert!(store.are_served_last(Vec::new()).await.expect("asked").is_empty());
}
