//! Random turns with clients that leave, providers that break off, turns at once and processes that are killed, against a
//! strict server of every dialect: none of them ever has a reason to answer 400.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use roster_testkit::scripted::{Gate, Reply, ScriptedServer, ServerDialect, strict_fault_of};

use crate::http::{chat, chat_or_not, question};
use crate::project::Project;
use crate::roster::Roster;

const THREADS: u64 = 6;
const TURNS: u64 = 4;
/// How often the process is killed while turns are under way.
const LIVES: u64 = 3;

/// Repeatable, and well mixed.
fn dice(seed: u64, sides: u64) -> u64 {
    let mixed = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)) % sides
}

/// Words, calls (some of them broken), half answers, failures; some never end.
fn any_reply(number: u64) -> Reply {
    let broken = 30 + usize::try_from(dice(number + 500, 200)).expect("small");
    let words = Reply::text("some words that come piece by piece");
    let calls = Reply::tool_calls([("1", "get_time", "{}"), ("1", "get_time", r#"{"zone":"UTC"}"#)]);
    match dice(number, 12) {
        0..=3 => words,
        4 | 5 => calls,
        6 => calls.and_text("I will look."),
        7 => Reply::tool_calls([("a.b", "get_time", r#"{"zone":7}"#), ("c", "no_such_tool", "{}")]),
        8 => words.cut_after(broken),
        9 => calls.cut_after(broken),
        10 => words.hold_before(2, &Gate::new()),
        _ => Reply::error(500, "server_error", None, "down"),
    }
}

async fn live(dialect: &str) {
    let server = ScriptedServer::builder().strict().start().await;
    let count = AtomicU64::new(0);
    server.default_reply(move |_| any_reply(count.fetch_add(1, Ordering::SeqCst)));
    let runtime = format!(
        "[models]\ndefault = \"stub/scripted-1\"\n[models.providers.stub]\ndialect = \"{dialect}\"\nbase_url = \"{}\"\n",
        server.base_url()
    );
    let narrow = "instructions = \"x\"\ntools = [\"get_time\"]\nmodel_settings = { max_retries = 0 }\n\
                  memory = { factory = \"create_memory\", last_messages = 3 }";
    let wide = narrow.replace("last_messages = 3", "max_tokens = 200");
    let project = Project::with_runtime(&runtime).agent("narrow", narrow).agent("wide", &wide);
    for life in 0..LIVES {
        let roster = Roster::serve(&project).await;
        let talk = async |thread: u64| {
            for turn in 0..TURNS {
                let seed = life * 10_000 + thread * 100 + turn;
                let agent = if dice(seed, 2) == 0 { "narrow" } else { "wide" };
                let body = question(agent, &format!("t{}", thread % (THREADS - 2)), "go on");
                let pieces = usize::try_from(dice(seed + 7, 12)).expect("small");
                chat_or_not(&roster.gateway, &body, pieces).await;
            }
        };
        // Six clients in four threads: some turns wait for one another.
        join_all((0..THREADS).map(talk)).await;
        let last = question("wide", "t0", "the last words");
        tokio::select! {
            biased;
            () = chat_or_not(&roster.gateway, &last, 1) => {}
            () = tokio::task::yield_now() => {}
        }
        roster.kill().await;
    }
    server.default_reply(|_| Reply::text("whole"));
    let roster = Roster::serve(&project).await;
    for thread in 0..THREADS - 2 {
        let frames = chat(&roster, &question("wide", &format!("t{thread}"), "and now?")).await;
        assert_eq!(frames.text(), "whole", "{dialect}: {frames:?}");
    }
    roster.terminate().await;
    let requests = server.requests();
    assert!(requests.len() > 40, "{dialect}: {} requests", requests.len());
    for request in &requests {
        let fault = strict_fault_of(ServerDialect::of(request.path()), request);
        assert_eq!(fault, None, "{dialect}: {request:?}");
    }
}

#[tokio::test]
async fn random_histories_with_kills_are_refused_by_no_chat_completions_server() {
    live("openai").await;
}

#[tokio::test]
async fn random_histories_with_kills_are_refused_by_no_responses_server() {
    live("openai-responses").await;
}

#[tokio::test]
async fn random_histories_with_kills_are_refused_by_no_messages_server() {
    live("anthropic").await;
}

#[tokio::test]
async fn random_histories_with_kills_are_refused_by_no_contents_server() {
    live("gemini").await;
}
