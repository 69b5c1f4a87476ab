//! What became of an import, for people and for programs.

use std::fmt::Write as _;

use roster_storage::sqlite::{Count, ImportReport};
use serde_json::{Value, json};

use super::super::{Format, ImportArgs};
use crate::error::HostError;
use crate::render::{many, one_line};

/// Characters of a foreign text that are shown.
const SHOWN: usize = 160;

pub(super) fn text(report: &ImportReport, args: &ImportArgs) -> Result<String, HostError> {
    match args.format {
        Format::Text => Ok(page(report, args.dry_run)),
        Format::Json => {
            let text = serde_json::to_string_pretty(&json_of(report, args.dry_run));
            Ok(text.map_err(|error| HostError::Internal(error.to_string()))? + "\n")
        }
    }
}

fn page(report: &ImportReport, dry_run: bool) -> String {
    let mut page = String::new();
    // Writing to a String cannot fail.
    let mut line = |text: std::fmt::Arguments<'_>| {
        let _ = writeln!(page, "{text}");
    };
    line(format_args!("{:<18}{:>10}{:>10}{:>10}", "", "NEW", "THERE", "LEFT OUT"));
    for (name, Count { new, there, skipped }) in
        [("threads", report.threads), ("messages", report.messages), ("working memories", report.working_memories)]
    {
        line(format_args!("{name:<18}{new:>10}{there:>10}{skipped:>10}"));
    }
    if report.left_out() > 0 {
        line(format_args!("\nleft out:"));
    }
    for skipped in &report.skipped {
        let what = match skipped.count {
            1 => skipped.what.to_string(),
            count => many(count, &skipped.what.to_string()),
        };
        // Ids of a foreign file may hold anything.
        line(format_args!("  {what}, {}: {}", one_line(&skipped.place, SHOWN), one_line(&skipped.reason, SHOWN)));
    }
    let named: u64 = report.skipped.iter().map(|skipped| skipped.count).sum();
    if named < report.left_out() {
        line(format_args!("  and {} more", report.left_out() - named));
    }
    if report.with_unknown_parts > 0 {
        let count = many(report.with_unknown_parts, "message");
        line(format_args!(
            "\n{count} with parts that have no counterpart here: they are kept in the message's metadata"
        ));
    }
    if !report.unread_tables.is_empty() {
        line(format_args!("\nnot read: {}", one_line(&report.unread_tables.join(", "), SHOWN)));
    }
    line(format_args!(
        "\n{}",
        match (dry_run, report.changes()) {
            (true, true) => "nothing was written: without `--dry-run` what is new is imported",
            (true, false) => "nothing was written, and there is nothing new",
            (false, true) => "imported; the file is as it was",
            (false, false) => "nothing new: everything that can be taken over was here already",
        }
    ));
    page
}

fn json_of(report: &ImportReport, dry_run: bool) -> Value {
    let count = |count: Count| json!({"new": count.new, "there": count.there, "leftOut": count.skipped});
    let skipped: Vec<Value> = report
        .skipped
        .iter()
        .map(|skipped| {
            json!({
                "what": skipped.what.to_string(), "place": skipped.place, "reason": skipped.reason, "count": skipped.count,
            })
        })
        .collect();
    json!({
        "dryRun": dry_run,
        "threads": count(report.threads),
        "messages": count(report.messages),
        "workingMemories": count(report.working_memories),
        "leftOut": skipped,
        "leftOutInAll": report.left_out(),
        "withUnknownParts": report.with_unknown_parts,
        "notRead": report.unread_tables,
    })
}
