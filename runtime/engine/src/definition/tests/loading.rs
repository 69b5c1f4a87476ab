//! What is read is what was written.

use std::fmt::Write as _;

use proptest::prelude::*;

use super::golden;
use crate::definition::{
    DEFAULT_TEMPLATE, Loaded, ModelChoice, OnDisconnect, RecallConfig, Scope, Unreadable, WorkingConfig, WorkingForm,
    load_agent, suggest, units,
};
use roster_model::message::Role;

fn load(text: impl AsRef<[u8]>) -> Loaded {
    load_agent("agents/a.toml", text.as_ref(), &|_: &str| Err(Unreadable::Missing))
}

fn instructions(text: impl AsRef<[u8]>) -> String {
    let loaded = load(text);
    loaded.definition.unwrap_or_else(|| panic!("{:?}", loaded.problems)).instructions
}

#[test]
fn line_ends_and_the_mark_change_no_instruction() {
    let lf = "id = \"a\"\ninstructions = \"\"\"\nFirst.\nSecond \\\n    goes on.\n漢字\"\"\"\n";
    let expected = "First.\nSecond goes on.\n漢字";
    assert_eq!(instructions(lf), expected);
    assert_eq!(instructions(lf.replace('\n', "\r\n")), expected);
    assert_eq!(instructions(format!("\u{feff}{lf}")), expected);
    let fingerprint = |text: String| load(text).definition.unwrap().fingerprint;
    assert_eq!(fingerprint(lf.to_owned()), fingerprint(lf.replace('\n', "\r\n")));
    assert_eq!(fingerprint(lf.to_owned()), fingerprint(format!("\u{feff}{lf}")));
    assert_ne!(fingerprint(lf.to_owned()), fingerprint(format!("{lf}# more\n")));
}

#[test]
fn instructions_are_the_parsed_value_byte_for_byte() {
    let mut text =
        "match `\\d+\\s*kg`, C:\\tools\\new, {\"grade\":\"A\"}, ${expression}, {{ user }}, {x}, a\ttab, 漢字\n"
            .to_owned();
    writeln!(text, "{}", "x".repeat(5000)).unwrap();
    assert_eq!(instructions(format!("id = \"a\"\ninstructions = '''{text}'''\n")), text);
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    assert_eq!(instructions(format!("id = \"a\"\ninstructions = \"\"\"{escaped}\"\"\"\n")), text);
    let large = "0123456789abcdef".repeat(128 * 1024);
    assert_eq!(instructions(format!("id = \"a\"\ninstructions = '''{large}'''\n")), large);
}

#[test]
fn an_instructions_file_has_its_line_ends_normalised_too() {
    let read = |path: &str| {
        assert_eq!(path, "deep/words.md");
        Ok(b"\xef\xbb\xbfOne.\r\nTwo \\\r\n".to_vec())
    };
    let text = "id = \"a\"\ninstructions_file = \"deep/words.md\"\n";
    let first = load_agent("agents/a.toml", text.as_bytes(), &read).definition.unwrap();
    assert_eq!(first.instructions, "One.\nTwo \\\n");
    let changed = |_: &str| Ok(b"Three.".to_vec());
    let second = load_agent("agents/a.toml", text.as_bytes(), &changed).definition.unwrap();
    assert_ne!(first.fingerprint, second.fingerprint, "the file's text counts");
}

