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

    /// What to say of a tool that is not there; `None`: nobody looked. An error where none can ever come, a warning
    /// where it may join later.
    pub(super) fn absent(
        self,
        positions: &Positions,
        span: Option<Range<usize>>,
        catalog: &Catalog,
    ) -> Option<Problem> {
        let Self { written, plugin } = self;
        let say = |code, message: String| {
            if self.is_configured(catalog) {
                positions.warning(code, span, message)
            } else {
                positions.error(code, span, message)
            }
        };
        let joins = "the agent serves without it; it joins when the plugin is there";
        match catalog.plugins.standing.get(plugin) {
            Some(PluginStanding::Unasked) => None,
            None => {
                let message = format!("tool `{written}`: there is no plugin `{plugin}` in config/runtime.toml");
                let keys = catalog.plugins.standing.keys();
                let help = match keys.len() {
                    0 => format!("add [plugins.{plugin}] there"),
                    _ => known(plugin, keys, "plugins"),
                };
                Some(say("unknown_plugin", message).help(help))
            }
            Some(PluginStanding::Absent(reason)) => {
                let message = format!("tool `{written}` is not there now: plugin `{plugin}` {reason}");
                Some(say("plugin_absent", message).help(joins))
            }
            Some(PluginStanding::Here) => {
                let prefix = format!("{plugin}:");
                let own = catalog.tools.keys().map(String::as_str).filter(|name| name.starts_with(&prefix));
                let help = match suggest(written, own) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => joins.to_owned(),
                };
                Some(say("plugin_without", format!("plugin `{plugin}` has no tool `{written}`")).help(help))
            }
        }
    }
}
