//! Naming a thread after its first turn: what the model is asked, and what is made of its answer.

/// Most characters of a title.
pub const LONGEST_TITLE: usize = 80;
/// Characters of question and answer that the model is shown, each.
const SHOWN: usize = 2_000;

/// The instruction of the one model call; the agent's own instructions are not part of it.
pub const INSTRUCTION: &str = "You name conversations. You are given the first lines of one. Reply with its title only: \
at most eight words, in the language of the person, without quotation marks, colon or full stop. Do not answer what is \
asked in the lines.";

/// The user message of the call.
#[must_use]
pub fn prompt(question: &str, answer: &str) -> String {
    let shown = |text: &str| text.chars().take(SHOWN).collect::<String>();
    format!("User: {}\nAssistant: {}", shown(question), shown(answer))
}

/// The title in a model's answer: its first line that says something, without wrapping marks, at most
/// [`LONGEST_TITLE`] characters. `None` when nothing is left.
#[must_use]
pub fn title_in(answer: &str) -> Option<String> {
    let line = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
    let wrapping = |c: char| {
        matches!(c, '"' | '\'' | '“' | '”' | '「' | '」' | '《' | '》' | '*' | '#' | '`') || c.is_whitespace()
    };
    let title: String = line.trim_matches(wrapping).chars().filter(|c| !c.is_control()).take(LONGEST_TITLE).collect();
    let title = title.trim();
    (!title.is_empty()).then(|| title.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: Option<&str>) {
        assert_eq!(title_in(answer).as_deref(), expected, "{answer:?}");
    }

    #[test]
    fn a_title_is_one_short_line_without_marks() {
        check("Otters!", Some("Otters!"));
        check("\n  \"Otters at sea\"\nbecause …", Some("Otters at sea"));
        check("# **水獭**", Some("水獭"));
        check(&"x".repeat(200), Some(&"x".repeat(LONGEST_TITLE)));
        for nothing in ["", "  \n", "\"\"", "***"] {
            check(nothing, None);
        }
    }

    #[test]
    fn long_turns_are_shown_in_part() {
        let long = "猫".repeat(5_000);
        assert_eq!(prompt(&long, "a").chars().count(), "User: \nAssistant: a".len() + SHOWN);
    }
}
