//! The Mastra form of threads and messages, on both listeners.

use http::StatusCode;
use roster_model::storage::{NewThread, ThreadChange};
use serde_json::{Value, json};

use crate::chat::ask;
use crate::double::{call, stop, words};
use crate::world::{World, key};

#[tokio::test]
async fn studio_reads_what_the_gateway_wrote() {
    let world = World::new();
    world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    let listed = world.studio("/api/memory/threads?resourceId=shop").await.json();
    let thread = json!({"id": "c", "resourceId": "shop", "title": "", "createdAt": "2030-01-01T00:00:00.000Z",
        "updatedAt": "2030-01-01T00:00:00.000Z", "metadata": null});
    assert_eq!(listed, json!({"threads": [thread], "total": 1, "page": 0, "perPage": 100, "hasMore": false}));
    assert_eq!(world.studio("/api/memory/threads/c?resourceId=shop").await.json(), thread);
    let read = world.studio("/api/memory/threads/c/messages?resourceId=shop").await.json();
    let (question, answer) = (&read["messages"][0], &read["messages"][1]);
    assert_eq!(
        question["content"],
        json!({"format": 2, "parts": [{"type": "text", "text": "hi", "createdAt": 1_893_456_000_000_i64}], "content": "hi"})
    );
    assert_eq!((&answer["role"], &answer["content"]["content"]), (&json!("assistant"), &json!("echo: hi")));
    let keys: Vec<&String> = question.as_object().expect("object").keys().collect();
    assert_eq!(keys, ["id", "content", "role", "createdAt", "threadId", "resourceId"]);
    assert_eq!((&read["total"], &read["perPage"], &read["uiMessages"]), (&json!(2), &json!(40), &Value::Null));
    let same = world.get("/api/memory/threads/c/messages?resourceId=shop").await.json();
    assert_eq!(same, read, "both listeners stand on one store");
}

#[tokio::test]
async fn an_agents_id_as_resource_means_its_own_resource_and_its_threads() {
    let world = World::new();
    world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    world.app.store.create_thread(&key("shop", "other"), NewThread::default()).await.expect("made");
    let listed = world.studio("/api/memory/threads?resourceId=clerk&agentId=clerk").await.json();
    assert_eq!(listed["total"], 1);
    assert_eq!((&listed["threads"][0]["id"], &listed["threads"][0]["resourceId"]), (&json!("c"), &json!("clerk")));
    let read = world.studio("/api/memory/threads/c/messages?resourceId=clerk").await.json();
    assert_eq!(read["messages"][0]["resourceId"], "clerk");
    let by_agent = world.studio("/api/memory/threads?agentId=clerk").await.json();
    assert_eq!(by_agent["total"], 2, "`agentId` alone names the owner");
}

#[tokio::test]
async fn without_an_owner_the_one_owner_of_the_thread_is_meant() {
    let world = World::new();
    world.post("/api/chat", &ask("clerk", Some("c"), "hi")).await.frames();
    assert_eq!(world.studio("/api/memory/threads/c").await.json()["resourceId"], "shop");
    world.app.store.create_thread(&key("bob", "c"), NewThread::default()).await.expect("made");
    assert_eq!(world.studio("/api/memory/threads/c").await.plain_error(), (400, "resource_required".into()));
    assert_eq!(world.studio("/api/memory/threads/c?resourceId=bob").await.status, StatusCode::OK);
    for path in [
        "/api/memory/threads/none",
        "/api/memory/threads/c?resourceId=eve",
        "/api/memory/threads/none/messages?agentId=clerk",
    ] {
        let answer = world.studio(path).await;
        assert_eq!(answer.json(), json!({"error": "Thread not found", "code": "thread_not_found"}), "{path}");
        assert_eq!(answer.status, StatusCode::NOT_FOUND);
    }
}

