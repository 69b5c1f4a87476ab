//! Finding tools and calling them.

use std::time::Duration;

use roster_model::source::{Standing, ToolSource};
use serde_json::{Map, Value, json};

use crate::peer::{World, context, server};

#[tokio::test]
async fn tools_are_found_and_called() {
    let world = World::with(&server("*'\"method\":\"tools/call\"'*) text done;;"));
    world.ready().await;
    assert_eq!(world.standing(), Standing::Here);
    let state = world.state();
    assert_eq!(
        (state.tools, state.server.as_deref(), state.protocol.as_deref()),
        (1, Some("sh 1"), Some("2025-06-18"))
    );
    assert_eq!(world.tool("one").spec().description, "Does one thing.");
    assert_eq!(world.call("one").await, Ok(json!("done")));
    assert_eq!(world.calls(), ["x ok"]);
    world.close().await;
}

#[tokio::test]
async fn pages_are_read_to_the_end() {
    let ways = r#"
*'"method":"tools/list"'*'"cursor":"2"'*) answer '{"tools":[{"name":"two","inputSchema":{"type":"object"}}]}';;
*'"method":"tools/list"'*) answer "{\"tools\":[$tool],\"nextCursor\":\"2\"}";;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let names: Vec<String> =
        world.servers.group("x").expect("x").tools.iter().map(|tool| tool.spec().name.clone()).collect();
    assert_eq!(names, ["mcp:x/one", "mcp:x/two"]);
    world.close().await;
}

#[tokio::test]
async fn changed_tools_are_taken_up() {
    let ways = r#"
*'"method":"tools/call"'*) text ok; tool="$tool,{\"name\":\"two\",\"inputSchema\":{}}"
  printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n';;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let before = world.servers.group("x").expect("x").revision;
    world.call("one").await.expect("called");
    world.until("with two tools", |state| state.tools == 2).await;
    assert_ne!(world.servers.group("x").expect("x").revision, before);
    world.close().await;
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let ways = r#"
*'"method":"tools/call"'*) echo called >> "$NOTES";;
*'notifications/cancelled'*) echo "$line" >> "$NOTES";;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    let tool = world.tool("one");
    let call = tool.call(Map::new(), context());
    let given_up = tokio::time::timeout(Duration::from_millis(200), async {
        tokio::join!(call, world.noted("notes", "called")).0
    });
    assert!(given_up.await.is_err(), "it gives no answer");
    world.noted("notes", "notifications/cancelled").await;
    assert_eq!(world.calls(), ["x cancelled"]);
    world.close().await;
}

#[tokio::test]
async fn what_a_tool_says_went_wrong_is_told_and_secrets_are_not() {
    let ways = r#"
*'"method":"tools/call"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no: key %s"}}\n' "$(id)" "$API_KEY";;"#;
    let world = World::new();
    let mut config = world.config("x", &server(ways));
    if let roster_mcp::client::Reach::Stdio { env, secrets, .. } = &mut config.reach {
        env.push(("API_KEY".to_owned(), "hush-hush-1".to_owned()));
        secrets.push("API_KEY".to_owned());
    }
    world.servers.apply(&[config]);
    world.ready().await;
    let error = world.call("one").await.expect_err("refused");
    assert_eq!(error.code, "server_error");
    assert_eq!(error.message, "the MCP server `x` refused the call: no: key *****");

    let failing = server(
        "*'\"method\":\"tools/call\"'*) answer '{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no such file\"}]}';;",
    );
    let other = World::with(&failing);
    other.ready().await;
    let error = other.call("one").await.expect_err("failed");
    assert_eq!((error.code, error.message.as_str()), ("tool_failed", "no such file"));
    world.close().await;
    other.close().await;
}

#[tokio::test]
async fn structured_values_arrive_as_values() {
    let ways = r#"
*'"method":"tools/call"'*) answer '{"content":[{"type":"text","text":"{\"n\":1}"}],"structuredContent":{"n":1}}';;"#;
    let world = World::with(&server(ways));
    world.ready().await;
    assert_eq!(world.call("one").await, Ok(json!({"n": 1})));
    assert_eq!(world.calls(), ["x ok"]);
    let _: &Value = &world.tool("one").spec().input_schema;
    world.close().await;
}
