//! What is taken of files, and when: the files are real, the time is told.

#![expect(clippy::disallowed_methods, reason = "each test makes a project in a folder of its own")]

use std::path::Path;
use std::time::Duration;

use roster_engine::definition::Problem;
use roster_engine::registry::{Candidate, Registry};
use tempfile::TempDir;
use tokio::time::Instant;

use super::candidates::Past;
use super::skeleton::skeleton;
use super::tracked::{PATIENCE, QUIET};
use super::world::World;
use crate::config::load_runtime;

/// A project whose time is told.
struct Told {
    root: TempDir,
    world: World,
    now: Instant,
}

impl Told {
    /// A project of these agents, read as at the start.
    fn new(agents: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("config/runtime.toml", RUNTIME);
        let lines: String = agents.iter().map(|id| format!("{id} = \"{id}.toml\"\n")).collect();
        write("config/registry.toml", &format!("[agents]\n{lines}"));
        std::fs::create_dir_all(root.path().join("agents")).unwrap();
        for id in agents {
            write(&format!("agents/{id}.toml"), &text(id, "first"));
        }
        let config = load_runtime(RUNTIME.as_bytes(), &|_| None).config.unwrap();
        let world = World::new(root.path(), |_| None, config);
        let mut told = Self { root, world, now: Instant::now() };
        told.world.read_all(told.now, true);
        assert!(told.world.changed);
        told.world.changed = false;
        told
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        self.root.path().join(file)
    }

    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).unwrap();
    }

    /// Lets time pass in small steps, looking at whatever is due; whether anything was taken.
    fn pass(&mut self, time: Duration) -> bool {
        let end = self.now + time;
        while self.now < end {
            self.now = (self.now + Duration::from_millis(10)).min(end);
            if self.world.due().is_some_and(|due| due <= self.now) {
                self.world.look_at_due(self.now);
            }
        }
        std::mem::take(&mut self.world.changed)
    }

    fn candidates(&self) -> Vec<Candidate> {
        self.world.candidates(&Registry::default().snapshot(), &Past::default())
    }

    fn instructions(&self, id: &str) -> Option<String> {
        let candidate = self.candidates().into_iter().find(|candidate| candidate.id.as_str() == id)?;
        Some(candidate.definition.as_ref()?.instructions.clone())
    }

    fn codes(&mut self) -> Vec<&'static str> {
        let of_agents = self.candidates().into_iter().flat_map(|candidate| candidate.problems);
        let problems: Vec<Problem> = self.world.problems().into_iter().chain(of_agents).collect();
        problems.iter().map(|problem| problem.code).collect()
    }
}

const RUNTIME: &str = "[project]\n[gateway]\nlisten = \"127.0.0.1:8787\"\n";

fn text(id: &str, instructions: &str) -> String {
    format!("id = \"{id}\"\ninstructions = \"{instructions}\"\n")
}

#[test]
fn a_new_text_is_taken_when_it_was_quiet() {
    let mut told = Told::new(&["a", "b"]);
    told.write("agents/a.toml", &text("a", "second"));
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(QUIET - Duration::from_millis(20)));
    assert_eq!(told.instructions("a").unwrap(), "first");
    assert!(told.pass(Duration::from_millis(40)));
    assert_eq!(told.instructions("a").unwrap(), "second");
    assert!(told.world.due().is_none(), "all is settled");
}

#[test]
fn a_file_between_its_two_halves_is_never_taken() {
    let mut told = Told::new(&["a"]);
    let name: std::path::PathBuf = "agents/a.toml".into();
    told.write("agents/a.toml", "id = \"a\"\ninstructions = \"half\"\n");
    told.world.writing.insert(name.clone(), told.now);
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(PATIENCE * 2), "it parses, but is not closed");
    told.write("agents/a.toml", &text("a", "half and half"));
    told.world.writing.remove(&name);
    told.world.touched("a.toml", true, told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("a").unwrap(), "half and half");
}

