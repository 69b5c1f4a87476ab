//! What can be measured. A new scenario is a file here and a line in [`ALL`].

mod direct;
mod in_flight;
mod long_thread;
mod many_agents;
mod memory;
mod plugin;
mod recall;
mod reload;
mod start;
mod stateless;
mod tools;

use anyhow::Result;
use roster_model::BoxFuture;

use crate::bench::Bench;
use crate::report::Figure;

/// A scenario measures one thing and gives figures, baseline included.
#[derive(Debug)]
pub struct Scenario {
    /// As the command line names it.
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Whether it starts the runtime, which is then built before anything is measured.
    pub starts_roster: bool,
    /// Runs it.
    pub run: for<'a> fn(&'a Bench) -> BoxFuture<'a, Result<Vec<Figure>>>,
}

/// All of them, in the order they are run.
pub static ALL: &[Scenario] = &[
    Scenario {
        name: "start",
        about: "from exec to both ready lines, and memory",
        starts_roster: true,
        run: |bench| Box::pin(start::run(bench)),
    },
    Scenario {
        name: "stateless",
        about: "what a turn without memory adds to a model call",
        starts_roster: true,
        run: |bench| Box::pin(stateless::run(bench)),
    },
    Scenario {
        name: "direct-64",
        about: "the model server alone at 64 connections, the ceiling",
        starts_roster: false,
        run: |bench| Box::pin(direct::run(bench)),
    },
    Scenario {
        name: "memory",
        about: "turns that are durable before `done`, at 64 connections",
        starts_roster: true,
        run: |bench| Box::pin(memory::run(bench)),
    },
    Scenario {
        name: "long-thread",
        about: "a turn in a thread of 1,000,000 messages against one of 100",
        starts_roster: true,
        run: |bench| Box::pin(long_thread::run(bench)),
    },
    Scenario {
        name: "recall",
        about: "what recall over 100,000 vectors of an owner adds to a turn",
        starts_roster: true,
        run: |bench| Box::pin(recall::run(bench)),
    },
    Scenario {
        name: "tools",
        about: "what a turn with four tool calls adds to its model calls",
        starts_roster: true,
        run: |bench| Box::pin(tools::run(bench)),
    },
    Scenario {
        name: "plugin",
        about: "a plugin's call in this process and in its own, and its start",
        starts_roster: true,
        run: |bench| Box::pin(plugin::run(bench)),
    },
    Scenario {
        name: "in-flight",
        about: "memory of 5,000 turns that wait for slow models",
        starts_roster: true,
        run: |bench| Box::pin(in_flight::run(bench)),
    },
    Scenario {
        name: "reload",
        about: "an agent saved in five ways under 200 requests a second",
        starts_roster: true,
        run: |bench| Box::pin(reload::run(bench)),
    },
    Scenario {
        name: "many-agents",
        about: "start, one change, memory and idle time of 10,000 agents",
        starts_roster: true,
        run: |bench| Box::pin(many_agents::run(bench)),
    },
];

/// The scenario of this name.
///
/// # Errors
/// With the names there are.
pub fn find(name: &str) -> Result<&'static Scenario, String> {
    ALL.iter().find(|scenario| scenario.name == name).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|scenario| scenario.name).collect();
        format!("the scenarios are {}", names.join(", "))
    })
}

/// The list for `--help`.
#[must_use]
pub fn help() -> String {
    let lines: Vec<String> = ALL.iter().map(|scenario| format!("  {:<12}{}", scenario.name, scenario.about)).collect();
    format!("Scenarios:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests;
