//! Rules of turns: question, answer, and the thread taken in between.

use std::pin::pin;

use futures_util::FutureExt;
use roster_model::message::{Message, MessageStatus, Seq};
use roster_model::storage::{BeginTurn, StoreErrorKind, ThreadChange};
use roster_model::time::Timestamp;

use super::{Store, Subject, answer, begin, begin_with, finish, ids, key, question, refused, save, turn, whole_turn};

/// Lets a number of writes of another thread through, so that whatever could happen meanwhile has happened.
async fn other_work(store: &dyn Store) {
    let elsewhere = key("elsewhere", "t");
    store.create_thread(&elsewhere, Default::default()).await.expect("made");
    for round in 0..20 {
        let change = ThreadChange { title: Some(format!("round {round}")), metadata: None };
        store.update_thread(&elsewhere, change).await.expect("changed");
        tokio::task::yield_now().await;
    }
}

/// Question and answer stand in order with seqs 1 and 2, both under their turn.
pub async fn a_turn_is_two_rows_in_order(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let begun = begin(store, &key, "one").await.expect("begins");
    assert_eq!((begun.first, begun.seeded), (Seq(1), false));
    finish(store, &key, "one").await.expect("ends");
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [Seq(1), Seq(2)]);
    assert!(rows.iter().all(|row| row.turn.as_ref().is_some_and(|turn| turn.as_str() == "one")));
    assert_eq!(ids(store, &key).await, ["one-q", "one-a"]);
    let thread = store.thread(&key).await.expect("thread").expect("there");
    assert_eq!(thread.message_count, 2);
    assert_eq!(thread.agent.expect("agent").as_str(), "clerk");
}

/// A turn that finds the thread taken waits, and writes nothing until it is free.
pub async fn a_second_turn_waits_for_the_first(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    let mut second = pin!(begin(store, &key, "two"));
    tokio::select! {
        biased;
        begun = &mut second => panic!("did not wait: {begun:?}"),
        () = other_work(store) => {}
    }
    assert_eq!(ids(store, &key).await, ["one-q"]);
    finish(store, &key, "one").await.expect("ends");
    assert_eq!(second.await.expect("begins").first, Seq(3));
    finish(store, &key, "two").await.expect("ends");
    assert_eq!(ids(store, &key).await, ["one-q", "one-a", "two-q", "two-a"]);
}

/// Waiting turns get the thread first come, first served.
pub async fn turns_of_a_thread_run_in_the_order_they_came(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "t0").await.expect("begins");
    let turn = |name: &'static str| {
        let key = key.clone();
        async move { whole_turn(store, &key, name).await }
    };
    let (mut a, mut b, mut c) = (pin!(turn("t1")), pin!(turn("t2")), pin!(turn("t3")));
    tokio::select! {
        biased;
        () = &mut a => panic!("did not wait"),
        () = &mut b => panic!("did not wait"),
        () = &mut c => panic!("did not wait"),
        () = other_work(store) => {}
    }
    finish(store, &key, "t0").await.expect("ends");
    tokio::join!(c, b, a);
    assert_eq!(ids(store, &key).await, ["t0-q", "t0-a", "t1-q", "t1-a", "t2-q", "t2-a", "t3-q", "t3-a"]);
}

/// Whoever stops waiting is not served, and does not keep the next one waiting.
pub async fn a_dropped_wait_gives_up_its_place(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    {
        let waiting = pin!(begin(store, &key, "gone"));
        tokio::select! {
            biased;
            begun = waiting => panic!("did not wait: {begun:?}"),
            () = other_work(store) => {}
        }
    }
    finish(store, &key, "one").await.expect("ends");
    whole_turn(store, &key, "two").await;
    assert_eq!(ids(store, &key).await, ["one-q", "one-a", "two-q", "two-a"]);
}

