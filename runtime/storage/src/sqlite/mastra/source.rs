//! The file itself: opened without a trace, judged by its layout, read row by row.

use std::path::{Path, PathBuf};

use roster_model::storage::{StoreError, StoreErrorKind};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row};

use super::super::error::is_full;
use super::super::{inspect, schema};
use super::report::ImportError;

/// The largest content that is taken over, in bytes; a larger one is left out.
pub(super) const LARGEST: i64 = 64 << 20;

/// The columns every table must have; others may come and go with Mastra's versions.
const NEEDED: [(&str, &[&str]); 2] = [
    ("mastra_threads", &["id", "resourceId", "title", "metadata", "createdAt", "updatedAt"]),
    ("mastra_messages", &["id", "thread_id", "content", "role", "type", "createdAt"]),
];
const RESOURCES: (&str, &[&str]) = ("mastra_resources", &["id", "workingMemory", "updatedAt"]);

const RECOVER: &str =
    "the file is damaged; `sqlite3 FILE .recover | sqlite3 NEW.db` saves what can be saved, then import NEW.db";

/// A file of Mastra, as it is at one moment.
pub(super) struct Source {
    connection: Connection,
    path: PathBuf,
    has_resources: bool,
}

/// A row that could not be read, in words.
pub(super) type Damage = String;

/// A thread as it stands in the file.
pub(super) struct ThreadRow {
    pub(super) place: i64,
    pub(super) id: Result<String, Damage>,
    pub(super) owner: Result<String, Damage>,
    pub(super) title: Result<String, Damage>,
    /// JSON, or nothing.
    pub(super) metadata: Result<Option<String>, Damage>,
    /// Milliseconds since 1970; `None`: no moment.
    pub(super) created_at: Option<i64>,
    pub(super) updated_at: Option<i64>,
}

/// A message as it stands in the file.
pub(super) struct MessageRow {
    pub(super) place: i64,
    pub(super) id: Result<String, Damage>,
    pub(super) role: Result<String, Damage>,
    pub(super) kind: Result<Option<String>, Damage>,
    pub(super) created_at: Option<i64>,
    pub(super) content: Result<String, Damage>,
}

/// An owner's working memory as it stands in the file.
pub(super) struct ResourceRow {
    pub(super) place: i64,
    pub(super) owner: Result<String, Damage>,
    pub(super) working_memory: Result<Option<String>, Damage>,
    pub(super) updated_at: Option<i64>,
}

/// JSON text or JSONB as text; a blob where it is neither.
fn json(column: &str) -> String {
    format!(
        "CASE WHEN \"{column}\" IS NULL THEN NULL WHEN json_valid(\"{column}\", 9) THEN json(\"{column}\") ELSE X'' END"
    )
}

/// A moment as milliseconds: ISO text, or a number of milliseconds. NULL where it is neither.
fn millis(column: &str) -> String {
    format!(
        "CASE typeof(\"{column}\") WHEN 'integer' THEN \"{column}\" WHEN 'real' THEN CAST(\"{column}\" AS INTEGER) \
         WHEN 'text' THEN CAST(round(unixepoch(\"{column}\", 'subsec') * 1000) AS INTEGER) END"
    )
}

impl Source {
    /// Opens the file, makes sure that it is Mastra's, and notes the order of its messages.
    pub(super) fn open(path: &Path) -> Result<Self, ImportError> {
        if !path.is_file() {
            return Err(ImportError::NoFile(path.to_owned()));
        }
        let sorted = |error| sort(path, error);
        let connection = inspect::view(path).map_err(sorted)?;
        // One view of the file from here on, whatever a program that has it open writes.
        connection.execute_batch("BEGIN").map_err(sorted)?;
        if schema::marks(&connection).map_err(sorted)?.1 == schema::APPLICATION_ID {
            return Err(ImportError::Ours(path.to_owned()));
        }
        for (table, columns) in NEEDED {
            check(&connection, path, table, columns)?;
        }
        let has_resources = match check(&connection, path, RESOURCES.0, RESOURCES.1) {
            Ok(()) => true,
            Err(ImportError::Foreign { .. }) => false,
            Err(error) => return Err(error),
        };
        let source = Self { connection, path: path.to_owned(), has_resources };
        source.note_places().map_err(|error| source.sort(error))?;
        Ok(source)
    }

