//! What people read of plugins.

use std::fmt::Write as _;

use roster_plugin::inspect::Inspected;
use serde_json::Value;

/// Letters of a hash that tell libraries apart.
const SHORT: usize = 12;

/// A line a plugin, then what is wrong and what it contributes.
pub(super) fn listed(plugins: &[&Value]) -> String {
    if plugins.is_empty() {
        return "no plugins: add [plugins.NAME] to config/runtime.toml\n".to_owned();
    }
    let mut text = line(["PLUGIN", "STATE", "GEN", "VERSION", "WHERE", "CALLS", "ERRORS", "LIBRARY"]);
    for plugin in plugins {
        let library = &plugin["library"];
        let counters = &plugin["counters"];
        let errors: u64 =
            counters["errors"].as_object().into_iter().flat_map(|all| all.values()).filter_map(Value::as_u64).sum();
        text.push_str(&line([
            word(&plugin["key"]),
            word(&plugin["state"]),
            &plugin["generation"].to_string(),
            word(&library["version"]),
            word(&library["isolation"]),
            &counters["calls"].to_string(),
            &errors.to_string(),
            short(word(&library["sha256"])),
        ]));
    }
    for plugin in plugins {
        for one in plugin["contributes"].as_array().into_iter().flatten() {
            let _ = writeln!(text, "  {:<16} {}", word(&one["kind"]), word(&one["name"]));
        }
        let problem = &plugin["problem"];
        if !problem.is_null() {
            let _ = writeln!(
                text,
                "warning[{}]: {}\n  hint: {}",
                word(&problem["code"]),
                word(&problem["message"]),
                word(&problem["help"])
            );
        }
    }
    text
}

/// What came of taking a library up.
pub(super) fn taken(answer: &Value) -> String {
    let plugin = &answer["plugin"];
    let library = &plugin["library"];
    format!(
        "plugin {} serves generation {}: {} {} ({})\n",
        word(&plugin["key"]),
        plugin["generation"],
        word(&library["id"]),
        word(&library["version"]),
        short(word(&library["sha256"])),
    )
}

/// What a file is.
pub(super) fn inspected(found: &Inspected) -> String {
    let manifest = &found.manifest;
    let mut text = String::new();
    let flags = [
        (manifest.is_blocking(), "calls may block"),
        (manifest.is_concurrent(), "several calls at once"),
        (manifest.wants_process(), "wants a process of its own"),
        (manifest.panics_abort(), "a panic ends its process"),
    ];
    let flags: Vec<&str> = flags.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    for (name, value) in [
        ("file", found.path.display().to_string()),
        ("sha256", found.sha256.clone()),
        ("id", manifest.id.clone()),
        ("version", manifest.version.clone()),
        ("built with", manifest.toolchain.clone()),
        ("ways", flags.join(", ")),
    ] {
        let _ = writeln!(text, "{name:<11} {value}");
    }
    for one in &found.description.contributes {
        let _ = writeln!(text, "{:<11} {} ({}) {}", one.kind, one.id, one.contract, one.description);
    }
    if !found.description.config_schema.is_null() {
        let _ = writeln!(text, "{:<11} {}", "config", found.description.config_schema);
    }
    text
}

/// A line a plugin, and what is wrong with it.
pub(super) fn checked(rows: &[Value]) -> String {
    if rows.is_empty() {
        return "no plugins: add [plugins.NAME] to config/runtime.toml\n".to_owned();
    }
    let mut text = String::new();
    for row in rows {
        let key = word(&row["key"]);
        if row["good"] == true {
            let library = &row["library"];
            let _ = writeln!(text, "{key:<16} good: {} {}", word(&library["id"]), word(&library["version"]));
        } else {
            let _ = writeln!(text, "{key:<16} refused: it {}\n  hint: {}", word(&row["message"]), word(&row["help"]));
        }
    }
    text
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

fn short(hash: &str) -> &str {
    hash.get(..SHORT).unwrap_or(hash)
}

fn line(cells: [&str; 8]) -> String {
    let [key, state, generation, version, place, calls, errors, library] = cells;
    let line =
        format!("{key:<16} {state:<18} {generation:<4} {version:<10} {place:<10} {calls:<8} {errors:<7} {library}");
    format!("{}\n", line.trim_end())
}
