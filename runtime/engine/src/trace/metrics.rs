//! Counters and histograms of this process, in OpenMetrics text.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use roster_model::provider::{Circuit, Usage};

use super::outlet::Exported;

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    /// Answered.
    Finished,
    /// Waits for a person.
    Suspended,
    /// Cancelled, or the client left.
    Interrupted,
    /// Failed.
    Failed,
}

/// How a reload ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadOutcome {
    /// Something changed and is served.
    Published,
    /// Nothing changed.
    Unchanged,
    /// Published, with at least one error among the files.
    Problems,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTurn {
    agent: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAgent {
    agent: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfCall {
    name: String,
    /// `ok` or the error's machine code.
    outcome: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfExporter {
    exporter: String,
    /// `taken` or `lost`.
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfServer {
    server: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfProvider {
    provider: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTokens {
    model: String,
    direction: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfReload {
    outcome: &'static str,
}

const SECONDS: [f64; 12] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

fn histogram() -> Histogram {
    Histogram::new(SECONDS)
}

/// All counters of this process.
pub struct Metrics {
    registry: Registry,
    turns: Family<OfTurn, Counter>,
    turn_seconds: Histogram,
    model_calls: Family<OfCall, Counter>,
    first_token_seconds: Histogram,
    model_retries: Family<OfCall, Counter>,
    circuits: Family<OfProvider, Gauge>,
    tokens: Family<OfTokens, Counter>,
    tool_calls: Family<OfCall, Counter>,
    mcp_calls: Family<OfCall, Counter>,
    mcp_reconnects: Family<OfServer, Counter>,
    turns_running: Gauge,
    observations_lost: Counter,
    lost_seen: AtomicU64,
    exporter_spans: Family<OfExporter, Counter>,
    reloads: Family<OfReload, Counter>,
    reload_seconds: Histogram,
    factory_calls: Family<OfAgent, Counter>,
    generation: Gauge,
    vector_cache_bytes: Gauge,
    uncached_recalls: Counter,
    uncached_seen: AtomicU64,
}

/// What others count, as it stands when the text is asked for.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    /// Turns under way.
    pub turns_running: usize,
    /// Spans dropped or not written so far.
    pub observations_lost: u64,
    /// Bytes of vectors held.
    pub vector_cache_bytes: usize,
    /// Searches so far whose owner has more vectors than may be held.
    pub uncached_recalls: u64,
    /// What exporters took and lost so far.
    pub exported: Vec<Exported>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("roster"),
            turns: Family::default(),
            turn_seconds: histogram(),
            model_calls: Family::default(),
            first_token_seconds: histogram(),
            model_retries: Family::default(),
            circuits: Family::default(),
            tokens: Family::default(),
            tool_calls: Family::default(),
            mcp_calls: Family::default(),
            mcp_reconnects: Family::default(),
            turns_running: Gauge::default(),
            observations_lost: Counter::default(),
            lost_seen: AtomicU64::new(0),
            exporter_spans: Family::default(),
            reloads: Family::default(),
            reload_seconds: histogram(),
            factory_calls: Family::default(),
            generation: Gauge::default(),
            vector_cache_bytes: Gauge::default(),
            uncached_recalls: Counter::default(),
            uncached_seen: AtomicU64::new(0),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("turns", "Turns by agent and outcome", self.turns.clone());
        registry.register("turn_seconds", "Time of a whole turn", self.turn_seconds.clone());
        registry.register("model_calls", "Model calls by model and outcome", self.model_calls.clone());
        let help = "Time from asking a model to the first piece of its answer";
        registry.register("model_first_token_seconds", help, self.first_token_seconds.clone());
        let help = "Attempts that failed and were made again, by model and why";
        registry.register("model_retries", help, self.model_retries.clone());
        let help = "0: the provider is asked; 1: one call finds out whether it is well again; 2: it is left alone";
        registry.register("provider_circuit", help, self.circuits.clone());
        registry.register("tokens", "Tokens as providers count them", self.tokens.clone());
        registry.register("tool_calls", "Tool calls by tool and outcome", self.tool_calls.clone());
        registry.register("mcp_calls", "Calls of MCP servers by server and outcome", self.mcp_calls.clone());
        let help = "Connections to MCP servers that were made anew";
        registry.register("mcp_reconnects", help, self.mcp_reconnects.clone());
        registry.register("turns_running", "Turns under way", self.turns_running.clone());
        registry.register("observations_lost", "Spans dropped or not written", self.observations_lost.clone());
        registry.register("exporter_spans", "Spans given to exporters, by outcome", self.exporter_spans.clone());
        registry.register("reloads", "Reloads by outcome", self.reloads.clone());
        registry.register("reload_seconds", "Time from reading files to publishing", self.reload_seconds.clone());
        registry.register("memory_factory_calls", "Calls of memory factories", self.factory_calls.clone());
        registry.register("registry_generation", "The generation served", self.generation.clone());
        registry.register("vector_cache_bytes", "Vectors held in memory", self.vector_cache_bytes.clone());
        let help = "Searches of owners whose vectors do not fit into the cache: all were read from the database";
        registry.register("uncached_recalls", help, self.uncached_recalls.clone());
    }

    /// A turn came to its end.
    pub fn turn(&self, agent: &str, outcome: TurnOutcome, took: Duration) {
        let outcome = match outcome {
            TurnOutcome::Finished => "finished",
            TurnOutcome::Suspended => "suspended",
            TurnOutcome::Interrupted => "interrupted",
            TurnOutcome::Failed => "failed",
        };
        self.turns.get_or_create(&OfTurn { agent: agent.to_owned(), outcome }).inc();
        self.turn_seconds.observe(took.as_secs_f64());
    }

    /// A model began to answer after `took`.
    pub fn first_token(&self, took: Duration) {
        self.first_token_seconds.observe(took.as_secs_f64());
    }

    /// A model call came to its end; `outcome` is `ok` or a machine code.
    pub fn model_call(&self, model: &str, outcome: &str, usage: Usage) {
        let of_call = OfCall { name: model.to_owned(), outcome: outcome.to_owned() };
        self.model_calls.get_or_create(&of_call).inc();
        for (direction, count) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
            if let Some(count) = count {
                self.tokens.get_or_create(&OfTokens { model: model.to_owned(), direction }).inc_by(count);
            }
        }
    }

    /// An attempt of a model call failed with this machine code and was made again.
    pub fn model_retry(&self, model: &str, code: &str) {
        self.model_retries.get_or_create(&OfCall { name: model.to_owned(), outcome: code.to_owned() }).inc();
    }

    /// How the provider's circuit stands after a call.
    pub fn circuit(&self, provider: &str, circuit: Circuit) {
        let value = match circuit {
            Circuit::Closed => 0,
            Circuit::HalfOpen => 1,
            Circuit::Open => 2,
        };
        self.circuits.get_or_create(&OfProvider { provider: provider.to_owned() }).set(value);
    }

    /// A tool call came to its end; `outcome` is `ok` or a machine code.
    pub fn tool_call(&self, tool: &str, outcome: &str) {
        self.tool_calls.get_or_create(&OfCall { name: tool.to_owned(), outcome: outcome.to_owned() }).inc();
    }

    /// A call of an MCP server came to its end; `outcome` is `ok` or a machine code.
    pub fn mcp_call(&self, server: &str, outcome: &str) {
        self.mcp_calls.get_or_create(&OfCall { name: server.to_owned(), outcome: outcome.to_owned() }).inc();
    }

    /// A connection to an MCP server was made anew.
    pub fn mcp_reconnect(&self, server: &str) {
        self.mcp_reconnects.get_or_create(&OfServer { server: server.to_owned() }).inc();
    }

    /// A reload came to its end.
    pub fn reload(&self, outcome: ReloadOutcome, took: Duration) {
        let outcome = match outcome {
            ReloadOutcome::Published => "published",
            ReloadOutcome::Unchanged => "unchanged",
            ReloadOutcome::Problems => "problems",
        };
        self.reloads.get_or_create(&OfReload { outcome }).inc();
        self.reload_seconds.observe(took.as_secs_f64());
    }

    /// A memory factory was called for this agent.
    pub fn factory_call(&self, agent: &str) {
        self.factory_calls.get_or_create(&OfAgent { agent: agent.to_owned() }).inc();
    }

    /// This generation is served now.
    pub fn generation(&self, generation: u64) {
        self.generation.set(i64::try_from(generation).unwrap_or(i64::MAX));
    }

    /// Everything in OpenMetrics text.
    #[must_use]
    pub fn text(&self, now: &Readings) -> String {
        let gauge = |value: usize| i64::try_from(value).unwrap_or(i64::MAX);
        self.turns_running.set(gauge(now.turns_running));
        self.vector_cache_bytes.set(gauge(now.vector_cache_bytes));
        for (counter, seen, value) in [
            (&self.observations_lost, &self.lost_seen, now.observations_lost),
            (&self.uncached_recalls, &self.uncached_seen, now.uncached_recalls),
        ] {
            counter.inc_by(value.saturating_sub(seen.swap(value, Ordering::Relaxed)));
        }
        for Exported { name, taken, lost } in &now.exported {
            for (outcome, count) in [("taken", taken), ("lost", lost)] {
                let label = OfExporter { exporter: name.clone(), outcome };
                self.exporter_spans.get_or_create(&label).inner().store(*count, Ordering::Relaxed);
            }
        }
        let mut text = String::new();
        // Writing into a String cannot fail; a half-written text would be refused by its reader anyway.
        let _ = prometheus_client::encoding::text::encode(&mut text, &self.registry);
        text
    }
}
