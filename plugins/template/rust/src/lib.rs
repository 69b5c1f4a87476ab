//! What this plugin adds to an agent, in one sentence.
#![forbid(unsafe_code)]

use roster_sdk::prelude::*;

/// `[plugins.my-plugin.config]` in config/runtime.toml; the runtime checks it before the plugin sees it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// What a greeting begins with.
    #[serde(default = "hello")]
    greeting: String,
}

fn hello() -> String {
    "Hello".to_owned()
}

/// What the model writes to call the tool. The comments become part of what the model is told.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ask {
    /// Whom to greet.
    name: String,
}

/// What the tool answers.
#[derive(Serialize, JsonSchema)]
struct Greeting {
    text: String,
}

struct MyPlugin {
    greeting: String,
}

impl Plugin for MyPlugin {
    type Config = Config;

    fn create(host: Host, config: Config) -> Result<Self> {
        host.info("made");
        Ok(Self { greeting: config.greeting })
    }

    fn register(r: &mut Registry<Self>) {
        r.tool("greet", "Greets a person by name.", |p, ask: Ask, _cx| {
            if ask.name.trim().is_empty() {
                return Err(Error::invalid("`name` is empty"));
            }
            Ok(Greeting { text: format!("{}, {}!", p.greeting, ask.name.trim()) })
        })
        .idempotent();
    }
}

export_plugin!(MyPlugin, id = "com.example.my-plugin", blocking = true);

#[cfg(test)]
mod tests {
    use roster_sdk::testing::Harness;

    use super::*;

    #[test]
    fn it_greets() {
        let plugin = Harness::<MyPlugin>::new(json!({ "greeting": "Good morning" })).expect("a plugin");
        let answer = plugin.tool("greet", json!({ "name": "Ann" })).expect("a greeting");
        assert_eq!(answer, json!({ "text": "Good morning, Ann!" }));
    }

    #[test]
    fn nobody_is_not_greeted() {
        let plugin = Harness::<MyPlugin>::new(json!({})).expect("a plugin");
        let error = plugin.tool("greet", json!({ "name": " " })).expect_err("nobody");
        assert_eq!(error.to_string(), "`name` is empty");
    }
}
