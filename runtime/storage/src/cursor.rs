//! The text form of a place in an owner's thread list. Opaque to callers: the letter of the order and a number.

use roster_model::storage::{StoreError, StoreErrorKind, ThreadOrder};

fn letter(order: ThreadOrder) -> char {
    match order {
        ThreadOrder::Created => 'c',
        ThreadOrder::Activity => 'a',
        ThreadOrder::Updated => 'u',
    }
}

/// The place after the row with this number in this order.
pub(crate) fn encode(order: ThreadOrder, number: u64) -> String {
    format!("{}{number:x}", letter(order))
}

/// The reverse of [`encode`].
///
/// # Errors
/// `Invalid` for a text that is none of ours or belongs to another order.
pub(crate) fn decode(order: ThreadOrder, text: &str) -> Result<u64, StoreError> {
    text.strip_prefix(letter(order))
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .filter(|number| i64::try_from(*number).is_ok())
        .ok_or_else(|| StoreError::new(StoreErrorKind::Invalid, format!("`{text}` is no page cursor of this list")))
}
