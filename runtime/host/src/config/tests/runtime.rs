//! `config/runtime.toml`.

use std::path::PathBuf;
use std::time::Duration;

use crate::config::{Auth, LoadedRuntime, Proof, ProviderKey, RuntimeConfig, is_open, load_runtime};

fn variable(name: &str) -> Option<String> {
    match name {
        "USER" => Some("x".to_owned()),
        "KEY_A" => Some("k$USER".to_owned()),
        "ADDR" => Some("127.0.0.1:0".to_owned()),
        "BAD" => Some("hidden-value".to_owned()),
        _ => None,
    }
}

fn load(text: &str) -> LoadedRuntime {
    load_runtime(format!("[project]\nname = \"p\"\n{text}").as_bytes(), &variable)
}

fn good(text: &str) -> RuntimeConfig {
    let loaded = load(text);
    loaded.config.unwrap_or_else(|| panic!("{:?}", loaded.problems))
}

/// The codes and places of the problems, and whether something stops the start.
fn check(text: &str, expected: &[&str], starts: bool) {
    let loaded = load(text);
    let found: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| format!("{}:{} {}", problem.line.unwrap_or(0), problem.column.unwrap_or(0), problem.code))
        .collect();
    assert_eq!(found, expected, "{text}\n{:?}", loaded.problems);
    assert_eq!(loaded.config.is_some(), starts, "{text}\n{:?}", loaded.problems);
}

#[test]
fn everything_but_the_project_has_a_default() {
    let config = good("");
    assert_eq!(config.gateway.listen, "127.0.0.1:8787".parse().unwrap());
    assert_eq!(config.studio.listen, "127.0.0.1:4111".parse().unwrap());
    assert_eq!(config.storage.sessions, PathBuf::from(".temp/roster.db"));
    assert_eq!(config.storage.observability, PathBuf::from(".temp/observability.db"));
    assert_eq!(config.auth, Auth::None { allow_open: false });
    assert_eq!(config.limits.body, 4 * 1024 * 1024);
    assert_eq!(config.limits.turn_timeout, Duration::from_secs(180));
    assert_eq!((config.limits.concurrent_turns, config.limits.requests_per_minute), (512, 0));
    assert_eq!(config.observability.retention, Duration::from_secs(14 * 86_400));
    assert_eq!((config.observability.max_size, config.observability.sample), (1 << 30, 1.0));
    let default = config.models.resolve("default").unwrap();
    assert_eq!((default.provider.as_str(), default.model.as_str()), ("demo", "pro"));
    assert!(load_runtime(b"", &variable).config.is_none(), "[project] is needed");
}

#[test]
fn what_a_variable_in_an_alias_holds_is_quoted_nowhere() {
    let loaded = load("[models]\nfast = \"${BAD}/m\"\n");
    let said = format!("{:?}", loaded.problems);
    assert!(said.contains("what the variable in `models.fast` holds names no model"), "{said}");
    assert!(!said.contains("hidden-value"), "{said}");
}

