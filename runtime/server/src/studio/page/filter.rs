//! Which agents of a long registry the page shows.

use roster_engine::registry::{AgentState, Entry};

use crate::http::query::Params;

/// How an agent stands, in a word for people. In the order the page counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    Serving,
    LastGood,
    Rejected,
    Disabled,
    Gone,
}

impl Standing {
    pub(super) const ALL: [Self; 5] = [Self::Serving, Self::LastGood, Self::Rejected, Self::Disabled, Self::Gone];

    pub(super) fn of(entry: &Entry) -> Self {
        match entry.state {
            _ if entry.gone => Self::Gone,
            AgentState::Serving => Self::Serving,
            AgentState::ServingLastGood => Self::LastGood,
            AgentState::Rejected => Self::Rejected,
            AgentState::Disabled => Self::Disabled,
        }
    }

    /// The word in addresses and in the style.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::LastGood => "last-good",
            Self::Rejected => "rejected",
            Self::Disabled => "disabled",
            Self::Gone => "gone",
        }
    }

    /// The words for people.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Serving => "serving",
            Self::LastGood => "last good version",
            Self::Rejected => "rejected",
            Self::Disabled => "disabled",
            Self::Gone => "file missing",
        }
    }
}

/// What the address asks for: `?q=<part of id or name>&state=<key>`. An unknown state is no filter.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) words: String,
    pub(super) standing: Option<Standing>,
}

impl Filter {
    pub(super) fn of(params: &Params) -> Self {
        let standing = params.text("state").and_then(|key| Standing::ALL.into_iter().find(|one| one.key() == key));
        Self { words: params.text("q").unwrap_or_default().trim().to_owned(), standing }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.standing.is_none()
    }

    pub(super) fn takes(&self, entry: &Entry) -> bool {
        let words = self.words.to_lowercase();
        let name = entry.agent.as_ref().map(|agent| agent.definition.name.to_lowercase()).unwrap_or_default();
        let named = entry.id.as_str().contains(&words) || name.contains(&words);
        named && self.standing.is_none_or(|standing| standing == Standing::of(entry))
    }
}
