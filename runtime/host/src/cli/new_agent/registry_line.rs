//! A line more in the registry's text; everything a person wrote stays as it is.

use toml_edit::{DocumentMut, Item, Table, TableLike, value};

/// Why no line was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineFault {
    /// The id has a line.
    Taken,
    /// The text is no registry.
    Unreadable,
}

const MARK: char = '\u{feff}';

/// The text with `id = "file"` below the other lines of `[agents]`.
///
/// # Errors
/// [`LineFault`].
pub(super) fn with_line(text: &str, id: &str, file: &str) -> Result<String, LineFault> {
    let (mark, body) = match text.strip_prefix(MARK) {
        Some(body) => (true, body),
        None => (false, text),
    };
    let windows = body.contains("\r\n");
    let mut document: DocumentMut = body.parse().map_err(|_| LineFault::Unreadable)?;
    let agents = document.entry("agents").or_insert_with(|| Item::Table(Table::new()));
    let agents: &mut dyn TableLike = agents.as_table_like_mut().ok_or(LineFault::Unreadable)?;
    if agents.contains_key(id) {
        return Err(LineFault::Taken);
    }
    agents.insert(id, value(file));
    let mut edited = document.to_string();
    if windows {
        // The editor ends its lines its own way.
        edited = edited.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    if mark {
        edited.insert(0, MARK);
    }
    Ok(edited)
}
