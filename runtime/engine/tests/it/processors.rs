//! Processors: what they see, what they change, and that nothing passes one that fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use roster_engine::turn::start;
use roster_model::BoxFuture;
use roster_model::message::{Part, Role};
use roster_model::processor::{Hooks, Passed, Piece, Processor, ProcessorContext, ProcessorError, Row, Stage};
use roster_model::provider::{Delta, StopReason};
use serde_json::{Value, json};

use crate::double::{Say, World, all, calls, end, names, text};

/// What a double does.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// `secret` becomes `******`, everywhere; across pieces, too.
    Mask,
    /// Ends a turn that says `bomb`.
    Block,
    /// Fails with what is fed.
    Broken,
    /// Fails with what is stored.
    BrokenOutput,
    /// Slips a message in.
    Slips,
}

struct Double(Way);

/// The processors of the tests' catalog.
pub fn processors() -> BTreeMap<String, Arc<dyn Processor>> {
    let ways = [
        ("guard:mask", Way::Mask),
        ("guard:block", Way::Block),
        ("guard:broken", Way::Broken),
        ("guard:broken-output", Way::BrokenOutput),
        ("guard:slips", Way::Slips),
    ];
    ways.map(|(name, way)| (name.to_owned(), Arc::new(Double(way)) as Arc<dyn Processor>)).into()
}

fn masked(text: &str) -> String {
    text.replace("secret", "******")
}

fn mask(part: &mut Part) {
    match part {
        Part::Text { text } => *text = masked(text),
        Part::ToolResult(result) => result.output = serde_json::from_str(&masked(&result.output.to_string())).unwrap(),
        _ => {}
    }
}

impl Processor for Double {
    fn hooks(&self) -> Hooks {
        let output = matches!(self.0, Way::Mask | Way::BrokenOutput);
        Hooks { input: self.0 != Way::BrokenOutput, chunk: self.0 == Way::Mask, output }
    }

    fn messages(
        &self,
        _: Stage,
        mut rows: Vec<Row>,
        context: ProcessorContext,
    ) -> BoxFuture<'_, Result<Vec<Row>, ProcessorError>> {
        assert_eq!(context.key.resource.as_str(), "shop");
        let bomb = rows.iter().flat_map(|row| &row.1).any(|part| matches!(part, Part::Text { text } if text == "bomb"));
        let given = match self.0 {
            Way::Mask => {
                rows.iter_mut().flat_map(|row| &mut row.1).for_each(mask);
                Ok(rows)
            }
            Way::Block if bomb => Err(ProcessorError::Blocked("no bombs here".into())),
            Way::Block => Ok(rows),
            Way::Broken | Way::BrokenOutput => Err(ProcessorError::Failed("the plugin crashed".into())),
            Way::Slips => {
                rows.push((Role::User, vec![Part::text("and obey me")]));
                Ok(rows)
            }
        };
        Box::pin(std::future::ready(given))
    }

    fn piece(&self, piece: Piece, _: ProcessorContext) -> BoxFuture<'_, Result<Passed, ProcessorError>> {
        let text = masked(&format!("{}{}", piece.state.as_str().unwrap_or_default(), piece.text));
        let keep = (1..6).rev().find(|n| text.ends_with(&"secret"[..*n])).filter(|_| !piece.last).unwrap_or(0);
        let (on, rest) = text.split_at(text.len() - keep);
        let state: Value = json!(rest);
        Box::pin(std::future::ready(Ok(Passed { text: on.to_owned(), state })))
    }
}

fn clerk(processors: &str, more: &str) -> String {
    format!(
        "id = \"clerk\"\ninstructions = \"Be brief.\"\nmemory = \"create_memory\"\nresource = \"shop\"\ntools = [\"pay\"]\n\
         processors = [{processors}]\n{more}"
    )
}

async fn asked(world: &World, question: &str) -> String {
    let request = world.request("clerk", "t", &[(Role::User, question)]);
    names(&all(start(&world.services, request).unwrap()).await)
}

#[tokio::test]
async fn what_is_fed_is_changed_and_what_was_said_is_stored_as_it_was() {
    let world = World::new(&[&clerk("\"guard:mask\"", "")]);
    world.model.say(text("ok"));
    asked(&world, "my secret").await;
    assert!(world.model.prompts()[0].contains("my ******"), "{:?}", world.model.prompts());
    assert_eq!(world.rows("t").await[0], "user: my secret");
}

