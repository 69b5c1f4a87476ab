//! Which model a name means.

use std::collections::HashSet;
use std::fmt;

use indexmap::IndexMap;
use roster_engine::definition::suggest;

use super::shapes::MODEL;

/// The provider that is always there.
pub const DEMO: &str = "demo";
/// The models it has.
const DEMO_MODELS: [&str; 3] = roster_provider::demo::MODELS;

/// What `[models]` and `ROSTER_MODEL` say about names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelNames {
    aliases: IndexMap<String, ResolvedModel>,
    /// Aliases whose text came from a variable: people are shown the alias alone.
    hidden: HashSet<String>,
    providers: Vec<String>,
}

/// A model at its provider, or of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedModel {
    /// The provider's name in `[models.providers]`, or `demo`; with `of_plugin` the plugin's in `[plugins]`.
    pub provider: String,
    /// The provider's own name of the model; may hold further `/`.
    pub model: String,
    /// Whether it is a plugin's, whoever else may have that name.
    pub of_plugin: bool,
}

/// `provider/model`, or `plugin:model`.
impl fmt::Display for ResolvedModel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = if self.of_plugin { ':' } else { '/' };
        write!(out, "{}{between}{}", self.provider, self.model)
    }
}

/// Why a name means no model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ModelFault {
    /// Machine code: `unknown_provider`, `unknown_model`, `bad_model`, `not_available_yet`.
    pub code: &'static str,
    /// A lowercase fragment that names the name.
    pub message: String,
    /// What to do.
    pub help: String,
}

impl ModelNames {
    /// Knows these providers, besides `demo`, and the alias `default`, which is `demo/pro`.
    #[must_use]
    pub fn new(providers: impl IntoIterator<Item = String>) -> Self {
        let providers = std::iter::once(DEMO.to_owned()).chain(providers).collect();
        let default = ResolvedModel { provider: DEMO.to_owned(), model: "pro".to_owned(), of_plugin: false };
        Self { aliases: IndexMap::from([("default".to_owned(), default)]), hidden: HashSet::new(), providers }
    }

    /// Lets `alias` mean what `name` means.
    ///
    /// # Errors
    /// [`ModelFault`] when `name` means nothing.
    pub fn set(&mut self, alias: &str, name: &str) -> Result<(), ModelFault> {
        let target = self.resolve(name)?;
        self.aliases.insert(alias.to_owned(), target);
        self.hidden.remove(alias);
        Ok(())
    }

    /// The same for a name that a variable held: what it is appears in no status, log or message.
    ///
    /// # Errors
    /// As [`ModelNames::set`].
    pub fn set_hidden(&mut self, alias: &str, name: &str) -> Result<(), ModelFault> {
        self.set(alias, name)?;
        self.hidden.insert(alias.to_owned());
        Ok(())
    }

    /// What people are shown of the model that `name` means.
    #[must_use]
    pub fn shown(&self, name: &str, model: &ResolvedModel) -> String {
        if self.hidden.contains(name) { name.to_owned() } else { model.to_string() }
    }

    /// The aliases, in the order of the file, `default` first.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &ResolvedModel)> {
        self.aliases.iter().map(|(name, model)| (name.as_str(), model))
    }

    /// The model that `name` means: with `/` provider and model (cut at the first), else with `:` a plugin's, else an
    /// alias. `demo` has three models; of every other provider any is taken, since it alone knows which it has.
    ///
    /// # Errors
    /// [`ModelFault`], with what was probably meant and what is known.
    pub fn resolve(&self, name: &str) -> Result<ResolvedModel, ModelFault> {
        if let Some((provider, model)) = name.split_once('/') {
            if let Err(fault) = (MODEL.check)(name) {
                let message = format!("`{name}` {}", fault.message);
                return Err(ModelFault { code: MODEL.code, message, help: fault.help.unwrap_or_default() });
            }
            if self.providers.iter().any(|known| known == provider) {
                if provider == DEMO && !DEMO_MODELS.contains(&model) {
                    return Err(unknown_demo(model));
                }
                return Ok(ResolvedModel { provider: provider.to_owned(), model: model.to_owned(), of_plugin: false });
            }
            return Err(self.unknown_provider(provider));
        }
        if let Some(alias) = self.aliases.get(name) {
            return Ok(alias.clone());
        }
        if let Some((plugin, model)) = name.split_once(':') {
            if let Err(fault) = (MODEL.check)(name) {
                let message = format!("`{name}` {}", fault.message);
                return Err(ModelFault { code: MODEL.code, message, help: fault.help.unwrap_or_default() });
            }
            // Whether it has such a model shows when an agent wants it.
            return Ok(ResolvedModel { provider: plugin.to_owned(), model: model.to_owned(), of_plugin: true });
        }
        Err(self.unknown_alias(name))
    }

    fn unknown_provider(&self, provider: &str) -> ModelFault {
        let known = self.providers.join(", ");
        let help = match suggest(provider, self.providers.iter().map(String::as_str)) {
            Some(meant) => format!("did you mean `{meant}`? Known providers: {known}"),
            None => format!(
                "known providers: {known}; others stand under [models.providers.{provider}] in config/runtime.toml"
            ),
        };
        ModelFault { code: "unknown_provider", message: format!("unknown provider `{provider}`"), help }
    }

    fn unknown_alias(&self, name: &str) -> ModelFault {
        let known: Vec<&str> = self.aliases.keys().map(String::as_str).collect();
        let known_text = known.join(", ");
        let help = match suggest(name, known) {
            Some(meant) => format!("did you mean `{meant}`? Known aliases: {known_text}; or write \"provider/model\""),
            None => format!("known aliases: {known_text}; or write \"provider/model\""),
        };
        ModelFault { code: "unknown_model", message: format!("unknown model alias `{name}`"), help }
    }
}

fn unknown_demo(model: &str) -> ModelFault {
    let help = match suggest(model, DEMO_MODELS) {
        Some(meant) => format!("did you mean `{DEMO}/{meant}`?"),
        None => format!("it has {}", DEMO_MODELS.map(|name| format!("`{DEMO}/{name}`")).join(", ")),
    };
    ModelFault { code: "unknown_model", message: format!("provider `{DEMO}` has no model `{model}`"), help }
}