/// A caller that goes away while its turn begins leaves at most its question, never a taken thread.
pub async fn a_dropped_begin_does_not_keep_the_thread(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    for round in 0..10 {
        let name = format!("gone{round}");
        let mut gone = Box::pin(begin(store, &key, &name));
        // Polled once: the call is on its way, and perhaps done.
        let done = (&mut gone).now_or_never().is_some();
        drop(gone);
        if done {
            save(store, &key, &name, None, true).await.expect("given back");
        }
        whole_turn(store, &key, &format!("next{round}")).await;
    }
    let rows = ids(store, &key).await;
    for round in 0..10 {
        let at = rows.iter().position(|id| *id == format!("next{round}-q")).expect("question is there");
        assert_eq!(rows[at + 1], format!("next{round}-a"));
    }
}

/// A question that waited for another turn's answer is not dated before it, nor an answer before its question; a
/// message appended outside a turn keeps its time.
pub async fn times_of_turns_never_go_backwards(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let at = |millis: i64| Timestamp::from_millis(question("q").created_at.millis() + millis);
    let dated = |message: Message, millis| Message { created_at: at(millis), ..message };
    let begin = async |name: &str, seed: Vec<Message>, millis| {
        let question = dated(question(&format!("{name}-q")), millis);
        let begin = BeginTurn { key: key.clone(), turn: turn(name), seed, question, thread: Default::default() };
        store.begin_turn(begin).await.expect("begins");
    };
    let seed = vec![dated(question("s1"), -9_000), dated(answer("s2"), -8_000)];
    begin("one", seed, 1_000).await;
    let running = Message { status: MessageStatus::Running, ..dated(answer("one-a"), 5_000) };
    save(store, &key, "one", Some(running), false).await.expect("saved");
    save(store, &key, "one", Some(dated(answer("one-a"), 4_000)), true).await.expect("saved");
    begin("two", Vec::new(), 2_000).await;
    save(store, &key, "two", Some(dated(answer("two-a"), 3_000)), true).await.expect("saved");
    store.append(&key, vec![dated(question("outside"), -7_000)]).await.expect("appended");
    begin("three", Vec::new(), 6_000).await;
    let rows = store.tail(&key, 100, None).await.expect("tail");
    let times: Vec<Timestamp> = rows.iter().map(|row| row.message.created_at).collect();
    assert_eq!(times, [-9_000, -8_000, 1_000, 5_000, 5_000, 5_000, -7_000, 6_000].map(at));
    let changed = store.thread(&key).await.expect("thread").expect("there").updated_at;
    assert_eq!(changed, at(6_000));
}

/// A thread that is taken holds up nobody else, not even the same id under another owner.
pub async fn other_threads_are_not_held_up(subject: &Subject) {
    let store = &*subject.store;
    begin(store, &key("shop", "t"), "one").await.expect("begins");
    whole_turn(store, &key("shop", "u"), "two").await;
    whole_turn(store, &key("bank", "t"), "three").await;
    finish(store, &key("shop", "t"), "one").await.expect("ends");
}

/// The client's list is stored only where the thread holds no message yet.
pub async fn a_seed_goes_only_into_an_empty_thread(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let seed = || vec![question("s1"), answer("s2")];
    let begun = begin_with(store, &key, "one", seed()).await.expect("begins");
    assert_eq!((begun.first, begun.seeded), (Seq(1), true));
    finish(store, &key, "one").await.expect("ends");
    assert_eq!(ids(store, &key).await, ["s1", "s2", "one-q", "one-a"]);
    let begun = begin_with(store, &key, "two", seed()).await.expect("begins");
    assert_eq!((begun.first, begun.seeded), (Seq(5), false));
    finish(store, &key, "two").await.expect("ends");
    assert_eq!(ids(store, &key).await.len(), 6);
    assert_eq!(store.thread(&key).await.expect("thread").expect("there").message_count, 6);
}

