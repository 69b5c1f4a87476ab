//! Answers of a form.

use roster_engine::turn::{TurnEvent, Verdict, resume};
use roster_model::message::Role;
use roster_model::provider::{Completion, PromptMessage, ProviderError, ProviderErrorKind, StopReason};
use roster_model::suspension::SuspensionStore;

use crate::double::{Say, World, all, calls, end, names, text};

const FORM: &str = "id = \"clerk\"\ninstructions = \"x\"\nmemory = \"create_memory\"\nresource = \"shop\"\n\
    tools = [\"pay\"]\nmax_steps = 2\n[output_schema]\ntype = \"object\"\nrequired = [\"sum\"]\n\
    [output_schema.properties.sum]\ntype = \"integer\"\n";

fn failure(events: &[TurnEvent]) -> (&'static str, String) {
    let Some(TurnEvent::Failed(failure)) = events.last() else { panic!("{events:?}") };
    (failure.code, failure.message.clone())
}

#[tokio::test]
async fn an_answer_that_fits_goes_out_when_it_is_whole() {
    let world = World::new(&[FORM]);
    world
        .model
        .say([text("```json\n"), text("{\"sum\": 5}\n```")].into_iter().flat_map(pieces).chain([stop()]).collect());
    let events = all(world.ask("t", "2 + 3?")).await;
    assert_eq!(names(&events), "started text:{\"sum\": 5} step done:stop");
    assert_eq!(world.rows("t").await[1], "assistant: {\"sum\": 5}");
    let asked = world.model.asked.lock().unwrap();
    assert_eq!(asked[0].output_schema.as_ref().expect("passed on")["required"][0], "sum");
}

fn pieces(said: Vec<Say>) -> impl Iterator<Item = Say> {
    let words = said.len() - 1;
    said.into_iter().take(words)
}

