//! From bytes to text: what an editor may have put into a file that is no text of ours.

use super::problem::Problem;

/// The largest file read, in bytes: 4 MiB.
pub const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;

/// Reads bytes as UTF-8 text: a leading byte order mark is dropped, `\r\n` becomes `\n`.
///
/// # Errors
/// One [`Problem`] that names the cause and, where there is one, the line: too large, UTF-16, not UTF-8, a byte order
/// mark inside the text, a NUL byte.
pub fn decode(file: &str, bytes: &[u8]) -> Result<String, Box<Problem>> {
    if let Some(problem) = no_text_of_ours(file, bytes) {
        return Err(Box::new(problem));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| Box::new(not_utf8(file, bytes, error.valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match stray_character(file, text) {
        Some(problem) => Err(Box::new(problem)),
        None => Ok(text.replace("\r\n", "\n")),
    }
}

fn no_text_of_ours(file: &str, bytes: &[u8]) -> Option<Problem> {
    if bytes.len() > MAX_FILE_BYTES {
        return Some(too_large(file));
    }
    let name = utf16_mark(bytes)?;
    let problem = Problem::error("encoding", file, format!("the file is saved as {name}, not as UTF-8"));
    Some(problem.at("", 0..0).help("save it again with the encoding UTF-8"))
}

/// The problem of a file that is larger than [`MAX_FILE_BYTES`].
#[must_use]
pub fn too_large(file: &str) -> Problem {
    Problem::error("file_too_large", file, "the file is larger than 4 MiB")
        .at("", 0..0)
        .help("keep long material in documents the agent can look up")
}

fn stray_character(file: &str, text: &str) -> Option<Problem> {
    if let Some(at) = text.find('\u{feff}') {
        let help = "delete the invisible character at this place; joining files leaves one";
        let message = "a byte order mark (U+FEFF) stands inside the text";
        return Some(Problem::error("encoding", file, message).at(text, at..at).help(help));
    }
    let at = text.find('\0')?;
    let help = "delete it; if every second byte is NUL, the file is UTF-16: save it as UTF-8";
    Some(Problem::error("encoding", file, "a NUL byte stands in the text").at(text, at..at).help(help))
}

fn utf16_mark(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xff, 0xfe, ..] => Some("UTF-16 (little endian)"),
        [0xfe, 0xff, ..] => Some("UTF-16 (big endian)"),
        // Without a mark: ASCII letters with a NUL before or after each.
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => Some("UTF-16 (little endian)"),
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => Some("UTF-16 (big endian)"),
        _ => None,
    }
}

fn not_utf8(file: &str, bytes: &[u8], good: usize) -> Problem {
    let before = String::from_utf8_lossy(bytes.get(..good).unwrap_or_default());
    let byte = bytes.get(good).copied().unwrap_or_default();
    let mark = before.strip_prefix('\u{feff}').unwrap_or(&before);
    let mut problem =
        Problem::error("encoding", file, format!("the file is not UTF-8: byte 0x{byte:02x} at this place"))
            .at(mark, mark.len()..mark.len())
            .help("save it again with the encoding UTF-8");
    // The text cannot be shown, so there is nothing a caret could stand under.
    problem.span = None;
    problem
}