/// Recorded as `messages-paging`.
#[tokio::test]
async fn messages_are_paged_from_the_end() {
    let world = World::new();
    for number in 0..3 {
        world.post("/api/chat", &ask("clerk", Some("c"), &format!("q{number}"))).await.frames();
    }
    let page = |query: &str| {
        let path = format!("/api/memory/threads/c/messages?resourceId=shop&{query}");
        let world = &world;
        async move {
            let body = world.studio(&path).await.json();
            let rows = body["messages"].as_array().expect("rows").iter();
            let words: Vec<String> =
                rows.map(|row| row["content"]["content"].as_str().expect("text").to_owned()).collect();
            (words.join(","), body["hasMore"].as_bool().expect("bool"), body["total"].as_u64().expect("total"))
        }
    };
    assert_eq!(page("perPage=4").await, ("q1,echo: q1,q2,echo: q2".into(), true, 6));
    assert_eq!(page("perPage=4&page=1").await, ("q0,echo: q0".into(), false, 6));
    assert_eq!(
        page("perPage=2&orderBy[field]=createdAt&orderBy[direction]=ASC").await,
        ("q0,echo: q0".into(), true, 6)
    );
    let order = "%7B%22field%22%3A%22createdAt%22%2C%22direction%22%3A%22DESC%22%7D";
    assert_eq!(
        page(&format!("perPage=2&orderBy={order}&includeSystemReminders=true")).await,
        ("echo: q2,q2".into(), true, 6)
    );
    assert_eq!(page("perPage=0").await, (String::new(), true, 6));
    assert_eq!(page("filter=%7B%22roles%22%3A%5B%22user%22%5D%7D&perPage=2").await, ("q1,q2".into(), true, 3));
    let after = "filter=%7B%22dateRange%22%3A%7B%22start%22%3A%222031-01-01T00%3A00%3A00Z%22%7D%7D";
    assert_eq!(page(after).await, (String::new(), false, 0));
}

#[tokio::test]
async fn threads_are_paged_ordered_and_filtered() {
    let world = World::new();
    for number in 0..4 {
        let metadata = json!({"i": number % 2}).as_object().cloned();
        let new = NewThread { title: format!("n{number}"), metadata, ..NewThread::default() };
        world.app.store.create_thread(&key("crud", &format!("t{number}")), new).await.expect("made");
        world.clock.advance(std::time::Duration::from_millis(5));
    }
    let change = ThreadChange { title: Some("renamed".into()), metadata: None };
    world.app.store.update_thread(&key("crud", "t0"), change).await.expect("changed");
    let page = |query: &str| {
        let path = format!("/api/memory/threads?resourceId=crud&{query}");
        let world = &world;
        async move {
            let body = world.studio(&path).await.json();
            let rows = body["threads"].as_array().expect("rows").iter();
            let ids: Vec<String> = rows.map(|row| row["id"].as_str().expect("id").to_owned()).collect();
            (ids.join(","), body["hasMore"].as_bool().expect("bool"), body["total"].as_u64().expect("total"))
        }
    };
    assert_eq!(page("page=0&perPage=3").await, ("t3,t2,t1".into(), true, 4));
    assert_eq!(page("page=1&perPage=3").await, ("t0".into(), false, 4));
    assert_eq!(page("page=9&perPage=2").await, (String::new(), false, 4));
    assert_eq!(page("perPage=0").await, (String::new(), true, 4));
    assert_eq!(page("perPage=1&orderBy[field]=createdAt&orderBy[direction]=ASC").await, ("t0".into(), true, 4));
    assert_eq!(page("perPage=1&orderBy[field]=updatedAt&orderBy[direction]=DESC").await, ("t0".into(), true, 4));
    assert_eq!(page("metadata=%7B%22i%22%3A1%7D").await, ("t3,t1".into(), false, 2));
    assert_eq!(page("metadata=%7B%22i%22%3A1%7D&perPage=1&page=1").await, ("t1".into(), false, 2));
}

#[tokio::test]
async fn bad_queries_are_told_with_their_field() {
    let world = World::new();
    for (query, field) in [
        ("page=abc", "page"),
        ("page=-1", "page"),
        ("perPage=false", "perPage"),
        ("perPage=1000000", "perPage"),
        ("orderBy=x", "orderBy"),
        ("orderBy[field]=title", "orderBy.field"),
        ("orderBy[direction]=UP", "orderBy.direction"),
        ("metadata=7", "metadata"),
    ] {
        let answer = world.studio(&format!("/api/memory/threads?{query}")).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(answer.json()["error"], "Invalid query parameters");
        assert_eq!(answer.json()["issues"][0]["field"], field);
    }
}