#[test]
fn a_storm_on_one_file_holds_no_other_up() {
    let mut told = Told::new(&["a", "b"]);
    told.write("agents/b.toml", &text("b", "second"));
    told.world.touched("b.toml", true, told.now);
    let mut taken = 0;
    for number in 0..20 {
        told.write("agents/a.toml", &text("a", &format!("storm {number}")));
        told.world.touched("a.toml", true, told.now);
        taken += usize::from(told.pass(Duration::from_millis(50)));
        assert_eq!(told.instructions("a").unwrap(), "first");
    }
    assert_eq!(taken, 1);
    assert_eq!(told.instructions("b").unwrap(), "second");
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("a").unwrap(), "storm 19");
}

#[test]
fn a_broken_file_is_given_its_time_and_then_listed() {
    let mut told = Told::new(&["a"]);
    told.write("agents/a.toml", "id = \"a\"\ninstructions = \"x\"\nnonsense\n");
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(PATIENCE - Duration::from_millis(50)));
    assert!(told.pass(Duration::from_millis(100)));
    assert_eq!(told.instructions("a"), None);
    assert_eq!(told.codes(), ["syntax"]);
    told.write("agents/a.toml", &text("a", "second"));
    told.world.touched("a.toml", true, told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("a").unwrap(), "second");
    assert!(told.codes().is_empty());
}

#[test]
fn an_empty_file_that_is_filled_soon_was_never_a_value() {
    let mut told = Told::new(&["a"]);
    told.write("agents/a.toml", "");
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(Duration::from_millis(800)));
    told.write("agents/a.toml", &text("a", "second"));
    told.world.touched("a.toml", true, told.now);
    assert!(told.pass(QUIET * 2));
    assert!(told.codes().is_empty());
}

#[test]
fn a_missing_file_is_looked_for_and_then_gone() {
    let mut told = Told::new(&["a", "b"]);
    std::fs::remove_file(told.path("agents/a.toml")).unwrap();
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(PATIENCE - Duration::from_millis(50)));
    assert!(told.candidates().iter().all(|candidate| !candidate.gone));
    assert!(told.pass(Duration::from_millis(100)));
    assert!(told.candidates()[0].gone);
    assert_eq!(told.codes(), ["file_missing"]);
    told.write("agents/a.toml", &text("a", "again"));
    told.world.touched("a.toml", true, told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("a").unwrap(), "again");
}

#[test]
fn deleting_and_making_anew_with_the_same_text_changes_nothing() {
    let mut told = Told::new(&["a"]);
    std::fs::remove_file(told.path("agents/a.toml")).unwrap();
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(QUIET * 2));
    told.write("agents/a.toml", &text("a", "first"));
    told.world.touched("a.toml", true, told.now);
    assert!(!told.pass(PATIENCE * 2));
    assert!(told.world.due().is_none());
}

#[test]
fn while_the_folder_is_away_nothing_in_it_is_missing() {
    let mut told = Told::new(&["a", "b"]);
    std::fs::rename(told.path("agents"), told.path("elsewhere")).unwrap();
    told.world.look_at_all(told.now);
    assert!(told.pass(PATIENCE * 5));
    assert_eq!(told.codes(), ["file_missing"], "one problem: the folder's");
    assert_eq!(told.instructions("a").unwrap(), "first");
    std::fs::rename(told.path("elsewhere"), told.path("agents")).unwrap();
    told.world.look_at_all(told.now);
    told.pass(PATIENCE * 2);
    assert!(told.codes().is_empty());
    assert_eq!(told.instructions("b").unwrap(), "first");
}

