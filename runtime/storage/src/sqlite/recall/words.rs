//! The text index: what is written into it, and how it is asked.
//!
//! The index cuts nothing: it sees one token for each word, made of the owner's number, the letter `o` and the word
//! with every byte escaped that its tokenizer would cut at or change. So whatever a word is made of, it is found as a
//! whole, the words of one owner have lists of their own, and no figure of another owner enters a score. Every
//! message also has the token without a word, which counts the owner's messages.

use std::fmt::Write;

use rusqlite::{Connection, OptionalExtension};
use tokio::time::Instant;

use roster_model::id::ResourceId;

use super::super::error::Outcome;
use super::super::row::place;
use super::super::writer::{Group, Step};
use super::shelf;

/// The last seq a thread can have.
pub(super) const LAST: i64 = u32::MAX as i64;

/// The token of a word.
pub(super) fn token(owner: i64, word: &str) -> String {
    let mut text = String::with_capacity(word.len() + 8);
    write_token(&mut text, owner, word);
    text
}

fn write_token(text: &mut String, owner: i64, word: &str) {
    // Writing into a string cannot fail.
    let _infallible = write!(text, "{owner}o");
    for letter in word.chars() {
        match letter {
            'a'..='y' | '0'..='9' => text.push(letter),
            '\0'..='\x7f' => {
                let _infallible = write!(text, "z{:02x}", u32::from(letter));
            }
            beyond => text.push(beyond),
        }
    }
}

fn tokens(owner: i64, terms: &str) -> String {
    let mut text = token(owner, "");
    for word in terms.split_whitespace() {
        text.push(' ');
        write_token(&mut text, owner, word);
    }
    text
}

/// Writes the words of a message; the same ones again cost nothing.
pub(super) fn put(group: &Group<'_>, owner: i64, place: i64, terms: &str) -> Outcome<()> {
    let known = "SELECT terms = ?2 FROM terms WHERE place = ?1";
    let known = group.connection.prepare_cached(known)?.query_row((place, terms), |row| row.get(0)).optional()?;
    match known {
        Some(true) => return Ok(()),
        Some(false) => remove(group, place)?,
        None => {}
    }
    if terms.split_whitespace().next().is_some() {
        let sql = "INSERT INTO terms (place, terms) VALUES (?1, ?2)";
        group.connection.prepare_cached(sql)?.execute((place, terms))?;
        insert(group, owner, place, terms)?;
    }
    Ok(())
}

fn insert(group: &Group<'_>, owner: i64, place: i64, terms: &str) -> Outcome<()> {
    let sql = "INSERT INTO words (rowid, terms) VALUES (?1, ?2)";
    group.connection.prepare_cached(sql)?.execute((place, tokens(owner, terms)))?;
    Ok(())
}

/// Takes the words of a message out.
pub(super) fn remove(group: &Group<'_>, place: i64) -> Outcome<()> {
    if group.connection.prepare_cached("DELETE FROM terms WHERE place = ?1")?.execute([place])? > 0 {
        group.connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([place])?;
    }
    Ok(())
}

/// The number of an owner that has an index.
pub(in super::super) fn owner_of(connection: &Connection, resource: &ResourceId) -> Outcome<Option<i64>> {
    shelf::owner(connection, resource.as_str())
}

/// Writes the words of threads that changed their owner anew, in slices; whatever was done before is done again.
pub(in super::super) fn move_words(mut threads: Vec<i64>) -> Step {
    // How far the last of the threads is, and for which owner.
    let mut done = None;
    Box::new(move |group, until| {
        while let Some(thread) = threads.last() {
            let sql = "SELECT o.number FROM threads t JOIN owners o ON o.resource = t.resource \
                       WHERE t.number = ?1 AND t.dead = 0";
            let owner = group.connection.prepare_cached(sql)?.query_row([thread], |row| row.get(0)).optional()?;
            if let Some(owner) = owner {
                let from = done.filter(|(of, _)| *of == owner).map_or(place(*thread, 0), |(_, from)| from);
                if let Some(reached) = move_some(group, owner, *thread, from, until)? {
                    done = Some((owner, reached));
                    return Ok(false);
                }
            }
            let sql = "DELETE FROM words_moving WHERE thread = ?1";
            group.connection.prepare_cached(sql)?.execute([thread])?;
            (_, done) = (threads.pop(), None);
        }
        Ok(true)
    })
}

/// The place reached when the time is up.
fn move_some(group: &Group<'_>, owner: i64, thread: i64, from: i64, until: Instant) -> Outcome<Option<i64>> {
    let sql = "SELECT place, terms FROM terms WHERE place > ?1 AND place <= ?2 ORDER BY place";
    let mut statement = group.connection.prepare_cached(sql)?;
    let mut rows = statement.query((from, place(thread, LAST)))?;
    while let Some(row) = rows.next()? {
        let (at, terms): (i64, String) = (row.get(0)?, row.get(1)?);
        group.connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([at])?;
        insert(group, owner, at, &terms)?;
        if Instant::now() >= until {
            return Ok(Some(at));
        }
    }
    Ok(None)
}