#[tokio::test]
async fn calls_and_results_are_one_part_and_steps_are_marked() {
    let world = World::new();
    world.model.say(call("add", r#"{"a": 2, "b": 3}"#));
    world.model.say(call("add", r#"{"a": 13, "b": 3}"#));
    world.model.say([words("5"), stop()]);
    world.post("/api/chat", &ask("clerk", Some("c"), "2+3")).await.frames();
    let read = world.studio("/api/memory/threads/c/messages?resourceId=shop").await.json();
    let parts = read["messages"][1]["content"]["parts"].as_array().expect("parts").clone();
    let kinds: Vec<&str> = parts.iter().map(|part| part["type"].as_str().expect("type")).collect();
    assert_eq!(kinds, ["tool-invocation", "step-start", "tool-invocation", "step-start", "text"]);
    let fine = &parts[0]["toolInvocation"];
    assert_eq!((&fine["state"], &fine["toolName"]), (&json!("result"), &json!("add")));
    assert_eq!((&fine["args"], &fine["result"]), (&json!({"a": 2, "b": 3}), &json!({"sum": 5})));
    assert_eq!(parts[2]["toolInvocation"]["result"], json!({"error": true, "message": "13 is not added"}));
}

/// TO-a2 over the routes: rows of one moment come once each, in the order they were written, whatever changes meanwhile.
#[tokio::test]
async fn to_a2_rows_of_one_moment_are_paged_without_repeating_or_skipping() {
    let world = World::new();
    let make = json!({"resourceId": "shop", "threadId": "same"});
    assert_eq!(world.post("/api/memory/threads?agentId=clerk", &make).await.status, 200);
    let rows: Vec<_> = (0..205)
        .map(|number| {
            json!({"id": format!("n{number}"), "role": if number % 2 == 0 { "user" } else { "assistant" },
                "content": format!("n{number}"), "threadId": "same", "resourceId": "shop",
                "createdAt": "2030-01-01T00:00:00.000Z"})
        })
        .collect();
    let saved = world.post("/api/memory/save-messages?agentId=clerk", &json!({"messages": rows})).await;
    assert_eq!(saved.status, 200, "{}", saved.text);
    for (direction, reversed) in [("ASC", false), ("DESC", true)] {
        let mut seen = Vec::new();
        for (page, (size, more)) in [(100, true), (100, true), (5, false)].into_iter().enumerate() {
            let path = format!(
                "/api/memory/threads/same/messages?agentId=clerk&perPage=100&page={page}\
                 &orderBy%5Bfield%5D=createdAt&orderBy%5Bdirection%5D={direction}"
            );
            let body = world.get(&path).await.json();
            assert_eq!((&body["total"], &body["hasMore"]), (&json!(205), &json!(more)), "{body}");
            let list = body["messages"].as_array().expect("a list");
            assert_eq!(list.len(), size);
            seen.extend(list.iter().map(|message| message["id"].as_str().expect("an id").to_owned()));
            // Something changes between two pages.
            let change = json!({"metadata": {"seen": page}});
            assert_eq!(world.patch("/api/memory/threads/same?agentId=clerk", &change).await.status, 200);
        }
        let mut written: Vec<String> = (0..205).map(|number| format!("n{number}")).collect();
        if reversed {
            written.reverse();
        }
        assert_eq!(seen, written);
    }
}

/// TO-a2 for threads: the clock stands still, and every one is listed once.
#[tokio::test]
async fn to_a2_threads_of_one_moment_are_paged_without_repeating_or_skipping() {
    let world = World::new();
    for number in 0..205 {
        let make = json!({"resourceId": "many", "threadId": format!("t{number}")});
        assert_eq!(world.post("/api/memory/threads?agentId=clerk", &make).await.status, 200);
    }
    let mut seen = Vec::new();
    for (page, (size, more)) in [(100, true), (100, true), (5, false)].into_iter().enumerate() {
        let path = format!("/api/memory/threads?agentId=clerk&resourceId=many&perPage=100&page={page}");
        let body = world.get(&path).await.json();
        assert_eq!((&body["total"], &body["hasMore"]), (&json!(205), &json!(more)));
        let list = body["threads"].as_array().expect("a list");
        assert_eq!(list.len(), size);
        seen.extend(list.iter().map(|thread| thread["id"].as_str().expect("an id").to_owned()));
        let first = format!("/api/memory/threads/{}?agentId=clerk&resourceId=many", seen[page * 100]);
        assert_eq!(world.patch(&first, &json!({"metadata": {"seen": page}})).await.status, 200);
    }
    let newest_first: Vec<String> = (0..205).rev().map(|number| format!("t{number}")).collect();
    assert_eq!(seen, newest_first);
}
