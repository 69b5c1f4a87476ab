//! `embedder/1`.

use roster_plugin::bridge::embedder::embedder;

use super::Transcript;
use crate::world::World;

pub(super) async fn all(world: &World, log: &mut Transcript) {
    let plugin = world.plugin();
    log.say("no embedder of this name", &embedder(&plugin, "echo").map(|embedder| embedder.dimensions()));
    let letters = embedder(&plugin, "letters").expect("it has this embedder");
    log.say("space and dimensions", &(letters.space(), letters.dimensions()));
    let texts = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    for all in [&[][..], &[""], &["ab"], &["Letter", "ü 北京", "zzz"]] {
        log.say(&format!("vectors of {all:?}"), &letters.embed(&texts(all)).await);
    }
    // More than one batch takes, in their order.
    let many: Vec<String> = ('a'..='z').cycle().take(60).map(String::from).collect();
    let vectors = letters.embed(&many).await.expect("vectors");
    let where_one = |vector: &Vec<f32>| vector.iter().position(|float| (float - 1.0).abs() < f32::EPSILON);
    log.say("60 letters, one each", &vectors.iter().map(where_one).collect::<Vec<_>>());
    let long = vec!["x".repeat(1_000_000)];
    log.say("a text of a million letters", &letters.embed(&long).await.map(|vectors| vectors[0][23]));
}
