//! Results of tools above the cap: stored whole, fed in part.

use std::sync::Arc;

use roster_engine::turn::{Limits, TurnRequest, Verdict, resume, start};
use roster_model::feed::FeedStore;
use roster_model::message::{Part, Role};
use roster_model::provider::PromptMessage;
use roster_model::storage::ConversationStore;
use roster_model::suspension::SuspensionStore;
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::double::{CLERK, World, all, calls, key, names, text};
use crate::pay::receipt;

const CAP: usize = 2_000;

fn limits(tool_result: usize) -> Limits {
    Limits { tool_result, ..Limits::default() }
}

fn paying(amount: i64) -> String {
    format!("{{\"amount\":{amount}}}")
}

/// A turn that pays this much, and then says so.
async fn pay(world: &World, thread: &str, amount: i64) -> String {
    world.model.say(calls(&[("", "pay", &paying(amount))]));
    world.model.say(text("paid"));
    let events = names(&all(world.ask(thread, "pay")).await);
    world.settled().await;
    events
}

/// The results that the newest model call was given.
fn fed(world: &World) -> Vec<Value> {
    let asked = world.model.asked.lock().unwrap();
    let results = asked.last().unwrap().messages.iter().filter_map(|message| match message {
        PromptMessage::Tool(results) => Some(results.iter().map(|result| result.output.clone())),
        _ => None,
    });
    results.flatten().collect()
}

fn cut_to(value: &Value) -> usize {
    let text = value.as_str().unwrap_or_else(|| panic!("not cut: {value}"));
    assert!(text.starts_with("{\"paid\":") && text.ends_with("secret \"}"), "{text}");
    assert!(text.contains("[This result is too long"), "{text}");
    text.len()
}

/// The results in a thread, as they are stored.
async fn stored(world: &World, thread: &str) -> Vec<Value> {
    let rows = world.store.tail(&key(thread), 100, None).await.unwrap();
    let results = rows.into_iter().flat_map(|row| row.message.parts).filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.output),
        _ => None,
    });
    results.collect()
}

fn whole(amount: i64) -> Value {
    json!({"paid": amount, "receipt": receipt(amount)})
}

#[tokio::test]
async fn a_large_result_is_fed_in_part_in_this_turn_and_later_ones_and_stored_and_told_whole() {
    let world = World::limited(&[CLERK], limits(CAP));
    let events = pay(&world, "t", 200_000).await;
    assert!(events.contains(&format!("finished:{}", whole(200_000))), "the client gets it whole");
    let [now] = fed(&world).try_into().unwrap();
    assert!(cut_to(&now) <= CAP && now.as_str().unwrap().contains("The whole is stored."));
    assert_eq!(stored(&world, "t").await, [whole(200_000)]);
    all(world.ask("t", "and?")).await;
    assert_eq!(fed(&world), [now], "the same in the next turn");
    assert_eq!(pay(&world, "u", 12).await.matches("finished:{\"paid\":12}").count(), 1);
    assert_eq!(fed(&world), [json!({"paid": 12})], "what fits is not touched");
}

#[tokio::test]
async fn the_feed_record_says_what_was_cut_and_counts_what_was_fed() {
    let world = World::limited(&[CLERK], limits(CAP));
    pay(&world, "t", 200_000).await;
    all(world.ask("t", "and?")).await;
    world.settled().await;
    let records = world.store.feed(&key("t"), None).await.unwrap();
    let later: Value = serde_json::from_str(&records[0].record).unwrap();
    let bytes = whole(200_000).to_string().len();
    let row = &later["messages"][1];
    let cut = &row["cut_results"][0];
    assert_eq!((cut["tool"].as_str(), cut["bytes"].as_u64()), (Some("pay"), Some(bytes as u64)), "{later:#}");
    assert!(cut["fed"].as_u64().unwrap() <= CAP as u64, "{cut}");
    assert!((400..600).contains(&row["tokens"].as_u64().unwrap()), "{row}");
    assert_eq!(later["limits"]["tool_result"], CAP);
    assert!(later["messages"][0].get("cut_results").is_none(), "{later:#}");
    let turns = world.store.tail(&key("t"), 10, None).await.unwrap();
    let first = world.store.feed(&key("t"), turns[0].turn.as_ref()).await.unwrap();
    let last: Value = serde_json::from_str(&first[1].record).unwrap();
    assert_eq!(last["this_turn"]["cut_results"][0]["bytes"], bytes, "{last:#}");
    assert!((400..600).contains(&last["this_turn"]["tokens"].as_u64().unwrap()), "{last:#}");
}

