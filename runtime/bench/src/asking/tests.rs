use super::*;
use tokio::task::yield_now;

/// Questions chosen so far by each of the two tests.
static CHOSEN: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Waits until so many questions were chosen.
async fn until_chosen(test: usize, count: u64) {
    while CHOSEN[test].load(Ordering::SeqCst) < count {
        yield_now().await;
    }
}

fn plan(witness: &Witness, address: SocketAddr) -> Plan {
    // The model server speaks the door itself; it is asked without a system text.
    Plan { address, witness: witness.clone(), connections: 3, every: Duration::from_millis(1), choose }
}

fn choose(number: u64) -> (Door, String) {
    CHOSEN[0].fetch_add(1, Ordering::SeqCst);
    (if number.is_multiple_of(2) { Door::Whole } else { Door::Stream }, "plain".to_owned())
}

#[tokio::test]
async fn questions_are_asked_until_the_end() {
    let witness = Witness::start().await;
    let asking = plan(&witness, witness.server().address()).start();
    until_chosen(0, 20).await;
    let asked = asking.finish().await.expect("it ends");
    assert_eq!((asked.failed, asked.first_failure.as_deref()), (0, None));
    assert!(asked.sample.count() > 3 && asked.rate() > 1.0, "{} answers", asked.sample.count());
}

#[tokio::test]
async fn failures_are_counted_and_the_asking_goes_on() {
    let witness = Witness::start().await;
    let mut plan = plan(&witness, witness.server().address());
    // The model server has no such door.
    plan.choose = |_| {
        CHOSEN[1].fetch_add(1, Ordering::SeqCst);
        (Door::Chat, "plain".to_owned())
    };
    let asking = plan.start();
    until_chosen(1, 20).await;
    let asked = asking.finish().await.expect("it ends");
    assert_eq!(asked.sample.count(), 0);
    assert!(asked.failed > 3, "{} failures", asked.failed);
    assert!(asked.first_failure.expect("told").contains("agent `plain` over Chat"));
}
