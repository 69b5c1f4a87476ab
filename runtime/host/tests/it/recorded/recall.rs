//! Semantic recall.

use std::time::{Duration, Instant};

use super::Talk;

const SAID: [&str; 5] = [
    "the capital of France is Paris",
    "my cat is named Whiskers",
    "the sky is blue today",
    "I like chess games",
    "bananas are yellow",
];

/// The recorded turns of one thread, until their last answer can be recalled: vectors are written after the answer.
async fn told(scope: &str, top_k: u32, owner: &str, thread: &str) -> Talk {
    let memory = format!(
        "[memory]\nfactory = \"create_memory\"\nlast_messages = 2\n[memory.semantic_recall]\nembedder = \"hash\"\n\
         top_k = {top_k}\nmessage_range = 1\nscope = \"{scope}\""
    );
    let talk = Talk::with(&memory).await;
    for text in SAID {
        talk.say(owner, thread, text).await;
    }
    let found = |words: &str| {
        format!("/api/memory/search?agentId=it&resourceId={owner}&threadId={thread}&searchQuery={words}&limit=20")
    };
    let begun = Instant::now();
    for words in ["Whiskers", "bananas"] {
        while talk.get(&found(words)).await["results"].to_string().matches(words).count() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(30), "never indexed: {words}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    talk.prompts();
    talk
}

/// `semantic-recall-thread`: hits of the same thread stand in order among the window, with their neighbours.
#[tokio::test]
async fn recorded_recall_by_thread() {
    let talk = told("thread", 1, "user:T", "sr1").await;
    talk.say("user:T", "sr1", "cat named Whiskers ?").await;
    let said = talk.last_prompt();
    let newest = "u:bananas are yellow | a:";
    let (recalled, rest) = said.split_once(newest).unwrap_or_else(|| panic!("{said}"));
    assert!(recalled.contains("u:my cat is named Whiskers | a:"), "{said}");
    assert!(!recalled.contains("chess"), "no more than the hit and its neighbours: {said}");
    assert!(rest.ends_with(" | u:cat named Whiskers ?"), "{said}");
    // Another thread of the same owner must not recall.
    talk.say("user:T", "sr2", "cat named Whiskers ?").await;
    assert_eq!(talk.last_prompt(), "s | u:cat named Whiskers ?");
    talk.roster.terminate().await;
}

/// `semantic-recall-resource`: hits of other threads are one system text; of other owners there are none.
#[tokio::test]
async fn recorded_recall_by_resource() {
    let talk = told("resource", 2, "user:R", "srr1").await;
    talk.say("user:R", "srr2", "cat named Whiskers ?").await;
    let requests = talk.server.requests();
    let system: Vec<String> = requests[0]
        .messages()
        .iter()
        .filter(|message| message["role"] == "system")
        .map(|message| message["content"].to_string())
        .collect();
    assert!(system.iter().any(|text| text.contains("my cat is named Whiskers")), "{system:?}");
    assert!(!system.iter().any(|text| text.contains("bananas")), "{system:?}");
    assert_eq!(talk.last_prompt(), "s | u:cat named Whiskers ?");
    talk.say("user:R", "srr2", "capital of France ?").await;
    let requests = talk.server.requests();
    let all = requests[0].messages().iter().map(ToString::to_string).collect::<String>();
    assert!(all.contains("the capital of France is Paris"), "{all}");
    assert_eq!(
        talk.last_prompt(),
        "s | u:cat named Whiskers ? | a:ok(1): cat named Whiskers ? | u:capital of France ?"
    );
    talk.say("user:Q", "srr3", "cat named Whiskers ?").await;
    let requests = talk.server.requests();
    assert!(!requests[0].messages().iter().any(|message| message.to_string().contains("my cat")), "{requests:?}");
    assert_eq!(talk.last_prompt(), "s | u:cat named Whiskers ?");
    talk.roster.terminate().await;
}

/// `recall-without-history`; ours: everything is stored, so that recall finds what the window does not feed.
#[tokio::test]
async fn recorded_recall_without_history() {
    let memory = "[memory]\nfactory = \"create_memory\"\nlast_messages = false\n[memory.semantic_recall]\n\
                  embedder = \"hash\"\nscope = \"thread\"";
    let talk = Talk::with(memory).await;
    talk.say("user:Z", "rw1", "zebra facts").await;
    assert_eq!(talk.last_prompt(), "s | u:zebra facts");
    let begun = Instant::now();
    while !talk.get("/api/memory/search?agentId=it&resourceId=user:Z&threadId=rw1&searchQuery=zebra").await["results"]
        .to_string()
        .contains("ok(1): zebra facts")
    {
        assert!(begun.elapsed() < Duration::from_secs(30), "never indexed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    talk.say("user:Z", "rw1", "zebra ?").await;
    assert_eq!(talk.last_prompt(), "s | u:zebra facts | a:ok(1): zebra facts | u:zebra ?");
    let stored = talk.get("/api/memory/threads/rw1/messages?agentId=it&resourceId=user:Z").await;
    assert_eq!(stored["total"], 4);
    talk.roster.terminate().await;
}
