//! What a reload does to turns and memories.

use roster_testkit::scripted::{Gate, Reply, ScriptedServer};

use super::{Live, file, until};
use crate::http::{chat, open_chat, question, read_until, rest};
use crate::project::Project;
use crate::roster::Roster;

#[tokio::test]
async fn a_running_turn_ends_on_the_version_it_began_with() {
    let server = ScriptedServer::start().await;
    let project = Project::scripted(&server).agent("clerk", "instructions = \"one\"\ntools = [\"get_time\"]");
    let roster = Roster::serve(&project).await;
    let gate = Gate::new();
    server.push(Reply::tool_calls([("call_1", "get_time", "{}")]).hold(&gate));
    server.push(Reply::text("done"));
    let response = open_chat(&roster, &question("clerk", "long", "what time is it?")).await;
    server.wait_for_requests(1).await;
    project.write("agents/clerk.toml", file("clerk", "two"));
    until("the new version is served", async || roster.stderr().contains("reloaded generation=2")).await;
    gate.open();
    let frames = rest(response, "").await;
    assert_eq!(frames.text(), "done");
    let system = |at: usize| server.requests()[at].messages()[0]["content"].clone();
    assert_eq!((system(0), system(1)), ("one".into(), "one".into()));
    chat(&roster, &question("clerk", "next", "and now?")).await;
    assert_eq!(system(2), "two");
}

#[tokio::test]
async fn the_factory_is_called_when_the_memory_changes_and_at_no_other_time() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"0\"\nmemory = \"create_memory\"")).await;
    let rest = [
        ("memory = \"create_memory\"\nmax_steps = 2", 1.0),
        ("[memory]\nfactory = \"create_memory\"\nlast_messages = 4", 2.0),
        ("resource = \"office\"\n[memory]\nfactory = \"create_memory\"\nlast_messages = 4", 3.0),
        (
            "resource = \"office\"\ntools = [\"get_time\"]\n[memory]\nfactory = \"create_memory\"\nlast_messages = 4",
            3.0,
        ),
        ("", 3.0),
    ];
    for (number, (body, calls)) in rest.into_iter().enumerate() {
        let words = format!("{}", number + 1);
        live.project.write("agents/clerk.toml", format!("{}{body}\n", file("clerk", &words)));
        live.until_says("clerk", &words).await;
        let counted = live.counter("roster_memory_factory_calls_total{agent=\"clerk\"}").await;
        assert!((counted - calls).abs() < f64::EPSILON, "{body}: {counted}");
    }
    let published = live.counter("roster_reloads_total{outcome=\"published\"}").await;
    assert!((published - 5.0).abs() < f64::EPSILON, "{published}");
    assert!((live.counter("roster_registry_generation").await - 6.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_thread_goes_on_over_a_reload() {
    let live = Live::serve(Project::keeper).await;
    chat(&live.roster, &question("keeper", "t", "first")).await;
    live.project.write("agents/keeper.toml", format!("{}memory = \"create_memory\"\n", file("keeper", "second")));
    live.until_says("keeper", "second").await;
    let mut response = open_chat(&live.roster, &question("keeper", "t", "again")).await;
    let begun = read_until(&mut response, "done").await;
    assert!(begun.contains("second"), "{begun}");
    let stored = crate::http::messages(&live.roster, "t").await;
    assert_eq!(stored.len(), 4);
}
