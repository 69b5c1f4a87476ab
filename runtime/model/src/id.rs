//! Checked names. An id that exists is a legal one; a bare string never stands for an id.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Why a text is no legal id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{noun} {fault}")]
pub struct IdError {
    /// Which kind of id, in words: "thread id".
    pub noun: &'static str,
    /// What is wrong with it.
    pub fault: &'static str,
}

/// Longest thread, resource, message or turn id, in bytes of UTF-8.
pub const MAX_ID_BYTES: usize = 512;
/// Longest agent id, in characters.
pub const MAX_AGENT_ID: usize = 64;

fn check_free_text(noun: &'static str, text: &str) -> Result<(), IdError> {
    let fault = if text.is_empty() {
        "is empty"
    } else if text.len() > MAX_ID_BYTES {
        "is longer than 512 bytes"
    } else if text.contains('\0') {
        "contains a NUL character"
    } else {
        return Ok(());
    };
    Err(IdError { noun, fault })
}

fn check_agent(noun: &'static str, text: &str) -> Result<(), IdError> {
    let first_is_fine = text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    let fault = if text.is_empty() {
        "is empty"
    } else if text.len() > MAX_AGENT_ID {
        "is longer than 64 characters"
    } else if !first_is_fine {
        "must begin with a lowercase letter or a digit"
    } else if !text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-')) {
        "may hold only lowercase letters, digits, `.`, `_` and `-`"
    } else {
        return Ok(());
    };
    Err(IdError { noun, fault })
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $noun:literal, $check:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and makes an id of it.
            ///
            /// # Errors
            /// [`IdError`] says what is wrong with the text.
            pub fn new(text: impl AsRef<str>) -> Result<Self, IdError> {
                let text = text.as_ref();
                $check($noun, text)?;
                Ok(Self(Arc::from(text)))
            }

            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({:?})", stringify!($name), &self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                Self::new(text).map_err(serde::de::Error::custom)
            }
        }
    };
}

id!(
    /// An agent: `[a-z0-9]`, then `[a-z0-9._-]`, at most 64 characters. Safe as a file name and in a URL.
    AgentId, "agent id", check_agent
);
id!(
    /// A thread inside its resource. Any text without NUL, at most 512 bytes; only ever a database key.
    ThreadId, "thread id", check_free_text
);
id!(
    /// The owner of threads. Any text without NUL, at most 512 bytes.
    ResourceId, "resource id", check_free_text
);
id!(
    /// A message inside its thread.
    MessageId, "message id", check_free_text
);
id!(
    /// A turn: one request and everything it causes.
    TurnId, "turn id", check_free_text
);

/// What names a thread: its owner and its id. The same thread id under two resources is two threads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ThreadKey {
    /// The owner, decided by the server.
    pub resource: ResourceId,
    /// The thread, proposed by the client or fresh.
    pub thread: ThreadId,
}

/// Where fresh ids come from; injected so that tests are repeatable.
pub trait IdSource: Send + Sync + 'static {
    /// 128 bits never given before.
    fn fresh(&self) -> u128;
}

/// A fresh id with a readable prefix: `thread_` and 32 hex digits.
///
/// # Panics
/// Never: a short prefix and hex digits are always legal.
fn prefixed(prefix: &str, ids: &dyn IdSource) -> Arc<str> {
    Arc::from(format!("{prefix}_{:032x}", ids.fresh()))
}

impl ThreadId {
    /// `thread_…`, never used before.
    #[must_use]
    pub fn fresh(ids: &dyn IdSource) -> Self {
        Self(prefixed("thread", ids))
    }
}

impl MessageId {
    /// `msg_…`, never used before.
    #[must_use]
    pub fn fresh(ids: &dyn IdSource) -> Self {
        Self(prefixed("msg", ids))
    }
}

impl TurnId {
    /// `turn_…`, never used before.
    #[must_use]
    pub fn fresh(ids: &dyn IdSource) -> Self {
        Self(prefixed("turn", ids))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(text: &str, legal: bool) {
        assert_eq!(AgentId::new(text).is_ok(), legal, "{text:?}");
    }

    #[test]
    fn agent_ids_are_an_allow_list() {
        agent("a", true);
        agent("chat-agent", true);
        agent("0.b_c-d", true);
        agent(&"x".repeat(64), true);
        for bad in ["", ".", "..", "-a", "A", "a/b", "a b", "风林", "secret\0", "a\\b", &"x".repeat(65)] {
            agent(bad, false);
        }
    }

    #[test]
    fn thread_ids_are_any_text() {
        assert!(ThreadId::new("t/1#x?y%41 漢").is_ok());
        assert!(ThreadId::new("").is_err());
        assert!(ThreadId::new("a\0b").is_err());
        assert!(ThreadId::new("x".repeat(513)).is_err());
    }
}
