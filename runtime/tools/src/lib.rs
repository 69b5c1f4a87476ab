//! Built-in tools: what an agent may use without a plugin.
//!
//! Each tool is made from its own settings in a definition (`[tool_settings.get_weather]`) by a maker; the client and
//! the clock are handed in, so that nothing here opens a socket or reads the time on its own account. Reading order:
//! [`time`], [`weather`], [`docs`], [`web`], [`settings`].

mod arguments;
pub mod docs;
pub mod settings;
pub mod time;
pub mod weather;
pub mod web;

use std::sync::Arc;

use roster_model::time::Clock;
use roster_model::tool::ToolMaker;

/// What the tools are made with.
pub struct Kit {
    /// The process's HTTP client; its proxy and redirect rules hold for `get_weather`.
    pub client: reqwest::Client,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Hands over the project's documents.
    pub folders: Arc<dyn docs::Folders>,
    /// Makes `http_fetch`, which has clients of its own.
    pub fetch: web::FetchMaker,
}

/// The built-in tools by the name definitions write, in the order they are listed to people.
#[must_use]
pub fn builtin(kit: Kit) -> Vec<(String, Arc<dyn ToolMaker>)> {
    let Kit { client, clock, folders, fetch } = kit;
    vec![
        (time::NAME.to_owned(), Arc::new(time::TimeMaker::new(clock))),
        (weather::NAME.to_owned(), Arc::new(weather::WeatherMaker::new(client))),
        (docs::NAME.to_owned(), Arc::new(docs::DocsMaker::new(folders))),
        (web::NAME.to_owned(), Arc::new(fetch)),
    ]
}

#[cfg(test)]
mod tests;
