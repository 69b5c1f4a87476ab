//! What a plugin's functions fail with.

use std::error::Error as StdError;
use std::fmt;

use roster_abi::code;
use roster_abi::contract::Fault;
use serde_json::Value;

/// What a plugin's functions give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure: a status of the contract, a machine code, a message for people (and for a tool also for the model: no
/// secret). Every `std` error becomes one with `?`.
pub struct Error {
    status: i32,
    fault: Box<Fault>,
}

impl Error {
    /// A failure with a machine code of the plugin's own, `city_unknown`.
    #[must_use]
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::with(code::E_INTERNAL, code, message)
    }

    /// The input or the configuration is not what was asked for.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::with(code::E_INVALID, "invalid", message)
    }

    /// There is no such thing.
    #[must_use]
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::with(code::E_NOT_FOUND, "not_found", message)
    }

    /// Somebody else wrote meanwhile.
    #[must_use]
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::with(code::E_INVALID, "conflict", message)
    }

    /// Known, but not offered.
    #[must_use]
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::with(code::E_UNSUPPORTED, "unsupported", message)
    }

    /// Too much at once; the same call may succeed a moment later.
    #[must_use]
    pub fn busy(message: impl Into<String>) -> Self {
        Self::with(code::E_BUSY, "busy", message).retryable()
    }

    /// Not allowed.
    #[must_use]
    pub fn denied(message: impl Into<String>) -> Self {
        Self::with(code::E_DENIED, "denied", message)
    }

    /// Nobody waits for the call any more.
    #[must_use]
    pub fn cancelled() -> Self {
        Self::with(code::E_CANCELLED, "cancelled", "the call was cancelled")
    }

    /// With a status of `roster_abi::code`, or one below -1000 of the plugin's own.
    #[must_use]
    pub fn with(status: i32, code: impl Into<String>, message: impl Into<String>) -> Self {
        let fault = Fault { code: code.into(), message: message.into(), ..Fault::default() };
        // A failure with a good status would be an answer.
        let status = if status < 0 { status } else { code::E_INTERNAL };
        Self { status, fault: Box::new(fault) }
    }

    /// From what came over the boundary.
    #[must_use]
    pub(crate) fn of_fault(status: i32, fault: Fault) -> Self {
        Self { status, fault: Box::new(fault) }
    }

    /// The same call may succeed a moment later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.fault.retryable = true;
        self
    }

    /// With more about it.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.fault.details = details;
        self
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> i32 {
        self.status
    }

    /// Code, message and details.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.fault
    }
}

// No `std::error::Error` for it: else the conversion below would meet the one of a type into itself.
impl<E: StdError> From<E> for Error {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            message.push_str(": ");
            message.push_str(&cause.to_string());
            source = cause.source();
        }
        Self::with(code::E_INTERNAL, "internal", message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.fault.code, self.status, self.fault.message)
    }
}
