//! `processor/1`.

use roster_model::message::{FileData, Part, Role, ToolResult};
use roster_model::processor::{Piece, Processor, Stage};
use roster_plugin::bridge::processor::processor;
use serde_json::{Value, json};

use super::Transcript;
use crate::processor::context;
use crate::world::World;

/// Each piece that comes back with its state, handed on as a turn does.
async fn stream(mask: &dyn Processor, log: &mut Transcript, pieces: &[&str]) {
    let (mut state, mut passed) = (Value::Null, Vec::new());
    for (text, last) in pieces.iter().map(|text| (*text, false)).chain([("", true)]) {
        match mask.piece(Piece { text: text.to_owned(), state, last }, context()).await {
            Ok(piece) => {
                state = piece.state.clone();
                passed.push(Ok(piece));
            }
            Err(error) => {
                passed.push(Err(error));
                break;
            }
        }
    }
    log.say(&format!("pieces {pieces:?}"), &passed);
}

pub(super) async fn all(world: &World, log: &mut Transcript) {
    let mask = processor(&world.plugin(), "mask");
    log.say("hooks", &mask.hooks());
    let result = ToolResult {
        call_id: "c".to_owned(),
        name: "look".to_owned(),
        output: json!({"secret": ["a secret"]}),
        is_error: true,
        duration_ms: 3,
    };
    let picture = Part::File {
        media_type: "image/png".to_owned(),
        data: FileData::Url("https://example.org/a.png".to_owned()),
        name: Some("secret.png".to_owned()),
    };
    for stage in [Stage::Input, Stage::Output] {
        for rows in [
            vec![],
            vec![(Role::User, vec![Part::text("my secret, ü 北京 😀")])],
            vec![(Role::System, vec![]), (Role::User, vec![picture.clone(), Part::text("secretsecret")])],
            vec![(Role::Assistant, vec![Part::ToolResult(result.clone()), Part::text("no word of it")])],
            vec![(Role::User, vec![Part::text("a forbidden word")])],
        ] {
            let outcome = mask.messages(stage, rows.clone(), context()).await;
            log.say(&format!("{stage:?} {rows:?}"), &outcome);
        }
    }
    stream(&*mask, log, &["the sec", "ret is se", "cre", "t or sec"]).await;
    stream(&*mask, log, &["", "plain", " words"]).await;
    stream(&*mask, log, &[]).await;
    let nobody = processor(&world.plugin(), "nobody");
    log.say("hooks of one that is not there", &nobody.hooks());
    let rows = vec![(Role::User, vec![Part::text("hello")])];
    log.say("asked all the same", &nobody.messages(Stage::Input, rows, context()).await);
}
