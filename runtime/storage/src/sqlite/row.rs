//! Messages as rows. Encoding happens on the caller's side, before the writer is asked.

use roster_model::id::{AgentId, MessageId, TurnId};
use roster_model::message::{Message, MessageStatus, Origin, Role, Seq, StoredMessage, decode_parts, encode_parts};
use roster_model::storage::{StoreError, StoreErrorKind};
use roster_model::time::Timestamp;
use rusqlite::Row;
use serde_json::{Map, Value};

use super::error::{Failure, Outcome};
use super::writer::Group;

/// The bits of a place that hold the seq.
pub(super) const SEQ_BITS: u32 = 32;

/// Where a message lies: rows of a thread together and in order.
pub(super) fn place(thread: i64, seq: i64) -> i64 {
    (thread << SEQ_BITS) | seq
}

/// The columns [`read`] wants, in its order.
pub(super) const COLUMNS: &str =
    "seq, id, turn, role, status, created_at, parts, agent, generation, fingerprint, metadata";

fn internal(what: impl std::fmt::Display) -> Failure {
    Failure::Store(StoreError::new(StoreErrorKind::Internal, format!("a stored row cannot be read: {what}")))
}

/// A JSON object as the text stored; `None` for an empty one.
pub(super) fn object_text(object: &Map<String, Value>) -> Result<String, StoreError> {
    serde_json::to_string(object)
        .map_err(|error| StoreError::new(StoreErrorKind::Internal, format!("metadata cannot be written: {error}")))
}

/// The reverse of [`object_text`].
pub(super) fn object(text: &str) -> Outcome<Map<String, Value>> {
    serde_json::from_str(text).map_err(internal)
}

/// A list of texts as the JSON stored.
pub(super) fn list_text(list: &[String]) -> Result<String, StoreError> {
    serde_json::to_string(list)
        .map_err(|error| StoreError::new(StoreErrorKind::Internal, format!("a list cannot be written: {error}")))
}

/// The reverse of [`list_text`].
pub(super) fn list(text: &str) -> Outcome<Vec<String>> {
    serde_json::from_str(text).map_err(internal)
}

/// An id out of a column.
pub(super) fn id<'t, T, E: std::fmt::Display>(text: &'t str, make: impl FnOnce(&'t str) -> Result<T, E>) -> Outcome<T> {
    make(text).map_err(internal)
}

/// A message ready to be written.
#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) message: Message,
    parts: String,
    metadata: Option<String>,
}

impl Encoded {
    pub(super) fn new(message: Message) -> Result<Self, StoreError> {
        let parts = encode_parts(&message.parts)
            .map_err(|error| StoreError::new(StoreErrorKind::Internal, format!("parts cannot be written: {error}")))?;
        let metadata = if message.metadata.is_empty() { None } else { Some(object_text(&message.metadata)?) };
        Ok(Self { message, parts, metadata })
    }

    pub(super) fn all(messages: Vec<Message>) -> Result<Vec<Self>, StoreError> {
        messages.into_iter().map(Self::new).collect()
    }

    /// The bytes of what is stored of it beside ids and dates.
    pub(super) fn stored_bytes(&self) -> usize {
        self.parts.len() + self.metadata.as_ref().map_or(0, String::len)
    }

    /// The agent that wrote it, for assistant messages that know.
    pub(super) fn author(&self) -> Option<&AgentId> {
        self.message.origin.as_ref().filter(|_| self.message.role == Role::Assistant).map(|origin| &origin.agent)
    }

    /// Writes it as the thread's row `seq`, dated `created_at`. A taken id is a `Conflict`.
    pub(super) fn insert(
        &self,
        group: &Group<'_>,
        thread: i64,
        seq: i64,
        turn: Option<&TurnId>,
        created_at: i64,
    ) -> Outcome<()> {
        let sql = "INSERT INTO messages (place, thread, seq, id, turn, role, status, created_at, parts, agent, \
                   generation, fingerprint, metadata) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
        let origin = self.message.origin.as_ref();
        let values = (
            place(thread, seq),
            thread,
            seq,
            self.message.id.as_str(),
            turn.map(TurnId::as_str),
            self.message.role.as_str(),
            self.message.status.as_str(),
            created_at,
            &self.parts,
            origin.map(|origin| origin.agent.as_str()),
            origin.map(|origin| origin.generation.cast_signed()),
            origin.map(|origin| origin.fingerprint.as_str()),
            self.metadata.as_deref(),
        );
        let written = group.connection.prepare_cached(sql)?.execute(values);
        written.map(drop).map_err(|error| self.conflict_or(error))
    }

