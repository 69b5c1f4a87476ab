use std::time::Duration;

use roster_model::id::{ThreadId, ThreadKey};
use roster_model::storage::{ConversationStore, NewThread};
use roster_storage::ram::RamStore;
use roster_storage::unavailable::UnavailableStore;
use roster_testkit::clock::TestClock;

use super::*;

/// Threads `a0`, `b1`, `c2`, `a3` … over three stores, each a second after the one before.
async fn stores(count: usize) -> (Vec<Arc<dyn SessionStore>>, ResourceId, Vec<String>) {
    let clock = Arc::new(TestClock::default());
    let stores: Vec<Arc<RamStore>> = (0..3).map(|_| Arc::new(RamStore::new(clock.clone()))).collect();
    let owner = ResourceId::new("shop").expect("legal");
    let mut names = Vec::new();
    for n in 0..count {
        let name = format!("{}{n}", ["a", "b", "c"][n % 3]);
        let key = ThreadKey { resource: owner.clone(), thread: ThreadId::new(&name).expect("legal") };
        stores[n % 3].create_thread(&key, NewThread::default()).await.expect("made");
        names.push(name);
        clock.advance(Duration::from_secs(1));
    }
    let other =
        ThreadKey { resource: ResourceId::new("bank").expect("legal"), thread: ThreadId::new("x").expect("legal") };
    stores[1].create_thread(&other, NewThread::default()).await.expect("made");
    (stores.into_iter().map(|store| store as Arc<dyn SessionStore>).collect(), owner, names)
}

fn named(page: &Page<Thread>) -> Vec<String> {
    page.rows.iter().map(|thread| thread.key.thread.to_string()).collect()
}

#[tokio::test]
async fn pages_over_several_stores_neither_repeat_nor_skip() {
    let (stores, owner, names) = stores(20).await;
    for direction in [Direction::Ascending, Direction::Descending] {
        for size in [1, 3, 7, 20, 50] {
            let (mut seen, mut start) = (Vec::new(), PageStart::First);
            loop {
                let query = ThreadQuery { direction, start, limit: size, ..ThreadQuery::default() };
                let page = threads(&stores, &owner, query).await.expect("a page");
                assert_eq!(page.total, 20);
                let by_offset = PageStart::Offset(seen.len() as u64);
                let query = ThreadQuery { direction, start: by_offset, limit: size, ..ThreadQuery::default() };
                assert_eq!(named(&threads(&stores, &owner, query).await.expect("a page")), named(&page));
                seen.extend(named(&page));
                match page.next {
                    Some(next) => start = PageStart::After(next),
                    None => break,
                }
            }
            if direction == Direction::Descending {
                seen.reverse();
            }
            assert_eq!(seen, names, "{direction:?}, {size} a page");
        }
    }
}

#[tokio::test]
async fn a_thread_that_two_stores_tell_is_listed_once() {
    let (mut stores, owner, names) = stores(6).await;
    stores.push(Arc::clone(&stores[0]));
    let query = ThreadQuery { direction: Direction::Ascending, limit: 10, ..ThreadQuery::default() };
    assert_eq!(named(&threads(&stores, &owner, query).await.expect("a page")), names);
}

#[tokio::test]
async fn a_cursor_of_another_list_is_invalid() {
    let (stores, owner, _) = stores(6).await;
    let first = ThreadQuery { limit: 1, ..ThreadQuery::default() };
    let of_two = threads(&stores[..2], &owner, first).await.expect("a page").next.expect("more");
    for text in ["", "zz", "5b5d", &of_two] {
        let query = ThreadQuery { start: PageStart::After(text.to_owned()), limit: 1, ..ThreadQuery::default() };
        let error = threads(&stores, &owner, query).await.expect_err("no cursor");
        assert_eq!(error.kind, StoreErrorKind::Invalid, "{text}");
    }
}

#[tokio::test]
async fn a_silent_memory_hides_only_its_own_threads() {
    let (mut stores, owner, names) = stores(6).await;
    stores.push(Arc::new(UnavailableStore::new("its plugin is gone")));
    let (mut seen, mut start) = (Vec::new(), PageStart::First);
    for _ in 0..6 {
        let query = ThreadQuery { direction: Direction::Ascending, start, limit: 2, ..ThreadQuery::default() };
        let page = threads(&stores, &owner, query).await.expect("a page");
        assert_eq!(page.total, 6);
        seen.extend(named(&page));
        let Some(next) = page.next else { break };
        start = PageStart::After(next);
    }
    assert_eq!(seen, names);
    stores.rotate_right(1);
    let query = ThreadQuery { limit: 2, ..ThreadQuery::default() };
    assert!(threads(&stores, &owner, query).await.is_err(), "the runtime's own is never left out");
}