#[test]
fn a_broken_registry_changes_nothing_and_is_one_problem() {
    let mut told = Told::new(&["a", "b"]);
    for broken in ["[agents\na = \"a.toml\"\n", "", "[agents]\na = \"a.toml\nb = \"b.toml\"\n"] {
        told.write("config/registry.toml", broken);
        told.world.touched_config(true, "config/registry.toml", told.now);
        assert!(told.pass(PATIENCE * 2), "{broken:?}");
        assert_eq!(told.candidates().len(), 2, "{broken:?}");
        assert_eq!(told.codes().len(), 1, "{broken:?}: {:?}", told.world.problems());
    }
    std::fs::remove_file(told.path("config/registry.toml")).unwrap();
    told.world.touched_config(true, "config/registry.toml", told.now);
    assert!(told.pass(PATIENCE * 2));
    assert_eq!((told.candidates().len(), told.codes()), (2, vec!["file_missing"]));
    told.write("config/registry.toml", "[agents]\nb = \"b.toml\"\n");
    told.world.touched_config(true, "config/registry.toml", told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!((told.candidates().len(), told.codes()), (1, vec!["unregistered"]));
}

#[test]
fn a_new_line_waits_for_its_file_to_be_quiet() {
    let mut told = Told::new(&["a"]);
    told.write("config/registry.toml", "[agents]\na = \"a.toml\"\nnew = \"new.toml\"\n");
    told.world.touched_config(true, "config/registry.toml", told.now);
    told.pass(QUIET - Duration::from_millis(50));
    told.write("agents/new.toml", &text("new", "half"));
    told.world.touched("new.toml", true, told.now);
    assert!(told.pass(Duration::from_millis(60)), "the registry");
    assert_eq!(told.candidates().len(), 1);
    assert!(told.pass(QUIET));
    assert_eq!(told.instructions("new").unwrap(), "half");
}

#[test]
fn an_instructions_file_belongs_to_its_agent() {
    let mut told = Told::new(&["a"]);
    told.write("agents/a.toml", "id = \"a\"\ninstructions_file = \"a.md\"\n");
    told.write("agents/a.md", "one");
    told.world.touched("a.toml", true, told.now);
    told.pass(QUIET * 3);
    assert_eq!(told.instructions("a").unwrap(), "one");
    told.write("agents/a.md", "two");
    told.world.touched("a.md", true, told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("a").unwrap(), "two");
    std::fs::remove_file(told.path("agents/a.md")).unwrap();
    told.world.touched("a.md", true, told.now);
    assert!(!told.pass(QUIET * 3), "it may come back");
    told.write("agents/a.md", "three");
    told.world.touched("a.md", true, told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("a").unwrap(), "three");
}

#[test]
fn a_request_reads_without_waiting() {
    let mut told = Told::new(&["a"]);
    told.write("agents/a.toml", &text("a", "second"));
    told.world.read_all(told.now, false);
    assert_eq!(told.instructions("a").unwrap(), "second");
    told.write("agents/a.toml", "broken");
    told.world.read_all(told.now, false);
    assert_eq!(told.codes(), ["syntax"]);
}

#[test]
fn what_no_stamp_shows_is_found_by_comparing() {
    let names: Vec<String> = (0..100).map(|number| format!("agent-{number}")).collect();
    let mut told = Told::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    told.write("agents/agent-50.toml", &text("agent-50", "other"));
    let mut at = None;
    let mut slices = 0;
    loop {
        at = told.world.compare_slice(at, told.now);
        slices += 1;
        if at.is_none() {
            break;
        }
    }
    assert_eq!(slices, 4);
    told.world.look_at_due(told.now);
    assert!(told.pass(QUIET * 2));
    assert_eq!(told.instructions("agent-50").unwrap(), "other");
}

#[test]
fn what_needs_a_restart_says_so_where_it_stands() {
    let mut told = Told::new(&[]);
    told.write("config/runtime.toml", "[project]\n[gateway]\nlisten = \"127.0.0.1:9999\"\n[limits]\nbody = \"1MiB\"\n");
    told.world.touched_config(true, "config/runtime.toml", told.now);
    assert!(told.pass(QUIET * 2));
    let problems: Vec<String> = told.world.problems().iter().map(ToString::to_string).collect();
    let expected = "config/runtime.toml:3:10: warning[needs_restart]: `gateway.listen` was changed; it takes effect with \
                    the next start";
    assert_eq!(problems, [expected]);
    assert_eq!(told.world.settings.config.limits.body, 1 << 20, "the rest is in effect");
}

#[test]
fn what_is_kept_of_traces_needs_a_restart_and_their_share_does_not() {
    let mut told = Told::new(&[]);
    let text = "[project]\n[observability]\nsample = 0.5\nretention = \"1d\"\nmax_size = \"1MiB\"\n";
    told.write("config/runtime.toml", text);
    told.world.touched_config(true, "config/runtime.toml", told.now);
    assert!(told.pass(QUIET * 2));
    let places: Vec<_> = told.world.problems().iter().map(|problem| (problem.code, problem.line)).collect();
    assert_eq!(places, [("needs_restart", Some(4)), ("needs_restart", Some(5))]);
    assert!((told.world.settings.config.observability.sample - 0.5).abs() < f64::EPSILON);
}

#[test]
fn a_broken_configuration_changes_nothing() {
    let mut told = Told::new(&[]);
    told.write("config/runtime.toml", "[project]\n[models]\nx = \"${NOT_SET}/x\"\n[limits]\nbody = \"1MiB\"\n");
    told.world.touched_config(true, "config/runtime.toml", told.now);
    assert!(!told.pass(QUIET * 3));
    assert!(told.pass(PATIENCE));
    assert_eq!(told.codes().len(), 1);
    assert_eq!(told.world.settings.config.limits.body, 4 << 20);
}

#[test]
fn a_skeleton_points_at_the_same_places() {
    let source = "id = \"a\"\ninstructions = \"\"\"\nmany\nlines 漢\n\"\"\"\nmodel = \"x/漢字\"\ntools = [\n  \"one\",\n  \"two\",\n]\n\
                  agents = [\"b\"]\n[tool_settings.one]\ntimeout = \"5s\"\nmax = 3\n";
    let loaded = roster_engine::definition::load_agent("agents/a.toml", source.as_bytes(), &|_: &str| unreachable!());
    let whole = loaded.positions;
    let short = skeleton(&whole);
    assert!(short.source.len() < whole.source.len());
    let places = |positions: &roster_engine::definition::Positions| {
        let named = positions.model.iter().chain(&positions.tools).chain(&positions.agents);
        let settings = positions.setting("one", "max").into_iter().chain(positions.setting("one", "none"));
        let spans: Vec<_> =
            named.cloned().chain(settings).chain(positions.id.iter().map(|(_, span)| span.clone())).collect();
        spans
            .into_iter()
            .map(|span| {
                let words = positions.source[span.clone()].to_owned();
                let problem = positions.error("x", Some(span), "x");
                (problem.line, problem.column, words)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(places(&short), places(&whole));
    assert!(places(&short).len() >= 6);
}

#[test]
fn a_slimmed_unit_still_knows_its_lines() {
    let mut told = Told::new(&["a"]);
    let unit = told.world.units.get_mut("a.toml").unwrap();
    let fingerprint = unit.text().unwrap().definition.as_ref().unwrap().fingerprint.clone();
    let agent = roster_model::id::AgentId::new("a").unwrap();
    assert!(unit.text().unwrap().version(&agent, &fingerprint).is_some());
    assert!(unit.text().unwrap().version(&agent, "another").is_none());
    unit.slim();
    assert!(unit.text().unwrap().version(&agent, &fingerprint).is_none(), "its text is the ledger's now");
    assert!(Path::new(&*unit.text().unwrap().positions.file).ends_with("a.toml"));
}

#[test]
fn a_file_that_another_line_names_is_not_what_was_meant() {
    let mut told = Told::new(&["clerk-one"]);
    let help = |told: &Told| {
        let candidate = told.candidates().into_iter().find(|candidate| candidate.id.as_str() == "clerk-two");
        candidate.and_then(|candidate| candidate.problems[0].help.clone()).unwrap()
    };
    let lines = "clerk-one = \"clerk-one.toml\"\nclerk-two = \"clerk-two.toml\"\n";
    told.write("config/registry.toml", &format!("[agents]\n{lines}"));
    told.world.touched_config(true, "config/registry.toml", told.now);
    assert!(told.pass(PATIENCE * 2));
    assert_eq!(help(&told), "make the file, or delete this line");
    told.write("agents/clerk-tow.toml", &text("clerk-two", "here"));
    told.world.read_all(told.now, false);
    assert!(told.pass(PATIENCE * 2));
    assert_eq!(help(&told), "did you mean \"clerk-tow.toml\"?");
}
