use futures_util::stream::{iter, pending};

use super::*;

async fn read(pieces: Vec<Result<Bytes, BodyError>>) -> (Vec<Event>, Option<ProviderErrorKind>) {
    let mut events = Events::new(iter(pieces).boxed());
    let mut all = Vec::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => all.push(event),
            Err(error) => return (all, Some(error.kind)),
        }
    }
    (all, None)
}

fn data(data: &str) -> Event {
    Event { name: None, data: data.to_owned() }
}

async fn check(text: &str, expected: &[Event]) {
    for size in [1, 2, 3, 7, usize::MAX] {
        let pieces = text.as_bytes().chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        assert_eq!(read(pieces).await, (expected.iter().map(copy).collect(), None), "{text:?} by {size}");
    }
}

fn copy(event: &Event) -> Event {
    Event { name: event.name.clone(), data: event.data.clone() }
}

#[tokio::test]
async fn events_are_read_as_the_standard_says_and_the_last_even_when_left_open() {
    check("data: a\n\ndata: b", &[data("a"), data("b")]).await;
    check("\u{feff}: c\r\rdata:a\r\rdata:  b\r\r", &[data("a"), data(" b")]).await;
    check("\u{feff}data: a\r\n\r\n", &[data("a")]).await;
    check(": only a comment\n\n\n", &[]).await;
    check("data\n\ndata:\n\ndata: : ping\n\n", &[data(""), data(""), data(": ping")]).await;
    check("event: error\ndata: x\ndata: y\n\n", &[Event { name: Some("error".to_owned()), data: "x\ny".to_owned() }])
        .await;
    check("unknown: 1\ndata: 北京 😀\nid: 3\n", &[data("北京 😀")]).await;
    check("", &[]).await;
}

#[tokio::test]
async fn faults_have_their_kinds() {
    let piece = |bytes: &'static [u8]| Ok(Bytes::from_static(bytes));
    let (events, kind) = read(vec![piece(b"data: a\n\ndata: b"), Err(BodyError::Broken)]).await;
    assert_eq!((events, kind), (vec![data("a")], Some(ProviderErrorKind::Truncated)));
    let (events, kind) = read(vec![piece(b"data: \xff\n\n")]).await;
    assert_eq!((events, kind), (Vec::new(), Some(ProviderErrorKind::Protocol)));
}

#[tokio::test]
async fn an_event_without_end_is_given_up() {
    let piece = Bytes::from(vec![b'x'; 1024 * 1024]);
    let pieces = std::iter::once(Ok(Bytes::from_static(b"data: ")))
        .chain(std::iter::repeat_n(Ok(piece), MAX_BYTES / (1024 * 1024) + 1))
        .collect();
    assert_eq!(read(pieces).await, (Vec::new(), Some(ProviderErrorKind::Protocol)));
}

#[tokio::test(start_paused = true)]
async fn silence_times_out_and_comments_are_no_silence() {
    let idle = Duration::from_secs(60);
    let beats = futures_util::stream::unfold(0, |beat| async move {
        tokio::time::sleep(Duration::from_secs(50)).await;
        (beat < 5).then(|| (Ok::<_, std::io::Error>(Bytes::from_static(b": alive\n")), beat + 1))
    });
    let begun = tokio::time::Instant::now();
    let mut events = Events::new(within_idle(Box::pin(beats), idle));
    assert!(events.next().await.is_none());
    assert_eq!(begun.elapsed(), Duration::from_secs(300));

    let first = iter([Ok::<_, std::io::Error>(Bytes::from_static(b"data: a\n\n"))]);
    let mut events = Events::new(within_idle(first.chain(pending()), idle));
    assert_eq!(events.next().await.expect("event").expect("good"), data("a"));
    let begun = tokio::time::Instant::now();
    let error = events.next().await.expect("an end").expect_err("silence");
    assert_eq!((error.kind, begun.elapsed()), (ProviderErrorKind::Timeout, idle));
    assert!(events.next().await.is_none(), "nothing comes after an error");
}
