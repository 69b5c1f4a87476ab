//! How problems look.

use super::*;

fn problem(source: &str, needle: &str) -> Problem {
    let start = source.find(needle).unwrap();
    Problem::error("unknown_key", "agents/poet.toml", format!("unknown key `{needle}`"))
        .at(source, start..start + needle.len())
        .help("did you mean `max_steps`?")
}

fn shown(source: &str, problem: &Problem, width: usize) -> String {
    to_text(std::slice::from_ref(problem), &|_| Some(source), Style { colour: false, width, wrap: true })
}

fn without_colours(text: &str) -> String {
    let parts = text.split('\u{1b}').enumerate();
    parts.map(|(at, part)| if at > 0 { part.split_once('m').unwrap().1 } else { part }).collect()
}

#[test]
fn a_problem_shows_its_line_with_a_caret() {
    let source = "id = \"poet\"\ninstructions = \"x\"\nmax_step = 3\n";
    let expected = "\
error[unknown_key]: unknown key `max_step`
 --> agents/poet.toml:3:1
  |
3 | max_step = 3
  | ^^^^^^^^
  |
  = help: did you mean `max_steps`?

1 error in 1 file
";
    assert_eq!(shown(source, &problem(source, "max_step"), 80), expected);
}

#[test]
fn problems_are_sorted_and_counted() {
    let source = "a = 1\nb = 2\n";
    let of = |file: &str, needle: &str| Problem { file: file.to_owned(), ..problem(source, needle) };
    let warning = Problem::warning("unregistered", "agents/x.toml", "the file has no line");
    let problems = [of("b.toml", "b"), of("b.toml", "a"), of("a.toml", "b"), warning];
    let text = to_text(&problems, &|_| Some(source), Style::default());
    let places: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("--> ")).collect();
    assert_eq!(places, ["a.toml:2:1", "agents/x.toml", "b.toml:1:1", "b.toml:2:1"]);
    assert!(text.ends_with("3 errors and 1 warning in 3 files\n"), "{text}");
    assert_eq!(to_text(&[], &|_| None, Style::default()), "");
}

#[test]
fn a_long_line_is_cut_round_the_caret() {
    let source = format!("text = \"{}\", here = 3, more = \"{}\"\n", "x".repeat(3000), "y".repeat(2000));
    let text = shown(&source, &problem(&source, "here"), 80);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[1].ends_with("agents/poet.toml:1:3012"), "the column is that of the whole line: {text}");
    let (code, caret) = (lines[3], lines[4]);
    let at = caret.find('^').unwrap();
    let under: String = code.chars().skip(at).take(4).collect();
    assert_eq!(under, "here", "{text}");
    assert!(code.ends_with('…') && code.contains("…xxx"), "{text}");
}

#[test]
fn wide_characters_and_tabs_keep_the_caret_in_place() {
    let source = "\t漢字 = 3\n";
    let text = shown(source, &problem(source, "= 3"), 80);
    let lines: Vec<&str> = text.lines().collect();
    let columns_before = |line: &str, needle: char| line::columns(&line[..line.find(needle).unwrap()]);
    assert_eq!(columns_before(lines[3], '='), columns_before(lines[4], '^'), "{text}");
}

#[test]
fn a_long_line_of_wide_characters_fits_too() {
    let source = format!("{} here {}\n", "漢".repeat(500), "字".repeat(500));
    let text = shown(&source, &problem(&source, "here"), 80);
    for line in text.lines() {
        assert!(line::columns(line) <= 80, "{line}");
    }
}

#[test]
fn messages_are_wrapped_at_words() {
    let source = "a = 1\n";
    let mut long = problem(source, "a");
    long.message = "word ".repeat(40).trim().to_owned();
    long.help =
        Some("known here: id, name, description, instructions, instructions_file, model, memory, resource".to_owned());
    let text = shown(source, &long, 80);
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_place_at_the_end_of_the_file_is_shown() {
    let source = "a = [";
    let at_end = Problem::error("unclosed_list", "x.toml", "a list that is not closed").at(source, 5..5);
    let text = shown(source, &at_end, 80);
    assert!(text.contains("x.toml:1:6") && text.contains('^'), "{text}");
    let empty = Problem::error("missing_key", "x.toml", "`id` is missing").at("", 0..0);
    assert!(shown("", &empty, 80).contains("x.toml:1:1"));
}

#[test]
fn without_the_source_the_place_is_named() {
    let source = "a\nb\n";
    let text = to_text(&[problem(source, "b")], &|_| None, Style::default());
    assert!(text.contains("--> agents/poet.toml:2:1"), "{text}");
    let of_the_file = Problem::error("file_missing", "agents", "`agents` does not exist");
    let text = to_text(&[of_the_file], &|_| None, Style::default());
    assert!(text.contains("--> agents\n"), "{text}");
}

#[test]
fn colour_only_when_asked_for() {
    let source = "a = 1\n";
    let coloured = Style { colour: true, ..Style::default() };
    let text = to_text(&[problem(source, "a")], &|_| Some(source), coloured);
    assert!(text.contains('\u{1b}'));
    assert!(!shown(source, &problem(source, "a"), 80).contains('\u{1b}'));
}

#[test]
fn json_has_the_fields_of_a_problem() {
    let source = "id = 1\nmax_step = 3\n";
    let json = to_json(&[problem(source, "max_step").of("poet")]).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        value,
        serde_json::json!([{
            "severity": "error", "code": "unknown_key", "message": "unknown key `max_step`", "file": "agents/poet.toml",
            "line": 2, "column": 1, "help": "did you mean `max_steps`?", "agent": "poet"
        }])
    );
}

#[test]
fn messages_are_whole_where_no_terminal_shows_them() {
    let source = "a = 1\n";
    let long = Problem { message: "word ".repeat(40).trim().to_owned(), ..problem(source, "a") };
    let text = to_text(std::slice::from_ref(&long), &|_| Some(source), Style::default());
    assert!(text.contains(&long.message), "{text}");
}

#[test]
fn a_line_to_add_stands_whole_on_a_line_of_its_own() {
    let source = "a = 1\n";
    let line = "a-very-long-identifier-of-an-agent = \"a-very-long-identifier-of-an-agent-too.toml\"";
    let help = problem(source, "a").help(format!("add this line under [agents] in config/registry.toml:\n{line}"));
    for width in [40, 80] {
        let text = shown(source, &help, width);
        assert!(text.lines().any(|shown| shown.trim() == line), "{text}");
    }
    let nowhere = Problem { span: None, line: None, column: None, ..help };
    assert!(shown(source, &nowhere, 80).lines().any(|shown| shown.trim() == line));
    let coloured = to_text(std::slice::from_ref(&nowhere), &|_| None, Style { colour: true, width: 80, wrap: true });
    assert_eq!(without_colours(&coloured), shown(source, &nowhere, 80));
}

#[test]
fn credentials_of_an_address_are_never_shown() {
    let source = "base_url = \"https://me:pw@example.org\" # x\n";
    let shouted = Problem { message: "`https://me:pw@example.org` is bad".to_owned(), ..problem(source, "\"https") };
    let text = shown(source, &shouted, 80);
    assert!(text.contains("*****@example.org") && !text.contains("pw"), "{text}");
    assert!(!to_json(&[shouted]).unwrap().contains("pw"));
}