    /// Overwrites the turn's own assistant row of this id; false when there is none.
    pub(super) fn overwrite(&self, group: &Group<'_>, thread: i64, turn: &TurnId) -> Outcome<bool> {
        let sql = "UPDATE messages SET role = ?4, status = ?5, created_at = max(created_at, ?6), parts = ?7, agent = ?8, \
                   generation = ?9, fingerprint = ?10, metadata = ?11 \
                   WHERE thread = ?1 AND id = ?2 AND turn = ?3 AND role = 'assistant'";
        let origin = self.message.origin.as_ref();
        let values = (
            thread,
            self.message.id.as_str(),
            turn.as_str(),
            self.message.role.as_str(),
            self.message.status.as_str(),
            self.message.created_at.millis(),
            &self.parts,
            origin.map(|origin| origin.agent.as_str()),
            origin.map(|origin| origin.generation.cast_signed()),
            origin.map(|origin| origin.fingerprint.as_str()),
            self.metadata.as_deref(),
        );
        Ok(group.connection.prepare_cached(sql)?.execute(values)? > 0)
    }

    fn conflict_or(&self, error: rusqlite::Error) -> Failure {
        let unique = rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE;
        if error.sqlite_error().is_some_and(|cause| cause.extended_code == unique) {
            let text = format!("message id `{}` is taken in this thread", self.message.id);
            return Failure::Store(StoreError::new(StoreErrorKind::Conflict, text));
        }
        error.into()
    }
}

/// The bytes of a row's parts and metadata, before anything of it is decoded.
pub(super) fn stored_bytes(row: &Row<'_>) -> Outcome<usize> {
    let bytes = |column: usize| -> Outcome<usize> {
        let text =
            row.get_ref(column)?.as_str_or_null().map_err(|error| internal(format!("column {column}: {error}")))?;
        Ok(text.map_or(0, str::len))
    };
    Ok(bytes(6)? + bytes(10)?)
}

/// A row of [`COLUMNS`] as a message.
pub(super) fn read(row: &Row<'_>) -> Outcome<StoredMessage> {
    let text = |column: usize| -> Outcome<&str> {
        row.get_ref(column)?.as_str().map_err(|error| internal(format!("column {column}: {error}")))
    };
    let optional = |column: usize| -> Outcome<Option<&str>> {
        row.get_ref(column)?.as_str_or_null().map_err(|error| internal(format!("column {column}: {error}")))
    };
    let origin = match (optional(7)?, row.get::<_, Option<i64>>(8)?, optional(9)?) {
        (Some(agent), Some(generation), Some(fingerprint)) => Some(Origin {
            agent: id(agent, AgentId::new)?,
            generation: generation.cast_unsigned(),
            fingerprint: fingerprint.to_owned(),
        }),
        _ => None,
    };
    let message = Message {
        id: id(text(1)?, MessageId::new)?,
        role: Role::parse(text(3)?).ok_or_else(|| internal("unknown role"))?,
        status: MessageStatus::parse(text(4)?).ok_or_else(|| internal("unknown status"))?,
        created_at: Timestamp::from_millis(row.get(5)?),
        parts: decode_parts(text(6)?).map_err(internal)?,
        origin,
        metadata: optional(10)?.map(object).transpose()?.unwrap_or_default(),
    };
    let turn = optional(2)?.map(|turn| id(turn, TurnId::new)).transpose()?;
    Ok(StoredMessage { seq: Seq(row.get::<_, i64>(0)?.cast_unsigned()), turn, message })
}
