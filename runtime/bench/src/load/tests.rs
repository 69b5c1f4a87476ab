use super::*;
use crate::door::Question;
use roster_testkit::scripted::{Reply, ScriptedServer};

fn load(server: &ScriptedServer, most: u64) -> Load {
    Load {
        address: server.address(),
        door: Door::Stream,
        connections: 3,
        duration: Duration::from_secs(60),
        most,
        questions: Arc::new(|number| {
            Door::Stream.body(Question { model: "m", text: &format!("from {number}"), owner: None, conversation: None })
        }),
    }
}

#[tokio::test]
async fn every_connection_asks_its_own_questions() {
    let server = ScriptedServer::start().await;
    let loaded = load(&server, 5).run().await.expect("good answers");
    assert_eq!(loaded.sample.count(), 15);
    assert!(loaded.rate() > 0.0);
    // One more each, which is not counted.
    let requests = server.requests();
    assert_eq!(requests.len(), 18);
    for number in 0..3 {
        let own = format!("from {number}");
        assert_eq!(requests.iter().filter(|request| request.last_user_text() == own).count(), 6);
    }
}

#[tokio::test]
async fn time_ends_it() {
    let server = ScriptedServer::start().await;
    let load = Load { duration: Duration::ZERO, ..load(&server, u64::MAX) };
    assert_eq!(load.run().await.expect("good answers").sample.count(), 0);
}

#[tokio::test]
async fn one_bad_answer_fails_the_whole() {
    let server = ScriptedServer::start().await;
    (0..7).for_each(|_| server.push(Reply::text("good")));
    server.push(Reply::text("cut").finish("length"));
    let fault = load(&server, 5).run().await.expect_err("the eighth is bad");
    assert!(format!("{fault:#}").contains("`length`"), "{fault:#}");
}
