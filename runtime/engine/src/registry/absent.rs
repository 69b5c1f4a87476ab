//! Names of plugins' contributions that are not there: whether they may still come, and what to say.

use std::ops::Range;

use super::catalog::{Catalog, PluginStanding};
use super::resolve::known;
use crate::definition::{Positions, Problem, suggest};

/// `plugin:contribution`.
#[derive(Clone, Copy)]
pub(super) struct PluginName<'a> {
    written: &'a str,
    plugin: &'a str,
}

impl<'a> PluginName<'a> {
    /// Reads a name; `None` when it means no plugin's contribution.
    pub(super) fn of(written: &'a str) -> Option<Self> {
        let (plugin, _) = written.split_once(':').filter(|(plugin, _)| *plugin != "mcp")?;
        Some(Self { written, plugin })
    }

    /// Whether its plugin is in the configuration, so that it may come.
    pub(super) fn is_configured(self, catalog: &Catalog) -> bool {
        catalog.plugins.standing.contains_key(self.plugin)
    }

    /// What to say of it; `None`: nobody looked. An error where nothing can ever come or the agent cannot be without
    /// it, a warning for a tool that may join later.
    pub(super) fn absent(
        self,
        noun: &str,
        positions: &Positions,
        span: Option<Range<usize>>,
        catalog: &Catalog,
    ) -> Option<Problem> {
        let Self { written, plugin } = self;
        let say = |code, message: String| match noun {
            "tool" if self.is_configured(catalog) => positions.warning(code, span, message),
            _ => positions.error(code, span, message),
        };
        let joins = match noun {
            "tool" => "the agent serves without it; it joins when the plugin is there",
            _ => "the agent is served when the plugin is there",
        };
        match catalog.plugins.standing.get(plugin) {
            Some(PluginStanding::Unasked) => None,
            None => {
                let message = format!("{noun} `{written}`: there is no plugin `{plugin}` in config/runtime.toml");
                let keys = catalog.plugins.standing.keys();
                let help = match keys.len() {
                    0 => format!("add [plugins.{plugin}] there"),
                    _ => known(plugin, keys, "plugins"),
                };
                Some(say("unknown_plugin", message).help(help))
            }
            Some(PluginStanding::Absent(reason)) => {
                let message = format!("{noun} `{written}` is not there now: plugin `{plugin}` {reason}");
                Some(say("plugin_absent", message).help(joins))
            }
            Some(PluginStanding::Here) => {
                let prefix = format!("{plugin}:");
                let names: Vec<&str> =
                    catalog.tools.keys().chain(catalog.factories.keys()).map(String::as_str).collect();
                let own = names.into_iter().filter(|name| name.starts_with(&prefix));
                let help = match suggest(written, own) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => joins.to_owned(),
                };
                Some(say("plugin_without", format!("plugin `{plugin}` has no {noun} `{written}`")).help(help))
            }
        }
    }
}
