//! Times and sizes as people write them.

use std::time::Duration;

use super::shape::{Fault, TextRule};

/// A time that is not zero: a whole number and `ms`, `s`, `m`, `h` or `d`.
pub static DURATION: TextRule = TextRule {
    noun: "a time such as `\"30s\"`",
    code: "bad_duration",
    pattern: "^0{0,9}[1-9][0-9]{0,8}(ms|s|m|h|d)$",
    check: |text| duration(text).map(|_| ()),
};

/// A size that is not zero: a whole number and `B`, `KiB`, `MiB` or `GiB`.
pub static SIZE: TextRule = TextRule {
    noun: "a size such as `\"4MiB\"`",
    code: "bad_size",
    pattern: "^0{0,9}[1-9][0-9]{0,8}(B|KiB|MiB|GiB|kB|MB|GB)$",
    check: |text| size(text).map(|_| ()),
};

/// Reads `500ms`, `120s`, `2m`, `1h`, `14d`.
///
/// # Errors
/// A [`Fault`] that says which form is wanted.
pub fn duration(text: &str) -> Result<Duration, Fault> {
    let (count, unit) = split(text).ok_or_else(duration_fault)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(duration_fault()),
    };
    Ok(Duration::from_millis(count.saturating_mul(millis)))
}

/// Reads `100B`, `512KiB`, `4MiB`, `1GiB` (also the decimal `kB`, `MB`, `GB`), in bytes.
///
/// # Errors
/// A [`Fault`] that says which form is wanted.
pub fn size(text: &str) -> Result<u64, Fault> {
    let (count, unit) = split(text).ok_or_else(size_fault)?;
    let bytes = match unit {
        "B" => 1,
        "kB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return Err(size_fault()),
    };
    Ok(count.saturating_mul(bytes))
}

/// The number (1 to 999,999,999, leading zeros or not) and what follows it.
fn split(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(end);
    let significant = digits.trim_start_matches('0');
    if digits.len() - significant.len() > 9 || significant.len() > 9 {
        return None;
    }
    let count = significant.parse().ok()?;
    Some((count, unit))
}

fn duration_fault() -> Fault {
    Fault::new("is no time")
        .help("write a whole number above 0 and a unit, without a space: \"500ms\", \"30s\", \"2m\", \"1h\", \"14d\"")
}

fn size_fault() -> Fault {
    Fault::new("is no size")
        .help("write a whole number above 0 and a unit, without a space: \"512KiB\", \"4MiB\", \"1GiB\"")
}
