//! What a run says: figures by scenario with the conditions they were measured under, as a table and as JSON.

use std::fmt::Write;

use serde::Serialize;

use crate::conditions::Conditions;
use crate::sample;

/// Widest line of the table, in characters.
pub const WIDTH: usize = 80;

/// What a figure is wanted to be.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// This or less.
    AtMost(f64),
    /// This or more.
    AtLeast(f64),
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Self::AtMost(limit) => value <= limit,
            Self::AtLeast(limit) => value >= limit,
        }
    }
}

/// One measured value.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// What it is: `streamed: added p50`.
    pub name: String,
    /// `ms`, `turns/s`, `MiB`, `x`; empty for what was counted.
    pub unit: &'static str,
    /// The value quoted: the median of the rounds where there were several.
    pub value: f64,
    /// The value of each round, in the order they were run; empty when it was measured once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<f64>,
    /// What it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Whether it is what it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
}

impl Figure {
    /// A value measured once.
    #[must_use]
    pub fn new(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit, value, rounds: Vec::new(), target: None, met: None }
    }

    /// The median of rounds.
    #[must_use]
    pub fn of_rounds(name: impl Into<String>, unit: &'static str, rounds: Vec<f64>) -> Self {
        let value = sample::median(&rounds);
        Self { rounds, ..Self::new(name, unit, value) }
    }

    /// Sets what it should be.
    #[must_use]
    pub fn target(self, target: Target) -> Self {
        Self { target: Some(target), met: Some(target.is_met(self.value)), ..self }
    }

    fn verdict(&self) -> String {
        let met = if self.met == Some(true) { "met" } else { "MISSED" };
        match self.target {
            None => String::new(),
            Some(Target::AtMost(limit)) => format!("<= {limit} {met}"),
            Some(Target::AtLeast(limit)) => format!(">= {limit} {met}"),
        }
    }
}

/// What became of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Its name.
    pub scenario: &'static str,
    /// What it measured.
    pub figures: Vec<Figure>,
    /// Why it gave no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A whole run.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Under what it was measured.
    pub conditions: Conditions,
    /// The scenarios, in the order they were run.
    pub outcomes: Vec<Outcome>,
}

impl Report {
    /// Whether every scenario gave its figures.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.error.is_none())
    }

    /// For people: at most [`WIDTH`] characters a line.
    #[must_use]
    pub fn table(&self) -> String {
        let mut lines = self.conditions.lines();
        for outcome in &self.outcomes {
            lines.push(String::new());
            lines.push(outcome.scenario.to_owned());
            lines.extend(outcome.figures.iter().map(figure_line));
            if let Some(error) = &outcome.error {
                lines.extend(error.lines().map(|line| format!("  failed: {line}")));
            }
        }
        lines.iter().fold(String::new(), |mut table, line| {
            // Writing into a string cannot fail.
            let _ = writeln!(table, "{}", shortened(line));
            table
        })
    }

    /// For programs.
    ///
    /// # Errors
    /// Never with the values here; the library's own check is passed on.
    pub fn json(&self) -> anyhow::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

fn figure_line(figure: &Figure) -> String {
    // What has no unit was counted.
    let value = if figure.unit.is_empty() { format!("{:.0}", figure.value) } else { number(figure.value) };
    let line = format!("  {:<41}{value:>10} {:<8} {}", figure.name, figure.unit, figure.verdict());
    line.trim_end().to_owned()
}

/// About four digits that mean something.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 => 0,
        size if size >= 10.0 => 1,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

fn shortened(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    line.chars().take(WIDTH - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests;
