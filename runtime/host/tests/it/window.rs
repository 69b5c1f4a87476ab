//! What of a thread reaches the model: the newest, in order.

use std::sync::Arc;

use roster_host::clock::SystemClock;
use roster_model::id::{MessageId, ResourceId, ThreadId, ThreadKey};
use roster_model::message::{Message, MessageStatus, Part, Role};
use roster_model::storage::{ConversationStore, NewThread};
use roster_model::time::Timestamp;
use roster_storage::sqlite::{Options, open};
use roster_testkit::scripted::{RecordedRequest, ScriptedServer};

use crate::http::{chat, get, lines, messages, question};
use crate::project::Project;
use crate::roster::Roster;

/// `role: content` of what the model was sent, the system text left out.
fn sent(request: &RecordedRequest) -> Vec<String> {
    let messages: Vec<_> = request.messages().iter().filter(|message| message["role"] != "system").cloned().collect();
    lines(&messages)
}

#[tokio::test]
async fn each_of_ten_turns_gets_the_newest_ten_messages_before_it_and_the_question() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).keeper();
    let roster = Roster::serve(&project).await;
    for n in 1..=10 {
        let frames = chat(&roster, &question("keeper", "ten", &format!("question {n}"))).await;
        assert_eq!(frames.text(), format!("echo: question {n}"));
        let stored = lines(&messages(&roster, "ten").await);
        assert_eq!(stored.len(), 2 * n);
        let before = &stored[..stored.len() - 2];
        let mut expected = before[before.len().saturating_sub(10)..].to_vec();
        expected.push(format!("user: question {n}"));
        let requests = server.requests();
        assert_eq!(requests.len(), n);
        assert_eq!(sent(&requests[n - 1]), expected, "turn {n}");
        assert_eq!(requests[n - 1].messages()[0]["content"], "Be brief.");
    }
    roster.terminate().await;
}

/// Ten rows `m0` … `m9`, a millisecond apart.
async fn fill(project: &Project, threads: &[&str]) {
    let store = open(project.database(), &Options::new(Arc::new(SystemClock))).expect("open");
    for thread in threads {
        let key = ThreadKey {
            resource: ResourceId::new("ai-chat").expect("legal"),
            thread: ThreadId::new(thread).expect("legal"),
        };
        store.create_thread(&key, NewThread::default()).await.expect("made");
        let rows = (0..10).map(|n| Message {
            id: MessageId::new(format!("m{n}")).expect("legal"),
            role: if n % 2 == 0 { Role::User } else { Role::Assistant },
            parts: vec![Part::text(format!("m{n}"))],
            created_at: Timestamp::from_millis(1_800_000_000_000 + n),
            status: MessageStatus::Complete,
            origin: None,
            metadata: serde_json::Map::new(),
        });
        store.append(&key, rows.collect()).await.expect("stored");
    }
    store.close().await;
}

/// TO-a1.
#[tokio::test]
async fn the_window_is_the_newest_n_whatever_n() {
    let windows = [
        ("three", "3", 3),
        ("ten", "10", 10),
        ("eleven", "11", 10),
        ("one", "1", 1),
        ("zero", "0", 0),
        ("off", "false", 0),
    ];
    let server = ScriptedServer::start().await;
    let mut project = Project::scripted(&server);
    for (id, setting, _) in windows {
        let memory = format!("[memory]\nfactory = \"create_memory\"\nlast_messages = {setting}");
        project = project.agent(id, &format!("instructions = \"x\"\n{memory}"));
    }
    fill(&project, &windows.map(|(id, _, _)| id)).await;
    let roster = Roster::serve(&project).await;
    for (at, (id, _, fed)) in windows.into_iter().enumerate() {
        let (status, page) = get(&format!("{}/api/conversations/{id}/messages?limit={fed}", roster.gateway)).await;
        chat(&roster, &question(id, id, "next?")).await;
        let mut sent = sent(&server.requests()[at]);
        assert_eq!(sent.pop().as_deref(), Some("user: next?"), "{id}");
        let newest: Vec<String> =
            (10 - fed..10).map(|n| format!("{}: m{n}", if n % 2 == 0 { "user" } else { "assistant" })).collect();
        // Providers want a person's word first: before a window that begins with an answer stands a full stop.
        let stop = newest.first().is_some_and(|first| first.starts_with("assistant")).then(|| "user: .".to_owned());
        assert_eq!(sent, stop.into_iter().chain(newest.clone()).collect::<Vec<_>>(), "{id}");
        if fed > 0 {
            assert_eq!(status, 200, "{page}");
            assert_eq!(lines(page["messages"].as_array().expect("messages")), newest, "{id}: what REST calls the last");
        }
    }
    roster.terminate().await;
}

#[tokio::test]
async fn feeding_nothing_still_stores_everything() {
    let server = ScriptedServer::start().await;
    let memory = "instructions = \"x\"\n[memory]\nfactory = \"create_memory\"\nlast_messages = false";
    let project = Project::scripted(&server).agent("keeper", memory);
    let roster = Roster::serve(&project).await;
    chat(&roster, &question("keeper", "c", "one")).await;
    chat(&roster, &question("keeper", "c", "two")).await;
    assert_eq!(sent(&server.requests()[1]), ["user: two"]);
    let stored = lines(&messages(&roster, "c").await);
    assert_eq!(stored, ["user: one", "assistant: echo: one", "user: two", "assistant: echo: two"]);
    roster.terminate().await;
}