/// Saving the turn's row again replaces it where it stands.
pub async fn a_running_answer_is_overwritten_in_place(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    let running = Message { status: MessageStatus::Running, ..answer("one-a") };
    save(store, &key, "one", Some(running.clone()), false).await.expect("saved");
    store.append(&key, vec![question("rest")]).await.expect("appended");
    save(store, &key, "one", Some(running), false).await.expect("saved again");
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[1].message.status, MessageStatus::Running);
    finish(store, &key, "one").await.expect("ends");
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(ids(store, &key).await, ["one-q", "one-a", "rest"]);
    assert_eq!(rows[1].message, answer("one-a"));
    assert_eq!(store.thread(&key).await.expect("thread").expect("there").message_count, 3);
}

/// A turn can end without an answer.
pub async fn a_save_without_a_message_gives_the_thread_back(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    save(store, &key, "one", None, true).await.expect("given back");
    whole_turn(store, &key, "two").await;
    assert_eq!(ids(store, &key).await, ["one-q", "two-q", "two-a"]);
}

/// A thread deleted under a running turn takes the answer with it; a new thread of that id is free and stays clean.
pub async fn a_save_into_a_deleted_thread_is_not_found(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    assert!(store.delete_thread(&key).await.expect("deleted"));
    refused(save(store, &key, "one", Some(answer("one-a")), false).await, StoreErrorKind::NotFound);
    begin(store, &key, "two").await.expect("the new thread is free");
    refused(finish(store, &key, "one").await, StoreErrorKind::NotFound);
    finish(store, &key, "two").await.expect("ends");
    assert_eq!(ids(store, &key).await, ["two-q", "two-a"]);
}

/// A refused question leaves no row, no thread and no lock.
pub async fn a_taken_question_id_is_a_conflict_and_writes_nothing(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    let clash = begin_with(store, &key, "one", vec![question("one-q")]).await;
    refused(clash, StoreErrorKind::Conflict);
    assert_eq!(store.thread(&key).await.expect("thread"), None);
    whole_turn(store, &key, "one").await;
    refused(begin(store, &key, "one").await, StoreErrorKind::Conflict);
    assert_eq!(ids(store, &key).await, ["one-q", "one-a"]);
    whole_turn(store, &key, "two").await;
}

/// An answer's id that belongs to another row is refused and changes nothing.
pub async fn an_answer_never_replaces_another_turns_row(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    whole_turn(store, &key, "one").await;
    begin(store, &key, "two").await.expect("begins");
    for taken in ["one-a", "one-q", "two-q"] {
        let edited = Message { parts: Vec::new(), ..answer(taken) };
        refused(save(store, &key, "two", Some(edited), false).await, StoreErrorKind::Conflict);
    }
    finish(store, &key, "two").await.expect("ends");
    let rows = store.tail(&key, 10, None).await.expect("tail");
    assert_eq!(rows[0].message, question("one-q"));
    assert_eq!(rows[1].message, answer("one-a"));
    assert_eq!(rows[2].message, question("two-q"));
}

/// The last save may be sent twice.
pub async fn a_repeated_last_save_changes_nothing(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    whole_turn(store, &key, "one").await;
    finish(store, &key, "one").await.expect("repeated");
    begin(store, &key, "two").await.expect("begins");
    finish(store, &key, "one").await.expect("repeated once more");
    finish(store, &key, "two").await.expect("still has the thread");
    assert_eq!(ids(store, &key).await, ["one-q", "one-a", "two-q", "two-a"]);
}

/// A turn that gave its thread back cannot answer after the next question.
pub async fn a_late_answer_never_lands_behind_another_turn(subject: &Subject) {
    let (store, key) = (&*subject.store, key("shop", "t"));
    begin(store, &key, "one").await.expect("begins");
    save(store, &key, "one", None, true).await.expect("given back");
    begin(store, &key, "two").await.expect("begins");
    refused(finish(store, &key, "one").await, StoreErrorKind::Conflict);
    finish(store, &key, "two").await.expect("ends");
    assert_eq!(ids(store, &key).await, ["one-q", "two-q", "two-a"]);
}
