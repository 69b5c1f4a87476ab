//! The list as a table at most 80 wide.

use std::fmt::Write as _;

use crate::listing::Row;

/// Columns: id, state, model, memory. What is longer is cut; the JSON form has it whole.
const WIDTHS: [usize; 4] = [24, 17, 20, 13];
/// Lines of tools are broken before this column.
const WIDE: usize = 80;

/// The table; a sentence when there is nothing in it.
pub(super) fn of(rows: &[Row]) -> String {
    if rows.is_empty() {
        return "no agent is registered; `roster new agent ID` makes one\n".to_owned();
    }
    let mut text = line(["AGENT", "STATE", "MODEL", "MEMORY"]);
    for row in rows {
        let model = row.models.join(", ");
        let model = if model.is_empty() { "-" } else { &model };
        let memory = row.memory.as_deref().unwrap_or("-");
        text.push_str(&line([&row.id, &row.state.replace('_', " "), model, memory]));
        let tools: Vec<&str> = row.tools.iter().map(|tool| tool.offered.as_str()).collect();
        if !tools.is_empty() {
            text.push_str(&wrapped("  tools: ", &tools));
        }
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  file:  {}", row.file);
        if let Some(pinned) = &row.pinned {
            let _ = writeln!(text, "  pinned to {}", pinned.get(..12).unwrap_or(pinned));
        }
    }
    text
}

fn line(cells: [&str; 4]) -> String {
    let mut text = String::new();
    for (cell, width) in cells.into_iter().zip(WIDTHS) {
        let _ = write!(text, "{:width$}  ", cut(cell, width));
    }
    format!("{}\n", text.trim_end())
}

fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width - 1).collect();
    format!("{kept}…")
}

fn wrapped(label: &str, words: &[&str]) -> String {
    let mut text = label.to_owned();
    let mut used = label.len();
    for (at, word) in words.iter().enumerate() {
        let comma = if at + 1 < words.len() { "," } else { "" };
        let needed = word.chars().count() + comma.len() + 1;
        if used + needed > WIDE && used > label.len() {
            text.truncate(text.trim_end().len());
            let _ = write!(text, "\n{:1$}", "", label.len());
            used = label.len();
        }
        let _ = write!(text, "{word}{comma} ");
        used += needed;
    }
    format!("{}\n", text.trim_end())
}
