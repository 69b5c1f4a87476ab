//! Built-in tools: what an agent may use without a plugin.
//!
//! Each tool is made from its own settings in a definition (`[tool_settings.get_weather]`) by a maker; the client and
//! the clock are handed in, so that nothing here opens a socket or reads the time on its own account. Reading order:
//! [`time`], [`weather`], [`settings`].

mod arguments;
pub mod settings;
pub mod time;
pub mod weather;

use std::sync::Arc;

use roster_model::time::Clock;
use roster_model::tool::ToolMaker;

/// The built-in tools by the name definitions write, in the order they are listed to people.
///
/// `client` is the process's HTTP client; its proxy and redirect rules hold for every tool that asks the network.
#[must_use]
pub fn builtin(client: reqwest::Client, clock: Arc<dyn Clock>) -> Vec<(String, Arc<dyn ToolMaker>)> {
    vec![
        (time::NAME.to_owned(), Arc::new(time::TimeMaker::new(clock))),
        (weather::NAME.to_owned(), Arc::new(weather::WeatherMaker::new(client))),
    ]
}

#[cfg(test)]
mod tests;
