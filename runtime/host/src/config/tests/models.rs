//! What names of models mean.

use crate::config::models::ModelNames;

fn names() -> ModelNames {
    let mut names = ModelNames::new(["openai".to_owned()]);
    names.set("fast", "openai/gpt-4o-mini").unwrap();
    names
}

fn check(name: &str, expected: &str) {
    let found = match names().resolve(name) {
        Ok(model) => format!("{}|{}", model.provider, model.model),
        Err(fault) => format!("{}: {}: {}", fault.code, fault.message, fault.help),
    };
    assert_eq!(found, expected);
}

#[test]
fn names_are_aliases_or_cut_at_the_first_slash() {
    check("default", "demo|pro");
    check("fast", "openai|gpt-4o-mini");
    check("openai/meta/llama:free", "openai|meta/llama:free");
    check("demo/thinking", "demo|thinking");
    check("acme:large", "acme|large");
}

#[test]
fn unknown_names_say_what_was_meant_and_what_is_known() {
    check(
        "opnai/x",
        "unknown_provider: unknown provider `opnai`: did you mean `openai`? Known providers: demo, openai",
    );
    check(
        "zzz/x",
        "unknown_provider: unknown provider `zzz`: known providers: demo, openai; others stand under [models.providers.zzz] in config/runtime.toml",
    );
    check(
        "fats",
        "unknown_model: unknown model alias `fats`: did you mean `fast`? Known aliases: default, fast; or write \"provider/model\"",
    );
    check(
        "acme:",
        "bad_model: `acme:` names no provider and model: write \"provider/model\", for example \"demo/pro\", or \"plugin:model\"",
    );
}

#[test]
fn what_a_variable_held_is_shown_by_its_alias_alone() {
    let mut names = names();
    names.set_hidden("secret", "openai/sk-abc").unwrap();
    let shown = |names: &ModelNames, name: &str| names.shown(name, &names.resolve(name).unwrap());
    assert_eq!(
        (shown(&names, "secret"), shown(&names, "fast")),
        ("secret".to_owned(), "openai/gpt-4o-mini".to_owned())
    );
    names.set("secret", "demo/pro").unwrap();
    assert_eq!(shown(&names, "secret"), "demo/pro");
    names.set("large", "acme:large").unwrap();
    assert_eq!(shown(&names, "large"), "acme:large");
}

#[test]
fn the_demo_provider_has_three_models_and_no_provider_an_empty_one() {
    check("demo/flahs", "unknown_model: provider `demo` has no model `flahs`: did you mean `demo/flash`?");
    check(
        "demo/zzzzzzzz",
        "unknown_model: provider `demo` has no model `zzzzzzzz`: it has `demo/pro`, `demo/flash`, `demo/thinking`",
    );
    check(
        "openai/",
        "bad_model: `openai/` names no provider and model: write \"provider/model\", for example \"demo/pro\", or \"plugin:model\"",
    );
    assert!(names().set("mine", "demo/flahs").is_err());
}