#[test]
fn only_braced_variables_in_values_expand_and_only_once() {
    let key = |value: &str| {
        let text = format!("[models.providers.p]\nbase_url = \"http://h\"\napi_key = '{value}' # needs ${{OTHER}}\n");
        match good(&text).providers[0].key.clone() {
            ProviderKey::Set(secret) => secret.expose().to_owned(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(key("S3cret$USER!"), "S3cret$USER!");
    assert_eq!(key("pa$$word"), "pa$$word");
    assert_eq!(key("${KEY_A}"), "k$USER");
    assert_eq!(key("$${USER}"), "${USER}");
    assert_eq!(good("[gateway]\nlisten = \"${ADDR}\"\n").gateway.listen.port(), 0);
}

#[test]
fn an_unset_variable_is_an_error_that_names_it_and_the_key() {
    let text = "[models.providers.p]\nbase_url = \"http://h\"\napi_key = \"${KEY_MISSING}\"\n";
    check(text, &["5:11 variable_missing"], false);
    let message = &load(text).problems[0].message;
    assert!(message.contains("`KEY_MISSING`") && message.contains("`models.providers.p.api_key`"), "{message}");
    check("[gateway]\nlisten = \"${}\"\n", &["4:10 bad_variable"], false);
    check("\"${KEY_MISSING}\" = 3 # ${KEY_MISSING}\n", &["3:1 unknown_key"], false);
}

#[test]
fn secrets_are_in_no_message_no_debug_and_no_source() {
    let texts = [
        "[models.providers.p]\nbase_url = \"http://h\"\napi_key = \"hidden-value\"\n",
        "[models.providers.p]\nbase_url = \"http://h\"\napi_key = hidden-value\n",
        "[models.providers.p]\nbase_url = \"http://h\"\napi_key = \"hidden-value\n",
        "[models.providers.p]\nbase_url = \"http://h\"\napi_key: hidden-value\n",
        "[models.providers.p]\nbase_url = \"http://h\"\napi_key = '''\nhidden-value'''\n",
        "[models.providers]\np = { base_url = \"http://h\", api_key=\"hidden-value\", dialect = \"x\" }\n",
        "[models.providers.p]\nbase_url = \"http://h\"\n\"api_key\" = \"hidden-value\"\n",
        "[models.providers.p]\nbase_url = \"${BAD}\"\ndialect = \"${BAD}\"\napi_key = \"${BAD}\"\n",
        "[gateway]\nlisten = \"${BAD}\"\ncors = [\"${BAD}\", \"${BAD}\"]\n[auth]\nmode = \"${BAD}\"\n",
        "[models]\ndefault = \"${BAD}\"\n[limits]\nbody = \"${BAD}\"\n[observability]\nsample = \"${BAD}\"\n",
    ];
    for text in texts {
        let loaded = load(text);
        let shown = format!("{loaded:?}");
        assert!(!shown.contains("hidden-value"), "{text}\n{shown}");
    }
    assert!(load("# api_key = \"${KEY_A}\"\n").source.contains("${KEY_A}"), "a variable's name is no secret");
}

#[test]
fn masking_keeps_places() {
    let text = "api_key = \"漢字-secret\" # api_key_env = \"NAME\"\n";
    let masked = crate::config::secret::mask(text);
    assert_eq!(masked.len(), text.len());
    assert_eq!(masked, format!("api_key = \"{}\" # api_key_env = \"NAME\"\n", "*".repeat("漢字-secret".len())));
}

#[test]
fn providers_and_their_keys() {
    let text = "[models]\nfast = \"p/small\"\n[models.providers.p]\nbase_url = \"http://h/v1/\"\napi_key_env = \"KEY_A\"\nstream = false\n";
    let config = good(text);
    let provider = &config.providers[0];
    assert_eq!((provider.name.as_str(), provider.base_url.as_str(), provider.stream), ("p", "http://h/v1", false));
    assert_eq!(config.models.resolve("fast").unwrap().model, "small");
    let base = "[models.providers.p]\nbase_url = \"http://h\"\n";
    check(&format!("{base}api_key_env = \"NOT_SET\"\n"), &["5:15 key_missing"], true);
    check(&format!("{base}api_key = \"sk-1\"\n"), &["5:1 literal_secret"], true);
    check(&format!("{base}api_key = \"${{KEY_A}}\"\n"), &[], true);
    check(&format!("{base}api_key = \"sk-1\"\napi_key_env = \"KEY_A\"\n"), &["5:1 conflict"], false);
    check(&format!("{base}dialect = \"claude\"\n"), &["5:11 unknown_value"], false);
    check(&format!("{base}proxy = \"p.example:3128\"\n"), &["5:9 bad_proxy"], false);
    check(&format!("{base}idle_timeout = \"0s\"\nca_file = \"\"\n"), &["5:16 bad_duration", "6:11 empty"], false);
    check("[models.providers.demo]\nbase_url = \"http://h\"\n", &["3:19 bad_provider"], false);
    check("[models.providers.p]\n", &["3:1 missing_key"], false);
}

#[test]
fn aliases_name_providers_that_are_there() {
    check(
        "[models]\ndefault = \"opneai/gpt\"\n[models.providers.openai]\nbase_url = \"http://h\"\n",
        &["4:11 unknown_provider"],
        false,
    );
    check("[models]\nfast = \"small\"\n", &["4:8 bad_model"], false);
    check("[models]\n\"a/b\" = \"demo/pro\"\n", &["4:1 bad_alias"], false);
}

#[test]
fn the_variable_overrides_the_default_model() {
    let with = |value: &'static str| {
        let environment = move |name: &str| (name == "ROSTER_MODEL").then(|| value.to_owned());
        let text = "[project]\n[models]\ndefault = \"demo/pro\"\nquick = \"demo/flash\"\n";
        load_runtime(text.as_bytes(), &environment)
    };
    let default = |loaded: LoadedRuntime| loaded.config.unwrap().models.resolve("default").unwrap().model;
    assert_eq!(default(with("demo/thinking")), "thinking");
    assert_eq!(default(with("quick")), "flash");
    assert_eq!(default(with("")), "pro");
    let unknown = with("nobody/x");
    assert!(unknown.config.is_none());
    assert!(unknown.problems[0].message.contains("ROSTER_MODEL"), "{:?}", unknown.problems);
    for wrong in ["demo/flahs", "demo/", "nothing"] {
        let problems = with(wrong).problems;
        assert_eq!(problems.len(), 1, "{wrong}: {problems:?}");
        assert!(problems[0].message.starts_with("the variable `ROSTER_MODEL` names no model: "), "{problems:?}");
    }
}

#[test]
fn an_alias_of_a_model_that_is_not_there_is_told_at_its_line() {
    check("[models]\ndefault = \"demo/flahs\"\n", &["4:11 unknown_model"], false);
    check("[models]\nunused = \"demo/nothing\"\n", &["4:10 unknown_model"], false);
}

#[test]
fn credentials_in_an_address_are_warned_of() {
    let provider = |url: &str| format!("[models.providers.a]\nbase_url = \"{url}\"\n");
    check(&provider("https://me:pw@example.org/v1"), &["4:12 literal_secret"], true);
    check(&provider("https://key@example.org"), &["4:12 literal_secret"], true);
    check(&provider("https://example.org/@v1"), &[], true);
}

#[test]
fn nobody_is_let_in_from_outside_by_accident() {
    check("[gateway]\nlisten = \"0.0.0.0:8787\"\n", &["4:10 open_to_everybody"], false);
    check("[studio]\nlisten = \"[::]:4111\"\n", &["4:10 open_to_everybody"], false);
    check("[gateway]\nlisten = \"localhost:0\"\n[studio]\nlisten = \"[::1]:0\"\n", &[], true);
    check("[gateway]\nlisten = \"0.0.0.0:8787\"\n[auth]\nallow_open = true\n", &[], true);
    check("[gateway]\ncors = [\"*\"]\n", &["4:9 open_to_everybody"], false);
    check("[gateway]\ncors = [\"https://a.example/\"]\n", &["4:9 bad_origin"], false);
    assert!(is_open(&Auth::None { allow_open: false }, "192.0.2.1:1".parse().unwrap()));
    assert!(!is_open(&Auth::Tokens(Vec::new()), "192.0.2.1:1".parse().unwrap()));
}

#[test]
fn tokens() {
    let hash = "ab".repeat(32);
    let text = format!(
        "[gateway]\nlisten = \"0.0.0.0:1\"\ncors = [\"*\"]\n[auth]\nmode = \"token\"\n[[auth.tokens]]\nsha256 = \"{hash}\"\nsubject = \"alice\"\n\
         [[auth.tokens]]\nenv = \"KEY_A\"\nsubject = \"bob\"\nresource = \"team\"\nscopes = [\"admin\"]\n"
    );
    let Auth::Tokens(tokens) = good(&text).auth else { panic!("token mode") };
    assert_eq!(tokens[0].proof, Proof::Sha256([0xab; 32]));
    assert_eq!(
        (tokens[0].resource.as_str(), tokens[0].scopes.as_slice()),
        ("user:alice", ["chat".to_owned()].as_slice())
    );
    assert!(matches!(&tokens[1].proof, Proof::Value(secret) if secret.expose() == "k$USER"));
    assert_eq!(tokens[1].resource.as_str(), "team");
    let token = |keys: &str| format!("[auth]\nmode = \"token\"\n[[auth.tokens]]\n{keys}\n");
    check("[auth]\nmode = \"token\"\n", &["4:8 no_tokens"], false);
    check("[auth]\nmode = \"jwt\"\n", &["4:8 not_available_yet"], false);
    check("[auth]\nmode = \"jwt\"\n[gateway]\nlisten = \"0.0.0.0:1\"\n", &["4:8 not_available_yet"], false);
    check(&token("subject = \"a\""), &["5:1 missing_key"], false);
    check(&token("subject = \"a\"\nenv = \"NOT_SET\""), &["7:7 variable_missing"], true);
    check(&token(&format!("subject = \"a\"\nenv = \"KEY_A\"\nsha256 = \"{hash}\"")), &["7:1 conflict"], false);
    check(
        &token("subject = \"a\"\nsha256 = \"abc\"\nscopes = [\"all\"]"),
        &["7:10 bad_token", "8:11 unknown_value"],
        false,
    );
    check(&format!("[[auth.tokens]]\nsubject = \"a\"\nsha256 = \"{hash}\"\n"), &["3:8 unused_tokens"], true);
}

#[test]
fn what_is_not_built_is_said_and_served_without() {
    let text = "[storage]\nobservability = \"duckdb:.temp/o.duckdb\"\n\
                [observability]\notlp_endpoint = \"http://h\"\n[auth.jwt]\nissuer = \"x\"\n";
    let loaded = load(text);
    let codes: Vec<&str> = loaded.problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, ["not_available_yet"; 3]);
    let config = loaded.config.unwrap();
    assert_eq!(config.storage.observability, PathBuf::from(".temp/observability.db"));
}

#[test]
fn all_problems_in_one_pass() {
    let text = "[gatway]\n[limits]\nbody = 4\nconcurrent_turns = 0\n[storage]\nsessions = \"roster.db\"\n[observability]\nsample = 2.0\nretention = \"0d\"\nlimits = 3\n";
    check(
        text,
        &[
            "3:2 unknown_key",
            "5:8 wrong_type",
            "6:20 out_of_range",
            "8:12 bad_storage",
            "10:10 out_of_range",
            "11:13 bad_duration",
            "12:1 misplaced_key",
        ],
        false,
    );
}

#[test]
fn a_model_is_fed_64_kib_of_a_result_or_what_is_asked_for() {
    assert_eq!(good("").limits.tool_result, 64 * 1024);
    assert_eq!(good("[limits]\ntool_result = \"1MiB\"\n").limits.tool_result, 1 << 20);
    check("[limits]\ntool_result = \"64B\"\n", &["4:15 bad_size"], false);
}

#[test]
fn polling_and_watching_can_be_turned_off() {
    let reload = |text: &str| {
        let reload = good(text).reload;
        (reload.watch, reload.poll)
    };
    assert_eq!(reload(""), (true, Some(Duration::from_secs(2))));
    assert_eq!(reload("[reload]\npoll = \"500ms\"\n"), (true, Some(Duration::from_millis(500))));
    assert_eq!(reload("[reload]\npoll = \"0s\"\n"), (true, None));
    assert_eq!(reload("[reload]\nwatch = false\npoll = false\n"), (false, None));
    check("[reload]\npoll = true\n", &["4:8 wrong_type"], false);
    check("[reload]\npoll = \"often\"\n", &["4:8 bad_duration"], false);
}