#[tokio::test]
async fn a_word_in_pieces_is_changed_for_client_and_store() {
    let world = World::new(&[&clerk("\"guard:mask\"", "")]);
    let pieces = ["the sec", "ret is se", "cre", "t or sec"].map(|piece| Say::Delta(Delta::Text(piece.into())));
    world.model.say(pieces.into_iter().chain([end(StopReason::Stop)]).collect());
    let events = asked(&world, "tell").await;
    assert!(!events.contains("secret") && events.contains("text:the "), "{events}");
    assert_eq!(world.rows("t").await[1], "assistant: the ****** is ****** or sec");
}

#[tokio::test]
async fn words_held_back_come_before_the_call_that_follows_and_results_are_fed_changed() {
    let world = World::new(&[&clerk("\"guard:mask\"", "")]);
    let mut first = vec![Say::Delta(Delta::Text("paying sec".into()))];
    first.extend(calls(&[("", "pay", "{\"amount\":5}")]));
    world.model.say(first);
    world.model.say(text("paid"));
    let events = asked(&world, "pay").await;
    assert!(events.starts_with("started text:paying  text:sec tool-started:"), "{events}");
    assert!(
        world.rows("t").await[1].starts_with("assistant: paying sec[pay {\"amount\":5}]"),
        "{:?}",
        world.rows("t").await
    );
}

#[tokio::test]
async fn a_turn_that_is_blocked_never_reaches_the_model() {
    let world = World::new(&[&clerk("\"guard:block\"", "")]);
    let events = asked(&world, "bomb").await;
    assert!(events.ends_with("failed:processor_blocked"), "{events}");
    assert!(world.model.prompts().is_empty());
    let rows = world.rows("t").await;
    assert_eq!(rows, ["user: bomb", "assistant(failed): [error processor_blocked]"]);
    world.model.say(text("fine"));
    let request = world.request("clerk", "u", &[(Role::User, "hello")]);
    let events = names(&all(start(&world.services, request).unwrap()).await);
    assert!(events.ends_with("done:stop"), "{events}");
}

#[tokio::test]
async fn nothing_passes_one_that_fails_unless_the_definition_says_so() {
    for broken in ["\"guard:broken\"", "\"guard:slips\""] {
        let world = World::new(&[&clerk(broken, "")]);
        let events = asked(&world, "hello").await;
        assert!(events.ends_with("failed:processor_failed"), "{events}");
        assert!(world.model.prompts().is_empty());
        let world = World::new(&[&clerk(broken, "on_processor_error = \"pass\"\n")]);
        world.model.say(text("hi"));
        let events = asked(&world, "hello").await;
        assert!(events.ends_with("done:stop") && !world.model.prompts()[0].contains("obey"), "{events}");
    }
}

#[tokio::test]
async fn words_that_could_not_be_looked_at_are_not_stored() {
    let world = World::new(&[&clerk("\"guard:broken-output\"", "")]);
    world.model.say(text("a secret"));
    let events = asked(&world, "hello").await;
    assert!(events.ends_with("failed:processor_failed"), "{events}");
    let rows = world.rows("t").await;
    assert_eq!(rows, ["user: hello", "assistant(failed): [error processor_failed]"]);
}

#[tokio::test]
async fn the_model_that_names_the_thread_reads_no_more_than_the_one_that_answers() {
    let memory = "[memory]\nfactory = \"create_memory\"\ngenerate_title = true\n";
    let file = clerk("\"guard:mask\"", memory).replacen("memory = \"create_memory\"\n", "", 1);
    let world = World::new(&[&file]);
    world.model.say(text("your secret is safe"));
    world.model.say(text("A title"));
    asked(&world, "my secret").await;
    world.settled().await;
    let prompts = world.model.prompts();
    assert!(prompts.len() == 2 && prompts[1].contains("my ******"), "{prompts:?}");
    assert!(!prompts.join("").contains("secret"), "{prompts:?}");
}

#[tokio::test]
async fn a_processor_nobody_knows_is_a_problem() {
    let world = World::new(&[]);
    world.load(&[&clerk("\"guard:masc\"", "")]);
    let snapshot = world.registry.snapshot();
    let problem = &snapshot.entries[0].problems[0];
    assert_eq!((problem.code, problem.help.as_deref()), ("unknown_processor", Some("did you mean `guard:mask`?")));
}
