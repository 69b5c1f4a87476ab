//! The check of a file from end to end.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::copy::quiet;
use super::error::OpenError;
use super::schema;

/// How many rows a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Threads, those of sub-agents included.
    pub threads: u64,
    /// Messages.
    pub messages: u64,
    /// Owners.
    pub owners: u64,
}

/// What a check of a file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Integrity {
    /// Empty when the file is sound.
    pub problems: Vec<String>,
    /// `None` when rows could not be counted.
    pub counts: Option<Counts>,
    /// The most vectors that an owner has in one space; `None` when there are none, or they could not be counted.
    pub most_vectors: Option<Vectors>,
    /// The schema version.
    pub version: u32,
}

/// How many vectors, and how large they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vectors {
    /// How many.
    pub count: u64,
    /// Their bytes, four for a number.
    pub bytes: u64,
}

/// Checks a file table by table without writing to it, also while a runtime serves it. Reads the whole file:
/// `progress` is told how many tables are done, of how many.
///
/// # Errors
/// When the file cannot be opened at all, or is no database.
pub fn check_integrity(path: &Path, mut progress: impl FnMut(usize, usize)) -> Result<Integrity, OpenError> {
    let sorted = |error| OpenError::from_sqlite(path, error);
    let connection = quiet(path).map_err(sorted)?;
    let (version, _) = schema::marks(&connection).map_err(sorted)?;
    let tables = match table_names(&connection) {
        Ok(tables) => tables,
        Err(error) => {
            return Ok(Integrity { problems: vec![error.to_string()], counts: None, most_vectors: None, version });
        }
    };
    let mut problems = Vec::new();
    for (done, table) in tables.iter().enumerate() {
        progress(done, tables.len());
        match check_table(&connection, table) {
            Ok(found) => problems.extend(found.into_iter().filter(|line| line != "ok")),
            Err(error) => problems.push(format!("table {table}: {error}")),
        }
    }
    progress(tables.len(), tables.len());
    let most_vectors = most_vectors(&connection).ok().flatten();
    Ok(Integrity { problems, counts: count(&connection).ok(), most_vectors, version })
}

pub(super) fn table_names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name";
    connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
}

fn check_table(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let sql = format!("PRAGMA quick_check(\"{}\")", table.replace('"', "\"\""));
    connection.prepare(&sql)?.query_map([], |row| row.get(0))?.collect()
}

fn count(connection: &Connection) -> rusqlite::Result<Counts> {
    let sql = "SELECT (SELECT count(*) FROM threads WHERE dead = 0), (SELECT count(*) FROM messages), \
               (SELECT count(DISTINCT resource) FROM threads WHERE dead = 0)";
    connection.query_row(sql, [], |row| {
        let column = |at| row.get::<_, i64>(at).map(i64::cast_unsigned);
        Ok(Counts { threads: column(0)?, messages: column(1)?, owners: column(2)? })
    })
}

fn most_vectors(connection: &Connection) -> rusqlite::Result<Option<Vectors>> {
    let sql = "SELECT count(*), sum(length(v.vector)) FROM shelves s \
               CROSS JOIN vectors v ON v.place > s.number << 32 AND v.place < (s.number + 1) << 32 \
               WHERE v.vector NOTNULL GROUP BY s.owner, s.space ORDER BY 2 DESC LIMIT 1";
    let row = connection.query_row(sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    Ok(row.optional()?.map(|(count, bytes)| Vectors { count: count.cast_unsigned(), bytes: bytes.cast_unsigned() }))
}