fn stop() -> Say {
    end(StopReason::Stop)
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_repaired_once_beyond_the_steps() {
    let world = World::new(&[FORM]);
    world.model.say(calls(&[("c1", "pay", "{\"amount\":5}")]));
    world.model.say(text("It is five."));
    world.model.say(text("{\"sum\": 5}"));
    let events = names(&all(world.ask("t", "2 + 3?")).await);
    assert!(!events.contains("five") && events.ends_with("text:{\"sum\": 5} step done:stop"), "{events}");
    let prompt = world.model.prompts()[2].clone();
    assert!(prompt.contains("assistant: It is five. | user: Your answer was not accepted: it is no JSON"), "{prompt}");
    assert!(prompt.contains("\"required\":[\"sum\"]"), "the schema is told: {prompt}");
    let row = &world.rows("t").await[1];
    assert!(row.ends_with("{\"sum\": 5}") && !row.contains("five"), "{row}");
    assert_eq!(world.rows("t").await.len(), 2, "what the model was told between is no message");
}

#[tokio::test]
async fn an_answer_that_never_fits_fails_the_turn() {
    let world = World::new(&[FORM]);
    world.model.say(text("five"));
    world.model.say(text("{\"sum\": \"5\"}"));
    let events = all(world.ask("t", "2 + 3?")).await;
    assert!(!names(&events).contains("text:"), "{}", names(&events));
    let (code, message) = failure(&events);
    assert!(code == "output_invalid" && message.contains("/sum"), "{code}: {message}");
    let row = &world.rows("t").await[1];
    assert!(row.starts_with("assistant(failed): {\"sum\": \"5\"}[error output_invalid]"), "{row}");
    world.model.say(text("{\"sum\": 1}"));
    let again = names(&all(world.ask("t", "0 + 1?")).await);
    assert!(again.ends_with("text:{\"sum\": 1} step done:stop"), "the thread goes on: {again}");
}

/// Words beside calls are kept and are no answer; calls may stand in the repair, too.
#[tokio::test]
async fn tools_may_be_called_on_the_way() {
    let world = World::new(&[&FORM.replace("max_steps = 2", "max_steps = 5")]);
    let mut first = calls(&[("c1", "pay", "{\"amount\":5}")]);
    first.splice(0..0, pieces(text("I pay.")));
    world.model.say(first);
    world.model.say(text("paid"));
    world.model.say(calls(&[("c2", "pay", "{\"amount\":6}")]));
    world.model.say(text("{\"sum\": 11}"));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(!events.contains("I pay") && events.ends_with("text:{\"sum\": 11} step done:stop"), "{events}");
    let prompt = world.model.prompts()[3].clone();
    let (before, after) = prompt.split_once("Your answer was not accepted").expect("still told");
    assert!(before.contains("I pay.") && before.contains("assistant: paid"), "{prompt}");
    assert!(after.ends_with("assistant: [pay:c2] | tool: c2={\"paid\":6}"), "{prompt}");
    let row = &world.rows("t").await[1];
    assert!(row.contains("I pay.") && row.ends_with("{\"sum\": 11}") && !row.contains("]paid"), "{row}");
}

#[tokio::test]
async fn what_the_filter_cut_off_is_no_answer_and_is_not_asked_again() {
    let world = World::new(&[FORM]);
    let mut said: Vec<Say> = pieces(text("{\"su")).collect();
    said.push(end(StopReason::ContentFilter));
    world.model.say(said);
    assert_eq!(names(&all(world.ask("t", "2 + 3?")).await), "started step done:content-filter");
    assert_eq!(world.model.prompts().len(), 1);
}

#[tokio::test]
async fn another_agent_is_given_the_document() {
    let caller = "id = \"front\"\ninstructions = \"y\"\nagents = [\"clerk\"]\n";
    let world = World::new(&[FORM, caller]);
    world.model.say(calls(&[("c1", "agent_clerk", "{\"prompt\":\"2 + 3?\"}")]));
    world.model.say(text("five"));
    world.model.say(text("```\n{\"sum\": 5}\n```"));
    world.model.say(text("It is 5."));
    let request = world.request("front", "t", &[(Role::User, "ask")]);
    all(roster_engine::turn::start(&world.services, request).unwrap()).await;
    let prompts = world.model.prompts();
    assert!(prompts[3].contains("{\\\"sum\\\": 5}") && !prompts[3].contains("five"), "{}", prompts[3]);
}

#[tokio::test]
async fn a_schema_that_is_none_is_refused_at_its_place() {
    for (schema, told) in [("{ type = \"array\" }", "type = \"object\""), ("{ type = \"object\", required = 5 }", "5")]
    {
        let file = format!("id = \"clerk\"\ninstructions = \"x\"\noutput_schema = {schema}\n");
        let world = World::new(&[&file]);
        let problems = &world.registry.snapshot().entries[0].problems;
        assert!(problems[0].code == "bad_schema" && problems[0].line == Some(3), "{problems:?}");
        assert!(problems[0].message.contains(told), "{problems:?}");
    }
}

fn asking(form: &str) -> String {
    format!("{form}[tool_settings.pay]\napproval = \"always\"\n")
}

/// Decides about the one turn that waits.
async fn decide(world: &World, thread: &str, approved: bool) -> String {
    let request = world.request("clerk", thread, &[]);
    let owner = request.key.resource.clone();
    let waiting = world.store.suspended_turns(&owner, 10).await.unwrap().pop().expect("one waits");
    let verdict = Verdict { call: None, approved, reason: None };
    names(&all(resume(&world.services, request, &waiting, verdict).unwrap()).await)
}

#[tokio::test]
async fn a_turn_that_waited_ends_with_a_document_and_has_its_round_of_repair() {
    for (approved, result) in [(true, "{\"paid\":5}"), (false, "was not run")] {
        let world = World::new(&[&asking(FORM)]);
        let mut first = calls(&[("c1", "pay", "{\"amount\":5}")]);
        first.splice(0..0, pieces(text("I pay.")));
        world.model.say(first);
        let events = names(&all(world.ask("t", "pay")).await);
        assert!(!events.contains("text:") && events.ends_with("done:suspended"), "no document yet: {events}");
        world.model.say(text("paid"));
        world.model.say(text("{\"sum\": 5}"));
        let events = decide(&world, "t", approved).await;
        assert!(events.contains(result) && !events.contains("text:paid"), "{events}");
        assert!(events.ends_with("text:{\"sum\": 5} step done:stop"), "{events}");
        let prompt = world.model.prompts().pop().unwrap();
        assert!(prompt.contains("assistant: paid | user: Your answer was not accepted"), "{prompt}");
        let row = &world.rows("t").await[1];
        assert!(row.ends_with("{\"sum\": 5}") && !row.contains("]paid"), "{row}");
    }
}

#[tokio::test]
async fn a_resumed_turn_that_never_fits_fails() {
    let world = World::new(&[&asking(FORM)]);
    world.model.say(calls(&[("c1", "pay", "{\"amount\":5}")]));
    all(world.ask("t", "pay")).await;
    world.model.say(text("paid"));
    world.model.say(text("paid, I say"));
    let events = decide(&world, "t", true).await;
    assert!(events.ends_with("failed:output_invalid") && !events.contains("text:"), "{events}");
}

/// What was rejected before a turn waited, or came to its last step, is not kept as if it were an answer.
#[tokio::test]
async fn what_was_rejected_is_not_kept_when_the_repair_calls_a_tool() {
    for (form, end) in [(asking(FORM), "done:suspended"), (FORM.to_owned(), "done:tool-calls")] {
        let world = World::new(&[&form.replace("max_steps = 2", "max_steps = 1")]);
        world.model.say(text("five"));
        world.model.say(calls(&[("c1", "pay", "{\"amount\":5}")]));
        let events = names(&all(world.ask("t", "pay")).await);
        assert!(events.ends_with(end), "{events}");
        let row = &world.rows("t").await[1];
        assert!(row.contains("[pay") && !row.contains("five"), "{row}");
    }
}

const TEAM: &str = "[orchestration]\npattern = \"parallel\"\nstages = [{ role = \"a\", agent = \"one\" }, \
    { role = \"b\", agent = \"two\" }]\n";

/// Agents of which the second gives no answer, and the clerk who puts together.
fn team(form: &str) -> World {
    let one = "id = \"one\"\ninstructions = \"one\"\n";
    let two = "id = \"two\"\ninstructions = \"two\"\n";
    let world = World::new(&[&format!("{form}{TEAM}"), one, two]);
    world.model.always(|asked| match asked.messages.last() {
        _ if of_stage(asked).is_some() => of_stage(asked).unwrap_or_default(),
        Some(PromptMessage::Tool(_)) => text("```\n{\"sum\": 5}\n```"),
        Some(PromptMessage::User(said)) if format!("{said:?}").contains("not accepted") => {
            calls(&[("", "pay", "{\"amount\":5}")])
        }
        _ => text("It is five."),
    });
    world
}

fn of_stage(asked: &Completion) -> Option<Vec<Say>> {
    match asked.messages.first() {
        Some(PromptMessage::System(who)) if who == "one" => Some(text("one says 5")),
        Some(PromptMessage::System(who)) if who == "two" => {
            Some(vec![Say::Fail(ProviderError::new(ProviderErrorKind::Server, "the model is down"))])
        }
        _ => None,
    }
}

fn draft(world_rows: &[String]) -> &str {
    let row = &world_rows[1];
    let at = row.find("\"finalDraft\":").expect("a record");
    row[at..].split("},").next().unwrap()
}

#[tokio::test]
async fn stages_at_once_are_put_together_into_a_document() {
    let world = team(&FORM.replace("max_steps = 2", "max_steps = 4"));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(!events.contains("It is") && !events.contains("text:\n\nNote"), "{events}");
    assert!(events.contains("text:{\"sum\": 5} step finished:{\"pattern\":\"parallel\""), "{events}");
    assert!(events.ends_with("\"finalDraft\":\"{\\\"sum\\\": 5}\"} done:stop"), "{events}");
    let rows = world.rows("t").await;
    assert!(rows[1].ends_with("{\"sum\": 5}") && !rows[1].contains("It is"), "{rows:?}");
}

#[tokio::test]
async fn a_turn_with_stages_that_waited_knows_what_they_said_and_completes_its_record() {
    let world = team(&asking(&FORM.replace("max_steps = 2", "max_steps = 4")));
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.ends_with("called?:pay step done:suspended"), "{events}");
    let before = world.rows("t").await;
    assert!(draft(&before).starts_with("\"finalDraft\":\"\""), "{before:?}");
    let asked = world.model.prompts().len();
    let events = decide(&world, "t", true).await;
    assert!(events.contains("text:{\"sum\": 5} step finished:{\"pattern\":\"parallel\""), "{events}");
    assert!(events.ends_with("\"finalDraft\":\"{\\\"sum\\\": 5}\"} done:stop"), "{events}");
    assert!(events.ends_with("done:stop"), "{events}");
    let prompts = world.model.prompts();
    assert_eq!(prompts.len(), asked + 1, "the stages are not asked again");
    let prompt = prompts.last().unwrap();
    assert!(
        prompt.contains("From the a\none says 5") && prompt.contains("(No answer: the model is down.)"),
        "{prompt}"
    );
    let rows = world.rows("t").await;
    assert!(draft(&rows).contains("sum") && rows[1].ends_with("{\"sum\": 5}"), "{rows:?}");
}

