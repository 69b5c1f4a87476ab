use roster_engine::definition::{Unreadable, load_agent};
use roster_model::id::AgentId;

use super::registry_line::{LineFault, with_line};
use super::{definition_text, readable};

fn check(before: &str, after: &str) {
    assert_eq!(with_line(before, "poet", "poet.toml").as_deref(), Ok(after), "{before:?}");
}

#[test]
fn a_line_is_added_and_the_rest_stays() {
    check("", "[agents]\npoet = \"poet.toml\"\n");
    check("[agents]\n", "[agents]\npoet = \"poet.toml\"\n");
    check("[agents]", "[agents]\npoet = \"poet.toml\"\n");
    check(
        "# mine\n[agents]\n  a   =  'a.toml'   # first\n\n# second\nb = \"b.toml\"\n",
        "# mine\n[agents]\n  a   =  'a.toml'   # first\n\n# second\nb = \"b.toml\"\npoet = \"poet.toml\"\n",
    );
    check("[agents]\r\na = \"a.toml\" # x\r\n", "[agents]\r\na = \"a.toml\" # x\r\npoet = \"poet.toml\"\r\n");
    check("\u{feff}[agents]\n", "\u{feff}[agents]\npoet = \"poet.toml\"\n");
}

#[test]
fn an_id_with_dots_is_one_key() {
    let after = with_line("[agents]\n", "billing.eu", "billing.eu.toml");
    assert_eq!(after.as_deref(), Ok("[agents]\n\"billing.eu\" = \"billing.eu.toml\"\n"));
}

#[test]
fn what_is_taken_or_broken_is_refused() {
    assert_eq!(with_line("[agents]\npoet = \"x.toml\"\n", "poet", "poet.toml"), Err(LineFault::Taken));
    assert_eq!(with_line("[agents\n", "poet", "poet.toml"), Err(LineFault::Unreadable));
    assert_eq!(with_line("agents = 3\n", "poet", "poet.toml"), Err(LineFault::Unreadable));
}

#[test]
fn the_definition_it_writes_loads_without_a_problem() {
    let id = AgentId::new("tea-master.2").expect("legal");
    let text = definition_text(&id, "demo/\"odd\"\\model");
    let loaded = load_agent("agents/x.toml", text.as_bytes(), &|_: &str| Err(Unreadable::Missing));
    assert_eq!(loaded.problems, []);
    let definition = loaded.definition.expect("whole");
    assert_eq!((definition.id, definition.name.as_str()), (id, "Tea Master 2"));
    assert!(definition.memory.is_some());
}

#[test]
fn names_for_people() {
    assert_eq!(readable("a"), "A");
    assert_eq!(readable("0x-y_z"), "0x Y Z");
}
