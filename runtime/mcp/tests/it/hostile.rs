//! Servers that say too much, nothing, or nonsense.

use std::time::Duration;

use serde_json::json;

use crate::peer::{World, server};

#[tokio::test]
async fn noise_between_the_messages_is_passed_over() {
    let ways = r#"
*'"method":"tools/list"'*) echo 'Starting up…'; echo '{"jsonrpc":"2.0","id":99999,"result":{}}'; echo '[]'; echo '{'
  answer "{\"tools\":[$tool]}";;
*'"method":"tools/call"'*) echo '{"nonsense":true}'; text fine;;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    assert_eq!(world.call("one").await, Ok(json!("fine")));
    world.close().await;
}

#[tokio::test]
async fn an_endless_line_fails_the_call_and_the_server_serves_on() {
    // Thirty megabytes without a line end, then an answer to a second call.
    let ways = r#"
*'"method":"tools/call"'*) if [ -e "$FLAG" ]; then text after; else : > "$FLAG"; head -c 30000000 /dev/zero | tr '\0' 'x'; echo; fi;;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let error = world.call("one").await.expect_err("its answer was not read");
    assert_eq!(error.code, "server_error");
    assert!(error.message.contains("sent a message larger than 8 MiB"), "{}", error.message);
    assert_eq!(world.call("one").await, Ok(json!("after")));
    world.close().await;
}

#[tokio::test]
async fn a_list_that_never_ends_is_given_up() {
    let ways = r#"
*'"method":"tools/list"'*) answer "{\"tools\":[$tool],\"nextCursor\":\"again\"}";;"#;
    let world = World::with(&server(ways));
    world.until("waiting", |state| state.state == "waiting").await;
    let error = world.state().error.expect("a reason");
    assert!(error.starts_with("lists the same page of tools again and again"), "{error}");
    world.close().await;
}

#[tokio::test]
async fn a_list_that_never_comes_is_given_up() {
    let world = World::new();
    let mut config = world.config("x", &server("*'\"method\":\"tools/list\"'*) ;;"));
    config.start_timeout = Duration::from_millis(500);
    world.servers.apply(&[config]);
    world.until("waiting", |state| state.state == "waiting").await;
    assert_eq!(world.state().error.as_deref(), Some("was not ready within 0.5 s"));
    world.close().await;
}

#[tokio::test]
async fn tools_with_the_same_name_or_without_one_are_left_out_and_listed() {
    let ways = r#"
*'"method":"tools/list"'*) answer "{\"tools\":[$tool,$tool,{\"name\":\"\",\"inputSchema\":{}},{\"name\":\"n\",\"inputSchema\":{\"type\":\"string\"}}]}";;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let state = world.state();
    assert_eq!((state.tools, state.left_out.len()), (1, 3), "{:?}", state.left_out);
    world.close().await;
}

#[tokio::test]
async fn a_storm_of_changes_is_heard_once_a_second() {
    let ways = r#"
*'"method":"tools/list"'*) echo list >> "$NOTES"; answer "{\"tools\":[$tool]}"
  i=0; while [ $i -lt 200 ]; do printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'; i=$((i+1)); done;;
*'"method":"tools/call"'*) text "$(wc -l < "$NOTES" | tr -d ' ')";;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let lists: u32 = world.call("one").await.expect("called").as_str().expect("a text").parse().expect("a number");
    assert!(lists <= 3, "asked {lists} times");
    world.close().await;
}

/// A message cut in the middle, one with an escape that is none, and one with half of a surrogate pair.
#[tokio::test]
async fn a_broken_message_fails_the_call_at_once_and_the_server_serves_on() {
    for broken in [
        r#"{"jsonrpc":"2.0","id":3,"result":{"content":["#,
        r#"{"jsonrpc":"2.0","id":3,"result":"\q"}"#,
        r#"{"jsonrpc":"2.0","id":3,"result":"\ud83d"}"#,
    ] {
        let ways = r#"
*'"method":"tools/call"'*) if [ -e "$FLAG" ]; then text after; else : > "$FLAG"; printf '%s\n' 'BROKEN'; fi;;"#;
        let world = World::with(&server(&ways.replace("BROKEN", broken)));
        world.ready().await;
        let began = std::time::Instant::now();
        let error = world.call("one").await.expect_err("its answer was not read");
        assert_eq!(error.code, "server_error");
        assert!(error.message.ends_with("sent a message that is no JSON"), "{}", error.message);
        assert!(began.elapsed() < Duration::from_secs(20), "long before the call's own time is over");
        assert_eq!(world.call("one").await, Ok(json!("after")));
        world.close().await;
    }
}
