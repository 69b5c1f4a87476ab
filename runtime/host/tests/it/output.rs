//! Answers of a form, from the file to the doors.

use roster_testkit::scripted::{Reply, ScriptedServer};
use serde_json::json;

use crate::http::{chat, messages, post, question};
use crate::project::Project;
use crate::roster::Roster;

const SORTER: &str = "instructions = \"Sort.\"\nmemory = \"create_memory\"\n[output_schema]\ntype = \"object\"\n\
                      required = [\"topic\"]\nadditionalProperties = false\n[output_schema.properties.topic]\n\
                      enum = [\"order\", \"other\"]";

#[tokio::test]
async fn an_answer_of_a_form_is_the_document_on_every_door() {
    let server = ScriptedServer::builder().strict().start().await;
    let project = Project::scripted(&server).agent("sorter", SORTER);
    let roster = Roster::serve(&project).await;
    server.push(Reply::text("An order, I think."));
    server.push(Reply::text("{\"topic\": \"order\"}"));
    let answer = chat(&roster, &question("sorter", "c", "Two, please.")).await;
    assert_eq!(answer.text(), "{\"topic\": \"order\"}");
    assert_eq!(messages(&roster, "c").await.len(), 2, "the rejected answer is no message");

    let url = format!("{}/v1/chat/completions", roster.gateway);
    let body = json!({"model": "sorter", "messages": [{"role": "user", "content": "Hello."}]});
    server.push(Reply::text("```json\n{\"topic\": \"other\"}\n```"));
    let (status, completion) = post(&url, &body).await;
    assert_eq!((status, &completion["choices"][0]["message"]["content"]), (200, &json!("{\"topic\": \"other\"}")));
    let requests = server.requests();
    assert_eq!(requests.last().expect("asked").json().expect("JSON")["response_format"]["json_schema"]["strict"], true);

    server.push(Reply::text("no"));
    server.push(Reply::text("{\"topic\": \"weather\"}"));
    let (status, refused) = post(&url, &body).await;
    assert_eq!((status, &refused["error"]["code"]), (502, &json!("output_invalid")), "{refused}");
    roster.terminate().await;
}
