//! Conversation stores: SQLite and RAM.
