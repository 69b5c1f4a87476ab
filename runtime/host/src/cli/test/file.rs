//! `agents/*.test.toml`: what is said to an agent, and what is expected of it.

use std::collections::HashSet;

use regex::Regex;
use roster_engine::turn::FinishReason;
use roster_model::time::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A test file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TestFile {
    /// The agent; left out: the file's name before `.test.toml`.
    pub(super) agent: Option<String>,
    /// The moment at which the clock stands for tools and messages; left out: [`NOW`].
    pub(super) now: Option<Timestamp>,
    /// Tools that are not run: what they answer instead.
    #[serde(default)]
    pub(super) tools: Vec<Stub>,
    /// The conversations.
    pub(super) tests: Vec<Test>,
}

/// 2030-01-01T12:00:00.000Z in milliseconds since the epoch.
pub(super) const NOW: i64 = 1_893_499_200_000;

/// What a tool answers instead of being run.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Stub {
    /// The tool, as definitions write it.
    pub(super) name: String,
    /// Only for calls whose arguments hold these.
    #[serde(default)]
    pub(super) when: Map<String, Value>,
    /// Its result.
    pub(super) result: Option<Value>,
    /// Or how it fails.
    pub(super) error: Option<String>,
}

/// A conversation in a thread of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// For people; no other of the file is called so.
    pub(super) name: String,
    /// What is said, in order.
    pub(super) turns: Vec<Turn>,
}

/// What is said, and what is expected then.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// What the person says.
    pub(super) say: String,
    /// The calls of tools, all of them and in order; left out: any.
    pub(super) calls: Option<Vec<ExpectedCall>>,
    /// Texts the answer holds.
    #[serde(default)]
    pub(super) contains: Vec<String>,
    /// Texts the answer does not hold.
    #[serde(default)]
    pub(super) lacks: Vec<String>,
    /// Regular expressions found in the answer.
    #[serde(default)]
    pub(super) matches: Vec<Pattern>,
    /// How the turn ends.
    #[serde(default)]
    pub(super) finish: Finish,
    /// Model calls of the agent itself at most.
    pub(super) max_model_calls: Option<usize>,
    /// Tokens of the whole turn at most, as the provider counts them.
    pub(super) max_tokens: Option<u64>,
}

/// A call that is expected.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedCall {
    /// The tool as definitions write it, or as the model is offered it.
    pub(super) tool: String,
    /// Arguments it has; it may have others too.
    #[serde(default)]
    pub(super) arguments: Map<String, Value>,
}

/// A regular expression that was understood.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(pub(super) Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Regex::new(&text).map(Self).map_err(|error| format!("no regular expression: {error}"))
    }
}

/// How a turn is expected to end; the words are those of the doors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Finish {
    #[default]
    Stop,
    Length,
    ToolCalls,
    ContentFilter,
    Suspended,
    /// It fails.
    Error,
}

impl Finish {
    pub(super) fn reason(self) -> FinishReason {
        match self {
            Self::Stop => FinishReason::Stop,
            Self::Length => FinishReason::Length,
            Self::ToolCalls => FinishReason::ToolCalls,
            Self::ContentFilter => FinishReason::ContentFilter,
            Self::Suspended => FinishReason::Suspended,
            Self::Error => FinishReason::Error,
        }
    }
}

/// Reads a test file.
///
/// # Errors
/// What is wrong with it, with the line where there is one.
pub(super) fn parse(bytes: &[u8]) -> Result<TestFile, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "the file is no UTF-8 text".to_owned())?;
    let file: TestFile = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    check(&file)?;
    Ok(file)
}

fn check(file: &TestFile) -> Result<(), String> {
    if file.tests.is_empty() {
        return Err("there is no test in it: write at least one [[tests]]".to_owned());
    }
    for stub in &file.tools {
        if stub.result.is_some() == stub.error.is_some() {
            return Err(format!("[[tools]] of `{}` needs either `result` or `error`", stub.name));
        }
    }
    let mut names = HashSet::new();
    for test in &file.tests {
        let name = &test.name;
        if !names.insert(name) {
            return Err(format!("two tests are called \"{name}\": give one of them another name"));
        }
        if test.turns.is_empty() {
            return Err(format!("test \"{name}\" says nothing: write at least one [[tests.turns]] with `say`"));
        }
        if test.turns.iter().any(|turn| turn.say.trim().is_empty()) {
            return Err(format!("test \"{name}\" has a turn whose `say` is empty"));
        }
    }
    Ok(())
}
