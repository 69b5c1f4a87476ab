//! Exactly one completion for every accepted call, whatever happens to the code that owes it.

use roster_abi::code;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::panics;
use crate::table::Table;

/// The duty to answer a call. It can be sent to another thread; dropped unanswered, it says so to the host: with the
/// panic when the thread is panicking, as cancelled when the call was, else as given up.
#[must_use = "dropping it gives the call up"]
pub struct Responder {
    table: Table,
    call: u64,
    answered: bool,
}

impl Responder {
    pub(crate) fn new(table: Table, call: u64) -> Self {
        Self { table, call, answered: false }
    }

    /// Answers with a value as JSON, or with the failure.
    pub fn finish<T: Serialize>(self, result: Result<T>) {
        match result.and_then(|value| Ok(serde_json::to_vec(&value)?)) {
            Ok(json) => self.bytes(code::ENC_JSON, &json),
            Err(error) => self.fail(&error),
        }
    }

    /// Answers with bytes of an encoding (`ENC_*`), unchecked.
    pub fn bytes(mut self, encoding: u32, bytes: &[u8]) {
        self.complete(code::OK, encoding, bytes);
    }

    /// Answers with a failure.
    pub fn fail(mut self, error: &Error) {
        self.fail_now(error);
    }

    fn fail_now(&mut self, error: &Error) {
        let json = serde_json::to_vec(error.fault()).unwrap_or_default();
        self.complete(error.status(), code::ENC_JSON, &json);
    }

    fn complete(&mut self, status: i32, encoding: u32, bytes: &[u8]) {
        self.answered = true;
        if self.table.complete(self.call, status, encoding, bytes) == code::E_TOO_LARGE && status == code::OK {
            let message = format!("the answer of {} bytes is larger than the operator allows", bytes.len());
            self.fail_now(&Error::with(code::E_TOO_LARGE, "too_large", message));
        }
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        let error = if std::thread::panicking() {
            panics::last()
        } else if self.table.cancelled(self.call) > 0 {
            Error::cancelled()
        } else {
            Error::with(code::E_DROPPED, "dropped", "the plugin gave the call up without an answer")
        };
        self.fail_now(&error);
    }
}