#[tokio::test]
async fn the_cap_may_change_at_any_time_and_a_turn_under_way_keeps_its_own() {
    let world = World::limited(&[CLERK], limits(CAP));
    let gate = Arc::new(Notify::new());
    world.gates.lock().unwrap().insert(100_000, Arc::clone(&gate));
    world.model.say(calls(&[("", "pay", &paying(100_000))]));
    let turn = world.ask("t", "pay");
    world.services.set_limits(limits(5_000));
    gate.notify_one();
    all(turn).await;
    assert!(cut_to(&fed(&world)[0]) <= CAP);
    all(world.ask("t", "and?")).await;
    let now = cut_to(&fed(&world)[0]);
    assert!((4_500..=5_000).contains(&now), "{now}");
    world.services.set_limits(limits(1 << 20));
    all(world.ask("t", "and now?")).await;
    assert_eq!(fed(&world), [whole(100_000)], "nothing was lost: the whole is fed again");
}

#[tokio::test]
async fn a_budget_of_tokens_counts_what_is_fed() {
    let budget =
        CLERK.replace("memory = \"create_memory\"\n", "") + "[memory]\nfactory = \"create_memory\"\nmax_tokens = ";
    for (most, kept) in [(700, true), (300, false)] {
        let world = World::limited(&[&format!("{budget}{most}\n")], limits(CAP));
        pay(&world, "t", 200_000).await;
        all(world.ask("t", "and?")).await;
        assert_eq!(fed(&world).len(), usize::from(kept), "{most}");
    }
}

#[tokio::test]
async fn a_processor_sees_results_whole_so_that_no_half_of_what_it_hides_is_fed() {
    let world = World::limited(&[&format!("{CLERK}processors = [\"guard:mask\"]\n")], limits(CAP));
    for shift in 0..7 {
        let thread = format!("t{shift}");
        world.services.set_limits(limits(CAP + shift));
        pay(&world, &thread, 200_000).await;
        all(world.ask(&thread, "and?")).await;
        let prompts = world.model.prompts();
        for prompt in &prompts[prompts.len() - 2..] {
            assert!(prompt.contains("[This result is too long") && prompt.len() < 2 * CAP, "{prompt}");
            assert!(!prompt.contains("sec") && !prompt.contains("cret"), "{prompt}");
        }
    }
}

#[tokio::test]
async fn where_nothing_is_stored_the_model_is_not_told_that_it_is() {
    let world = World::limited(&[CLERK], limits(CAP));
    world.model.say(calls(&[("", "pay", &paying(200_000))]));
    let request = TurnRequest { stored: false, ..world.request("clerk", "t", &[(Role::User, "pay")]) };
    all(start(&world.services, request).unwrap()).await;
    let [result] = fed(&world).try_into().unwrap();
    assert!(cut_to(&result) <= CAP);
    assert!(!result.as_str().unwrap().contains("stored"), "{result}");
}

#[tokio::test]
async fn a_turn_that_waited_goes_on_with_what_was_fed_before() {
    let asks = format!("{CLERK}[tool_settings.pay]\napproval = \"always\"\n");
    let world = World::limited(&[&asks], limits(CAP));
    world.model.say(calls(&[("c1", "pay", &paying(200_000))]));
    world.model.say(calls(&[("c2", "pay", &paying(300_000))]));
    world.model.say(text("paid"));
    all(world.ask("t", "pay")).await;
    for _ in 0..2 {
        let [waiting] = world.store.suspended_turns(&key("t").resource, 9).await.unwrap().try_into().unwrap();
        let verdict = Verdict { call: None, approved: true, reason: None };
        let request = world.request("clerk", "t", &[(Role::User, "pay")]);
        all(resume(&world.services, request, &waiting, verdict).unwrap()).await;
    }
    let results = fed(&world);
    assert_eq!(results.len(), 2);
    assert!(results.iter().all(|result| cut_to(result) <= CAP));
    assert_eq!(stored(&world, "t").await, [whole(200_000), whole(300_000)]);
}