    /// The order of the messages, beside the file: its own index may be missing, and knows no rows.
    fn note_places(&self) -> rusqlite::Result<()> {
        self.connection.execute_batch(&format!(
            "CREATE TEMP TABLE places AS SELECT rowid AS place, thread_id AS thread, {} AS at FROM mastra_messages; \
             CREATE INDEX temp.places_in_order ON places (thread, at, place);",
            millis("createdAt")
        ))
    }

    /// A failure of reading.
    pub(super) fn sort(&self, error: rusqlite::Error) -> ImportError {
        sort(&self.path, error)
    }

    /// How many messages there are.
    pub(super) fn messages(&self) -> rusqlite::Result<u64> {
        self.connection.query_row("SELECT count(*) FROM temp.places", [], |row| row.get(0)).map(i64::cast_unsigned)
    }

    /// Every thread, in the order made or, `by_update`, in the order changed.
    pub(super) fn threads(
        &self,
        by_update: bool,
        mut each: impl FnMut(ThreadRow) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let (created, updated) = (millis("createdAt"), millis("updatedAt"));
        let order = if by_update { &updated } else { &created };
        let sql = format!(
            "SELECT rowid, id, resourceId, title, {}, {created}, {updated} FROM mastra_threads ORDER BY {order}, rowid",
            json("metadata")
        );
        self.rows(&sql, [], |row| {
            each(ThreadRow {
                place: row.get(0).map_err(|error| self.sort(error))?,
                id: needed(row, 1, "id"),
                owner: needed(row, 2, "resourceId"),
                title: text(row, 3, "title").map(Option::unwrap_or_default),
                metadata: text(row, 4, "metadata"),
                created_at: moment(row, 5),
                updated_at: moment(row, 6),
            })
        })
    }

    /// The messages of a thread, by time and then in the order written.
    pub(super) fn messages_of(
        &self,
        thread: &str,
        mut each: impl FnMut(MessageRow) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let sql = format!(
            "SELECT p.place, m.id, m.role, m.type, p.at, CASE WHEN octet_length(m.content) > {LARGEST} THEN NULL \
             WHEN typeof(m.content) = 'blob' AND json_valid(m.content, 8) THEN json(m.content) ELSE m.content END, \
             octet_length(m.content) FROM temp.places p \
             JOIN mastra_messages m ON m.rowid = p.place WHERE p.thread = ?1 ORDER BY p.at, p.place"
        );
        self.rows(&sql, [thread], |row| {
            each(MessageRow {
                place: row.get(0).map_err(|error| self.sort(error))?,
                id: needed(row, 1, "id"),
                role: needed(row, 2, "role"),
                kind: text(row, 3, "type"),
                created_at: moment(row, 4),
                content: content(row),
            })
        })
    }

    /// How many messages name a thread.
    pub(super) fn count_of(&self, thread: &str) -> Result<u64, ImportError> {
        let sql = "SELECT count(*) FROM temp.places WHERE thread = ?1";
        let count = self.connection.query_row(sql, [thread], |row| row.get::<_, i64>(0));
        count.map(i64::cast_unsigned).map_err(|error| self.sort(error))
    }

    /// Threads that messages name and the file does not have, each with how many messages.
    pub(super) fn orphans(&self, mut each: impl FnMut(String, u64)) -> Result<(), ImportError> {
        let sql = "SELECT thread, count(*) FROM temp.places WHERE thread IS NULL \
                   OR thread NOT IN (SELECT id FROM mastra_threads WHERE id NOTNULL) GROUP BY thread";
        self.rows(sql, [], |row| {
            let thread = needed(row, 0, "thread_id").unwrap_or_else(|damage| damage);
            each(thread, row.get::<_, i64>(1).map_err(|error| self.sort(error))?.cast_unsigned());
            Ok(())
        })
    }

    /// Every owner that has a working memory.
    pub(super) fn resources(
        &self,
        mut each: impl FnMut(ResourceRow) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        if !self.has_resources {
            return Ok(());
        }
        let sql = format!(
            "SELECT rowid, id, workingMemory, {} FROM mastra_resources WHERE workingMemory NOTNULL \
             AND workingMemory <> '' ORDER BY rowid",
            millis("updatedAt")
        );
        self.rows(&sql, [], |row| {
            each(ResourceRow {
                place: row.get(0).map_err(|error| self.sort(error))?,
                owner: needed(row, 1, "id"),
                working_memory: text(row, 2, "workingMemory"),
                updated_at: moment(row, 3),
            })
        })
    }

