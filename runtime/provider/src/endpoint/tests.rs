//! What of an endpoint's address goes where.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use roster_testkit::scripted::{ScriptedServer, refused_base_url};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::tests::{all, hello, provider_at};

/// Keeps the fields of all events.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, "{}={value:?} ", field.name()).expect("written");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Fields(&mut self.0.lock().expect("lock")));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn an_address_that_cannot_be_reached_is_told_to_the_log_only_and_without_secrets() {
    let base_url = refused_base_url();
    let port = base_url.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port").to_owned();
    let (provider, _) = provider_at(&base_url.replace("http://", "http://some-user:pass-word@"));
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    let (_, error) = all(&provider, hello()).await;
    drop(guard);
    let error = error.expect("nobody there");
    assert!(!error.message.contains(&port) && !error.message.contains("127.0.0.1"), "{error}");
    let log = log.0.lock().expect("lock");
    let expected = [r#"provider="test""#.to_owned(), r#"host="127.0.0.1""#.to_owned(), format!("port={port}")];
    assert!(expected.iter().all(|part| log.contains(part)), "{expected:?} in {log}");
    assert!(!log.contains("pass-word") && !log.contains("some-user"), "{log}");
}

#[tokio::test]
async fn words_of_other_failures_which_may_hold_the_host_are_not_told() {
    let server = ScriptedServer::start().await;
    let (provider, _) = provider_at(&server.base_url().replace("http://", "https://"));
    assert_eq!(
        all(&provider, hello()).await.1.expect("it does not speak TLS").message,
        "provider `test`: cannot be reached"
    );
}
