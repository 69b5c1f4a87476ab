//! The conformance suite of providers, over all dialects, with streams and with whole answers.

use std::sync::Arc;

use roster_model::provider::Provider;
use roster_testkit::scripted::ServerDialect;
use roster_testkit::suite::provider::{Subject, all};

use super::{NotedPace, client};
use crate::config::{Dialect, ProviderConfig, assemble};

async fn run(dialect: Dialect, server: ServerDialect, models: &[&str]) {
    let client = client();
    for streams in [true, false] {
        let make = |base_url: &str| -> Arc<dyn Provider> {
            let mut config = ProviderConfig::new("test", dialect, base_url);
            config.stream = streams;
            let provider = assemble(config, &client).expect("a provider");
            Arc::new(provider.with_pace(Arc::new(NotedPace::default())))
        };
        for model in models {
            all(&Subject { dialect: server, model, streams, make: &make }).await;
        }
    }
}

#[tokio::test]
async fn openai() {
    run(Dialect::OpenAi, ServerDialect::Chat, &["gpt-4o"]).await;
}

#[tokio::test]
async fn openai_responses() {
    run(Dialect::OpenAiResponses, ServerDialect::Responses, &["gpt-4o", "gpt-5.1"]).await;
}

#[tokio::test]
async fn anthropic() {
    run(Dialect::Anthropic, ServerDialect::Messages, &["claude-sonnet-4-5", "claude-opus-5-5"]).await;
}

#[tokio::test]
async fn gemini() {
    run(Dialect::Gemini, ServerDialect::Contents, &["gemini-2.5-flash", "gemini-3-flash"]).await;
}