#[test]
fn every_key_reaches_the_definition() {
    let name = "good_full";
    let bytes = golden::files().into_iter().find(|(found, _)| found == name).unwrap().1;
    let loaded = golden::load(name, &bytes);
    let definition = loaded.definition.unwrap();
    assert_eq!(definition.instructions, "Write short poems.One line.\n");
    assert_eq!(definition.model.len(), 4);
    assert_eq!(definition.model[3], ModelChoice::Named("openrouter/meta/llama-3:free".to_owned()));
    assert_eq!((definition.max_steps, definition.enabled), (7, false));
    assert_eq!(definition.on_disconnect, OnDisconnect::Finish);
    assert_eq!(definition.resource.as_str(), "team:verse");
    let memory = definition.memory.unwrap();
    assert_eq!((memory.window.last_messages, memory.window.max_tokens), (0, Some(8000)));
    assert_eq!(memory.config["window"], 20);
    let settings = definition.model_settings;
    assert_eq!(settings.temperature, Some(1.0));
    assert_eq!(settings.timeout, Some(std::time::Duration::from_secs(120)));
    let options = serde_json::to_string(&settings.provider_options).unwrap();
    assert_eq!(options, r#"{"logprobs":true,"nested":{"z":1,"a":[1,2.5]}}"#, "in the order written");
    let tool = &definition.tool_settings["weather:get_forecast"];
    assert_eq!(serde_json::to_string(&tool.own).unwrap(), r#"{"region":"eu"}"#);
    let source = &loaded.positions.source;
    assert_eq!(&source[loaded.positions.tools[1].clone()], "\"weather:get_forecast\"");
    assert_eq!(&source[loaded.positions.agents[0].clone()], "\"chat-agent\"");
    assert_eq!(&source[loaded.positions.model[1].clone()], "\"openai/gpt-4o\"");
    assert_eq!(&source[loaded.positions.memory_factory.clone().unwrap()], "\"create_memory\"");
    assert_eq!(&source[loaded.positions.setting("weather:get_forecast", "region").unwrap()], "\"eu\"");
}

#[test]
fn every_key_of_memory_reaches_the_definition() {
    let memory = |name: &str| {
        let bytes = golden::files().into_iter().find(|(found, _)| found == name).unwrap().1;
        golden::load(name, &bytes).definition.unwrap().memory.unwrap()
    };
    let full = memory("good_memory_full");
    assert!(full.generate_title);
    let expected = RecallConfig {
        top_k: 6,
        before: 2,
        after: 0,
        scope: Scope::Thread,
        threshold: 0.25,
        embedder: Some("openai/text-embedding-3-small".to_owned()),
        roles: vec![Role::User],
        max_age: Some(std::time::Duration::from_secs(90 * 86_400)),
    };
    assert_eq!(full.recall, Some(expected));
    let form = WorkingForm::Template("# Preferences\n- ".to_owned());
    assert_eq!(full.working, Some(WorkingConfig { scope: Scope::Thread, form, read_only: true }));
    let schema = memory("good_memory_schema");
    assert_eq!(schema.recall, Some(RecallConfig { before: 3, after: 3, ..RecallConfig::default() }));
    let working = schema.working.unwrap();
    assert_eq!((working.scope, working.read_only), (Scope::Resource, false));
    let WorkingForm::Schema(fields) = working.form else { panic!("a schema") };
    assert_eq!(fields["properties"]["name"]["type"], "string");
    let empty = load(
        "id = \"a\"\ninstructions = \"x\"\n[memory]\nfactory = \"f\"\n[memory.semantic_recall]\n[memory.working_memory]\n",
    );
    let memory = empty.definition.unwrap().memory.unwrap();
    assert_eq!(memory.recall, Some(RecallConfig::default()));
    assert_eq!(memory.working.map(|working| working.form), Some(WorkingForm::Template(DEFAULT_TEMPLATE.to_owned())));
}

#[test]
fn left_out_keys_have_their_defaults() {
    let definition = load("id = \"a\"\ninstructions = \"x\"\n").definition.unwrap();
    assert_eq!(definition.name, "a");
    assert_eq!(definition.model, vec![ModelChoice::Named("default".to_owned())]);
    assert_eq!((definition.max_steps, definition.enabled), (5, true));
    assert_eq!(definition.resource.as_str(), "ai-chat");
    assert!(definition.memory.is_none());
}

#[test]
fn what_is_too_large_or_too_deep_is_refused_before_it_is_parsed() {
    let code = |text: &str| load(text).problems[0].code;
    assert_eq!(code(&" ".repeat(50 * 1024 * 1024)), "file_too_large");
    let lists = format!("id = {}", "[".repeat(100_000));
    assert_eq!(code(&lists), "nested_too_deep");
    assert_eq!(code(&format!("id = {}", "{a=".repeat(100_000))), "nested_too_deep");
    assert_eq!(code(&format!("{}a = 1", "a.".repeat(100_000))), "nested_too_deep");
    assert_eq!(code(&format!("[{}a]", "a.".repeat(100_000))), "nested_too_deep");
    assert_eq!(code(&format!("a = {{{}a = 1}}", "a.".repeat(100_000))), "nested_too_deep");
    let many = "a = [1]\n".repeat(100);
    assert_ne!(code(&many), "nested_too_deep", "many beside each other are not deep");
}

#[test]
fn times_and_sizes() {
    let millis = |text: &str| units::duration(text).ok().map(|time| time.as_millis());
    assert_eq!(millis("500ms"), Some(500));
    assert_eq!(millis("2m"), Some(120_000));
    assert_eq!(millis("14d"), Some(14 * 86_400_000));
    assert_eq!(millis("0s"), None);
    assert_eq!(millis("5"), None);
    assert_eq!(units::size("4MiB"), Ok(4 * 1024 * 1024));
    assert_eq!(units::size("1kB"), Ok(1000));
    assert!(units::size("4 MiB").is_err());
}

#[test]
fn suggestions_are_near() {
    assert_eq!(suggest("max_step", ["name", "max_steps"]), Some("max_steps"));
    assert_eq!(suggest("maxSteps", ["max_steps"]), Some("max_steps"));
    assert_eq!(suggest("colour", ["name", "id"]), None);
}

fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "id = \"a\"",
        "instructions",
        "=",
        "\"",
        "\"\"\"",
        "'''",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        ".",
        "tools",
        "memory",
        "\\",
        "\\u",
        "漢",
        "#",
        "1",
        "true",
        " ",
        "\r",
        "[memory]",
        "a.b",
        "<<<<<<<",
        "::",
        "1979-05-27",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn nothing_written_makes_the_loader_fall(text in pieces()) {
        let loaded = load(&text);
        prop_assert!(loaded.definition.is_some() || !loaded.problems.is_empty());
        for problem in &loaded.problems {
            if let Some(span) = &problem.span {
                prop_assert!(loaded.positions.source.get(span.clone()).is_some(), "{problem}");
            }
        }
    }

    #[test]
    fn no_bytes_make_the_loader_fall(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let loaded = load(&bytes);
        prop_assert!(loaded.definition.is_some() || !loaded.problems.is_empty());
    }
}

#[test]
fn a_large_file_of_noise_costs_no_minutes() {
    let text = "= x\n".repeat(200_000);
    let loaded = load_agent("agents/noise.toml", text.as_bytes(), &|_: &str| Err(Unreadable::Missing));
    assert_eq!(loaded.problems.len(), 101);
    assert_eq!(loaded.problems.last().map(|problem| problem.code), Some("more_problems"));
}

/// An editor that has truncated the file and not written it yet: never taken for what the agent is to do.
#[test]
fn an_empty_instructions_file_is_an_error() {
    for text in ["", " \n"] {
        let read = |_: &str| Ok(text.as_bytes().to_vec());
        let loaded = load_agent("agents/a.toml", b"id = \"a\"\ninstructions_file = \"a.md\"\n", &read);
        assert!(loaded.definition.is_none());
        assert_eq!(loaded.problems[0].to_string(), "agents/a.toml:2:21: error[empty]: `a.md` is empty");
    }
}