#[tokio::test]
async fn words_put_together_after_waiting_are_followed_by_the_note_about_a_missing_stage() {
    let words = FORM.split("[output_schema]").next().unwrap();
    let world = team(&asking(words));
    world.model.always(|asked| match asked.messages.last() {
        Some(PromptMessage::Tool(_)) => text("Five."),
        _ => of_stage(asked).unwrap_or_else(|| calls(&[("", "pay", "{\"amount\":5}")])),
    });
    let events = names(&all(world.ask("t", "pay")).await);
    assert!(events.ends_with("done:suspended") && !events.contains("Note"), "{events}");
    let events = decide(&world, "t", true).await;
    assert!(
        events.contains("text:Five.") && events.contains("text:\n\nNote: the b (`two`) gave no answer"),
        "{events}"
    );
}

#[tokio::test]
async fn what_others_did_before_and_after_a_turn_waited_is_one_result() {
    let words = asking(FORM.split("[output_schema]").next().unwrap()).replace("max_steps = 2", "max_steps = 5");
    let one = "id = \"one\"\ninstructions = \"one\"\n";
    let two = "id = \"two\"\ninstructions = \"two\"\n";
    let world = World::new(&[&format!("{words}{}", TEAM.replace("parallel", "delegate")), one, two]);
    world.model.say(calls(&[("", "agent_one", "{\"prompt\":\"first\"}")]));
    world.model.say(text("one says 5"));
    world.model.say(calls(&[("", "pay", "{\"amount\":5}")]));
    let events = names(&all(world.ask("t", "the task")).await);
    assert!(events.ends_with("done:suspended") && !events.contains("finalDraft"), "{events}");
    world.model.say(calls(&[("", "agent_two", "{\"prompt\":\"second\"}")]));
    world.model.say(text("two says 6"));
    world.model.say(text("Done."));
    let events = decide(&world, "t", true).await;
    let at = events.find("{\"pattern\":\"delegate\"").unwrap_or_else(|| panic!("no result: {events}"));
    let report = &events[at..];
    assert!(report.contains("\"task\":\"the task\"") && report.contains("\"finalDraft\":\"Done.\""), "{report}");
    assert!(report.find("one says 5").expect("before") < report.find("two says 6").expect("after"), "{report}");
    let rows = world.rows("t").await;
    assert_eq!(rows[1].matches("\"finalDraft\"").count(), 1, "one record: {rows:?}");
    all(world.ask("t", "and?")).await;
    assert!(!world.model.prompts().last().unwrap().contains("finalDraft"), "never fed");
}
