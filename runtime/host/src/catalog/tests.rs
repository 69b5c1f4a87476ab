use std::sync::Arc;

use roster_engine::definition::{MemoryConfig, ModelChoice, ModelTable, WindowConfig};
use roster_engine::memory::MemoryFactory;
use roster_engine::registry::ModelSource;
use roster_model::provider::ProviderErrorKind;
use roster_storage::ram::RamStore;
use roster_testkit::clock::TestClock;
use serde_json::json;

use super::{Models, host_of};
use crate::clock::RandomIds;
use crate::config::load_runtime;
use crate::plugins::CreateMemory;

fn models(toml: &str) -> Models {
    let text = format!("[project]\nname = \"t\"\n{toml}");
    let loaded = load_runtime(text.as_bytes(), &|name| (name == "SET_KEY").then(|| "sk-1".to_owned()));
    let config = loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems));
    Models::new(std::path::Path::new("/nowhere"), &config, Arc::new(TestClock::default()), Arc::new(RandomIds))
}

const TWO: &str = r#"
[models]
default = "local/big"
fast = "local/small"
[models.providers.local]
dialect = "openai"
base_url = "http://127.0.0.1:1/v1"
[models.providers.locked]
dialect = "openai"
base_url = "http://127.0.0.1:2/v1"
api_key_env = "UNSET_KEY"
"#;

fn named(name: &str) -> ModelChoice {
    ModelChoice::Named(name.to_owned())
}

fn table(base_url: &str, key: Option<&str>) -> ModelChoice {
    ModelChoice::Table(ModelTable {
        id: "m".into(),
        base_url: base_url.into(),
        api_key_env: key.map(str::to_owned),
        dialect: "openai".into(),
    })
}

#[test]
fn names_are_bound_to_the_provider_they_mean() {
    let models = models(TWO);
    for (written, name, model) in [
        ("default", "local/big", "big"),
        ("fast", "local/small", "small"),
        ("local/org/x:1", "local/org/x:1", "org/x:1"),
        ("demo/flash", "demo/flash", "flash"),
    ] {
        let bound = models.resolve(&named(written)).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!((bound.name.as_str(), bound.model.as_str()), (name, model), "{written}");
    }
}

#[test]
fn agents_of_one_provider_share_it() {
    let models = models(TWO);
    let get = |choice: &ModelChoice| {
        models.resolve(choice).map(|bound| bound.provider).unwrap_or_else(|fault| panic!("{fault:?}"))
    };
    assert!(Arc::ptr_eq(&get(&named("local/a")), &get(&named("default"))));
    let (one, two) = (table("http://127.0.0.1:3/v1", None), table("http://127.0.0.1:3/v1", Some("UNSET_KEY")));
    assert!(Arc::ptr_eq(&get(&one), &get(&one)));
    assert!(!Arc::ptr_eq(&get(&one), &get(&two)), "another key is another provider");
    let mut other = table("http://127.0.0.1:3/v1", None);
    if let ModelChoice::Table(table) = &mut other {
        "anthropic".clone_into(&mut table.dialect);
    }
    assert!(!Arc::ptr_eq(&get(&one), &get(&other)), "another dialect is another provider");
}

#[test]
fn a_key_that_is_not_set_stops_no_start_and_names_its_variable() {
    let models = models(TWO);
    for choice in [named("locked/m"), table("http://127.0.0.1:3/v1", Some("UNSET_KEY"))] {
        let bound = models.resolve(&choice).unwrap_or_else(|fault| panic!("{fault:?}"));
        let error = bound.provider.ready().expect_err("not ready");
        assert_eq!(error.kind, ProviderErrorKind::KeyMissing);
        assert!(error.message.contains("UNSET_KEY"), "{error}");
    }
}

#[test]
fn a_provider_whose_dialect_makes_no_vectors_is_no_embedder() {
    let models = models("[models.providers.a]\ndialect = \"anthropic\"\nbase_url = \"http://127.0.0.1:1/v1\"\n");
    let fault = models.embedder("a/x").err().expect("no embedder");
    assert_eq!(fault.code, "unknown_embedder");
    assert!(fault.message.contains("`a/x`") && fault.message.contains("`anthropic`"), "{}", fault.message);
}

fn made(keys: &str) -> Result<(), String> {
    let models = models(&format!("[models.providers.p]\nbase_url = \"https://h.example/v1\"\n{keys}"));
    models
        .resolve(&named("p/x"))
        .map(|_| ())
        .map_err(|fault| format!("{} / {}", fault.message, fault.help.unwrap_or_default()))
}

#[test]
fn the_way_to_a_provider_is_checked_when_it_is_made() {
    let all = "connect_timeout = \"2s\"\nfirst_token_timeout = \"90s\"\nidle_timeout = \"20s\"\nproxy = \"http://me:word@p.example:3128\"\nbreaker_failures = 0\nbreaker_rest = \"1m\"\n";
    assert_eq!(made(all), Ok(()));
    assert_eq!(made("proxy = \"none\"\n"), Ok(()));
    let missing = made("ca_file = \"config/our-ca.pem\"\n").expect_err("no file");
    assert!(missing.contains("`ca_file` of provider `p`, config/our-ca.pem, cannot be read"), "{missing}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.pem");
    std::fs::File::create_new(&file).expect("a file");
    let empty = made(&format!("ca_file = \"{}\"\n", file.display())).expect_err("nothing in it");
    assert!(empty.contains("provider `p`") && empty.contains("no readable PEM certificate"), "{empty}");
}

fn fault(choice: &ModelChoice) -> (&'static str, String) {
    let fault = models(TWO).resolve(choice).err().expect("means nothing");
    (fault.code, format!("{} / {}", fault.message, fault.help.unwrap_or_default()))
}

#[test]
fn what_means_nothing_says_what_was_probably_meant() {
    let (code, text) = fault(&named("defalut"));
    assert_eq!(code, "unknown_model");
    assert!(text.contains("did you mean `default`?"), "{text}");
    let (code, text) = fault(&named("locl/x"));
    assert_eq!(code, "unknown_provider");
    assert!(text.contains("did you mean `local`?"), "{text}");
    let (code, text) = fault(&named("demo/flsh"));
    assert_eq!(code, "unknown_model");
    assert!(text.contains("did you mean `demo/flash`?"), "{text}");
}

#[test]
fn a_name_for_people_holds_no_credentials() {
    for (url, host) in [
        ("https://user:secret@api.example.com/v1", "api.example.com"),
        ("http://127.0.0.1:11434/v1?x=1", "127.0.0.1:11434"),
        ("http://h", "h"),
    ] {
        assert_eq!(host_of(url), host);
    }
}

#[test]
fn create_memory_gives_the_window_asked_for_and_takes_no_config() {
    let factory = CreateMemory { store: Arc::new(RamStore::new(Arc::new(TestClock::default()))), plugins: None };
    let window = WindowConfig { last_messages: 3, max_tokens: Some(100) };
    let mut config = MemoryConfig { window, ..MemoryConfig::new("create_memory") };
    let memory = factory.create(&config).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.policy.window, window);
    config.config.insert("file".into(), json!("x.db"));
    let error = factory.create(&config).err().expect("refused");
    assert!(error.message.contains("`file`"), "{error}");
}
