//! Rows larger than a plugin can give back.

use super::*;

fn result(call: &str, bytes: usize) -> Part {
    let output = Value::String("x".repeat(bytes));
    Part::ToolResult(ToolResult { call_id: call.into(), name: "look".into(), output, is_error: false, duration_ms: 0 })
}

/// However much its tools gave, a turn's words are kept, and the thread goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_row_larger_than_the_plugin_can_give_back_is_stored_cut() {
    for isolation in BOTH {
        let world = Arc::new(built_with("notes", isolation, |settings| settings.limits.output = 64 << 10));
        let (memory, t) = (opened(&world, &json!({})), key("shop", "t"));
        begin(&*memory, &t, "one").await.expect("begins");
        let mut row = answer("one-a");
        let words = row.parts.clone();
        row.parts.extend([result("a", 40 << 10), result("b", 40 << 10)]);
        save(&*memory, &t, "one", Some(row), true).await.expect("saved");
        let told = memory.tail(&t, 10, None).await.expect("told");
        assert!(told.last().is_some_and(|row| row.message.parts.starts_with(&words) && row.message.parts.len() == 3));
        conversation::whole_turn(&*memory, &t, "two").await;
        let mut huge = question("huge");
        huge.parts = vec![Part::Text { text: "x".repeat(64 << 10) }];
        refused(memory.append(&t, vec![huge]).await, StoreErrorKind::Unsupported);
        conversation::whole_turn(&*memory, &t, "three").await;
    }
}