    /// Mastra's other tables that hold something.
    pub(super) fn unread_tables(&self) -> Result<Vec<String>, ImportError> {
        let mut unread = Vec::new();
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'mastra\\_%' ESCAPE '\\' \
                   AND name NOT IN ('mastra_threads', 'mastra_messages', 'mastra_resources') ORDER BY name";
        self.rows(sql, [], |row| {
            if let Ok(name) = needed(row, 0, "name") {
                let any = format!("SELECT 1 FROM \"{}\" LIMIT 1", name.replace('"', "\"\""));
                // What cannot be looked into counts as holding something.
                let holds = self.connection.query_row(&any, [], |_| Ok(())).optional();
                if !matches!(holds, Ok(None)) {
                    unread.push(name);
                }
            }
            Ok(())
        })?;
        Ok(unread)
    }

    fn rows(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        mut each: impl FnMut(&Row<'_>) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let sorted = |error| self.sort(error);
        let mut statement = self.connection.prepare_cached(sql).map_err(sorted)?;
        let mut rows = statement.query(values).map_err(sorted)?;
        while let Some(row) = rows.next().map_err(sorted)? {
            each(row)?;
        }
        Ok(())
    }
}

/// Makes sure that a table is there with these columns.
fn check(
    connection: &Connection,
    path: &Path,
    table: &'static str,
    columns: &'static [&'static str],
) -> Result<(), ImportError> {
    let sorted = |error| sort(path, error);
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(sorted)?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0)).map_err(sorted)?;
    let names: Vec<String> = names.collect::<Result<_, _>>().map_err(sorted)?;
    if names.is_empty() {
        let reason = format!("it has no table `{table}`");
        return Err(ImportError::Foreign { path: path.to_owned(), reason });
    }
    let lacks = columns.iter().find(|column| !names.iter().any(|name| name == *column));
    match lacks {
        None => Ok(()),
        Some(column) => Err(ImportError::Layout { path: path.to_owned(), table, column }),
    }
}

fn sort(path: &Path, source: rusqlite::Error) -> ImportError {
    let path = path.to_owned();
    let hint = match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            return ImportError::Foreign { path, reason: "it is no SQLite database, or an encrypted one".to_owned() };
        }
        _ if is_full(&source) => {
            let message = "no space for the order of the messages in the system's folder of temporary files";
            return StoreError::new(StoreErrorKind::Full, message).into();
        }
        Some(ErrorCode::DatabaseCorrupt) => RECOVER,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another program keeps it locked; stop it, or import a copy made with `sqlite3 FILE \".backup COPY.db\"`"
        }
        _ => {
            "give this user the right to read the file, and where a `-wal` lies beside it the right to write it too; or import a copy"
        }
    };
    ImportError::Unreadable { path, hint, source }
}

fn text(row: &Row<'_>, column: usize, name: &str) -> Result<Option<String>, Damage> {
    match row.get_ref(column) {
        Ok(ValueRef::Null) => Ok(None),
        Ok(ValueRef::Text(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Some(text.to_owned())),
            Err(_) => Err(format!("its `{name}` is no UTF-8")),
        },
        Ok(ValueRef::Integer(number)) => Ok(Some(number.to_string())),
        _ => Err(format!("its `{name}` is no text")),
    }
}

fn needed(row: &Row<'_>, column: usize, name: &str) -> Result<String, Damage> {
    text(row, column, name)?.ok_or_else(|| format!("it has no `{name}`"))
}

fn content(row: &Row<'_>) -> Result<String, Damage> {
    match row.get_ref(6) {
        Ok(ValueRef::Integer(bytes)) if bytes > LARGEST => {
            Err(format!("its content has {bytes} bytes; at most {LARGEST} are taken over"))
        }
        _ => needed(row, 5, "content"),
    }
}

fn moment(row: &Row<'_>, column: usize) -> Option<i64> {
    row.get_ref(column).ok()?.as_i64().ok()
}
