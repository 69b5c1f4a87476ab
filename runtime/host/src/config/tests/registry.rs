//! `config/registry.toml`.

use crate::config::{LoadedRegistry, load_registry};

fn load(text: &str) -> LoadedRegistry {
    load_registry(text.as_bytes())
}

/// The lines as `id=file`, and the problems as `line:column code agent`.
fn check(text: &str, lines: &[&str], problems: &[&str]) {
    let loaded = load(text);
    let found: Vec<String> =
        loaded.lines.iter().map(|line| format!("{}={}", line.id, line.file.as_deref().unwrap_or("?"))).collect();
    assert_eq!(found, lines, "{text}\n{:?}", loaded.problems);
    let found: Vec<String> = loaded
        .problems
        .iter()
        .map(|problem| {
            let agent = problem.agent.as_deref().map(|agent| format!(" {agent}")).unwrap_or_default();
            format!("{}:{} {}{agent}", problem.line.unwrap_or(0), problem.column.unwrap_or(0), problem.code)
        })
        .collect();
    assert_eq!(found, problems, "{text}\n{:?}", loaded.problems);
}

#[test]
fn lines_keep_the_order_of_the_file() {
    check("[agents]\nz = \"z.toml\"\na = \"deep/a.toml\"\n", &["z=z.toml", "a=deep/a.toml"], &[]);
    check("[agents]\n", &[], &[]);
}

#[test]
fn of_two_lines_the_first_counts() {
    check(
        "[agents]\na = \"1.toml\"\nb = \"b.toml\"\na = \"2.toml\"\n",
        &["a=1.toml", "b=b.toml"],
        &["4:1 duplicate_key"],
    );
    let help = load("[agents]\na = \"1.toml\"\na = \"2.toml\"\n").problems.remove(0).message;
    assert_eq!(help, "`a` stands twice; the first line counts");
}

#[test]
fn a_bad_line_is_a_problem_of_its_agent_alone() {
    check("[agents]\na = 3\nb = \"b.toml\"\n", &["a=?", "b=b.toml"], &["2:5 wrong_type a"]);
    check("[agents]\na = \"../a.toml\"\n", &["a=?"], &["2:5 bad_path a"]);
    check("[agents]\na = \"/etc/a.toml\"\n", &["a=?"], &["2:5 bad_path a"]);
    check("[agents]\na = 'b\\a.toml'\n", &["a=?"], &["2:5 bad_path a"]);
    check("[agents]\na = \"deep/../../a.toml\"\n", &["a=?"], &["2:5 bad_path a"]);
    check(
        "[agents]\na = \"a.md\"\nb = \".b.toml\"\nc = \"c.test.toml\"\n",
        &["a=?", "b=?", "c=?"],
        &["2:5 bad_path a", "3:5 bad_path b", "4:5 bad_path c"],
    );
    check(
        "[agents]\nA = \"a.toml\"\n\"..\" = \"b.toml\"\n\"a/b\" = \"c.toml\"\n",
        &[],
        &["2:1 bad_id", "3:1 bad_id", "4:1 bad_id"],
    );
}

#[test]
fn a_bare_key_with_a_dot_is_explained() {
    let loaded = load("[agents]\nchat.v2 = \"a.toml\"\n");
    assert_eq!(loaded.problems.len(), 1, "{:?}", loaded.problems);
    let help = loaded.problems[0].help.clone().unwrap();
    assert!(help.contains("\"chat.v2\" = "), "{help}");
}

#[test]
fn what_can_be_read_of_a_broken_file_is_read() {
    check(
        "[agents]\na = \"a.toml\"\nb = \"b.toml\nc = \"c.toml\"\n",
        &["a=a.toml", "b=b.toml", "c=c.toml"],
        &["3:5 unclosed_string"],
    );
    check("[agents]\na = \"a.toml\"\nb \"b.toml\"\nc = \"c.toml\"\n", &["a=a.toml", "c=c.toml"], &["3:3 syntax"]);
    check(
        "[agents]\nb \"b.toml\"\nc = 3\nd \n\"E\" = \"e.toml\"\n",
        &["c=?"],
        &["2:3 syntax", "3:5 wrong_type c", "4:3 syntax", "5:1 bad_id"],
    );
    check("[agents\na = \"a.toml\"\n", &[], &["1:8 unclosed_header"]);
    check("[agents]\na = [\"a.toml\"\nb = \"b.toml\"\n", &["a=?", "b=b.toml"], &["2:5 unclosed_list a"]);
    check(
        "[agents]\na = \"a.toml\"\n<<<<<<< ours\nb = \"b.toml\"\n>>>>>>> theirs\n",
        &["a=a.toml", "b=b.toml"],
        &["3:1 merge_conflict", "5:1 merge_conflict"],
    );
    check("[agent]\na = \"a.toml\"\n", &[], &["1:1 missing_key", "1:2 unknown_key"]);
    check("", &[], &["1:1 missing_key"]);
    check("agents = 3\n", &[], &["1:10 wrong_type"]);
    check("version = 1\n[agents]\na = \"a.toml\"\n", &["a=a.toml"], &["1:1 unknown_key"]);
    assert_eq!(load_registry(b"[agents]\na = \"\xff\"\n").problems[0].code, "encoding");
}

#[test]
fn a_second_table_does_not_take_the_first_away() {
    let loaded = load("[agents]\na = \"a.toml\"\n[agents]\nb = \"b.toml\"\n");
    assert_eq!(loaded.lines.first().map(|line| line.id.as_str()), Some("a"), "{loaded:?}");
    assert!(loaded.problems.iter().any(|problem| problem.code == "duplicate_key"));
}

#[test]
fn a_line_that_stands_twice_is_told_beside_every_other_fault() {
    check(
        "[agents]\na = \"1.toml\"\na = \"2.toml\"\nb \"b.toml\"\nc = 3\n",
        &["a=1.toml", "c=?"],
        &["3:1 duplicate_key", "4:3 syntax", "5:5 wrong_type c"],
    );
    check(
        "[agents]\na = \"1.toml\na = \"2.toml\"\na = \"3.toml\"\n",
        &["a=1.toml"],
        &["2:5 unclosed_string", "3:1 duplicate_key", "4:1 duplicate_key"],
    );
    let first = load("[agents]\na = \"1.toml\"\na = \"2.toml\"\nb \"b.toml\"\n").problems.remove(0);
    assert_eq!(first.message, "`a` stands twice; the first line counts");
}
