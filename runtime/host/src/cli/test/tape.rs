//! Providers that answer from a cassette, or write one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{StreamExt, stream};
use roster_engine::definition::ModelChoice;
use roster_engine::registry::{BoundModel, ModelSource, NameFault};
use roster_model::BoxFuture;
use roster_model::provider::{Completion, Delta, DeltaStream, Provider, ProviderError, ProviderErrorKind};
use serde_json::Value;

use super::cassette::{self, Exchange, Piece};
use super::judge::Fault;
use super::request::{difference, fingerprint, normal};
use crate::config::models::DEMO;

/// What is done with model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Answered from the cassette; nobody is asked.
    Replay,
    /// Asked for real and written down.
    Record,
}

/// The cassette of one run.
pub(super) struct Tape {
    mode: Mode,
    /// How to record anew, for messages.
    again: String,
    reel: Mutex<Reel>,
}

#[derive(Default)]
struct Reel {
    exchanges: Vec<Exchange>,
    /// Which were asked for.
    used: Vec<bool>,
    /// Calls that were begun while recording.
    begun: usize,
    faults: Vec<Fault>,
    /// What providers failed with while recording.
    failures: Vec<String>,
}

impl Tape {
    /// A cassette with these exchanges; `again` is the command that records anew.
    pub(super) fn new(mode: Mode, exchanges: Vec<Exchange>, again: String) -> Arc<Self> {
        let used = vec![false; exchanges.len()];
        Arc::new(Self { mode, again, reel: Mutex::new(Reel { exchanges, used, ..Reel::default() }) })
    }

    fn reel(&self) -> MutexGuard<'_, Reel> {
        self.reel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that went wrong outside of what a turn tells.
    pub(super) fn fault(&self, fault: Fault) {
        self.reel().faults.push(fault);
    }

    /// What went wrong since it was asked last.
    pub(super) fn take_faults(&self) -> Vec<Fault> {
        std::mem::take(&mut self.reel().faults)
    }

    /// The exchanges, and how many of them nobody asked for.
    pub(super) fn exchanges(&self) -> (Vec<Exchange>, usize) {
        let reel = self.reel();
        (reel.exchanges.clone(), reel.used.iter().filter(|used| !**used).count())
    }

    /// Whether every call that was begun has its answer.
    pub(super) fn is_whole(&self) -> bool {
        let reel = self.reel();
        reel.begun == reel.exchanges.len()
    }

    fn replay(&self, request: &Value) -> Result<DeltaStream, ProviderError> {
        let mut reel = self.reel();
        let wanted = fingerprint(request);
        let Reel { exchanges, used, faults, .. } = &mut *reel;
        let free = |at: &usize| !used[*at];
        let found = (0..exchanges.len()).filter(free).find(|at| exchanges[*at].fingerprint == wanted);
        if let Some(at) = found {
            used[at] = true;
            let answer: Vec<_> = exchanges[at].answer.iter().cloned().map(Piece::given).collect();
            return Ok(stream::iter(answer).boxed());
        }
        let nearest = (0..exchanges.len()).find(free).map(|at| &exchanges[at]);
        let fault = self.changed(nearest, request);
        let message = fault.what.clone();
        faults.push(fault);
        // A refusal: no other model of the agent's list is tried.
        Err(ProviderError::new(ProviderErrorKind::BadRequest, message))
    }

    /// Why no recorded answer fits.
    fn changed(&self, nearest: Option<&Exchange>, request: &Value) -> Fault {
        let again = Some(format!("record anew: {}", self.again));
        let Some(nearest) = nearest else {
            return Fault { hint: again, ..Fault::new("a model is asked for which no answer is recorded") };
        };
        let Some(found) = difference(&nearest.request, request) else {
            return Fault { hint: again, ..Fault::new("the model is asked something that was recorded differently") };
        };
        let what = format!("the model is asked something else than recorded, at {}", found.place);
        let (expected, got) = (shown(found.recorded.as_ref()), shown(found.now.as_ref()));
        Fault { expected: Some(expected), got: Some(got), hint: again, ..Fault::new(what) }
    }

    /// The same stream; when it comes to its end the exchange is written down.
    fn recording(self: &Arc<Self>, request: Value, answer: DeltaStream) -> DeltaStream {
        let tape = Arc::clone(self);
        let (mut request, mut said) = (Some(request), Vec::new());
        let note = move |delta: &Result<Delta, ProviderError>| {
            cassette::push(&mut said, delta.as_ref().map_or_else(Piece::from, |delta| Piece::from(delta.clone())));
            if matches!(delta, Ok(Delta::End { .. }) | Err(_))
                && let Some(request) = request.take()
            {
                tape.record(request, std::mem::take(&mut said), delta.as_ref().err());
            }
        };
        answer.inspect(note).boxed()
    }

    /// Writes an exchange down, also one in which the provider failed.
    fn record(&self, request: Value, answer: Vec<Piece>, failure: Option<&ProviderError>) {
        let mut reel = self.reel();
        reel.exchanges.push(Exchange { fingerprint: fingerprint(&request), request, answer });
        reel.used.push(true);
        reel.failures.extend(failure.map(ToString::to_string));
    }

    /// What the first provider that failed said while recording.
    pub(super) fn failure(&self) -> Option<String> {
        self.reel().failures.first().cloned()
    }
}

fn shown(value: Option<&Value>) -> String {
    match value {
        None => "(nothing)".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// Models whose providers answer from a cassette, or write one. The demo model needs none: it says the same each time.
pub(super) struct Taped {
    pub(super) models: Arc<dyn ModelSource>,
    pub(super) tape: Arc<Tape>,
}

impl ModelSource for Taped {
    fn resolve(&self, choice: &ModelChoice) -> Result<BoundModel, NameFault> {
        let bound = self.models.resolve(choice)?;
        if bound.provider.name() == DEMO {
            return Ok(bound);
        }
        let provider = Arc::new(TapedProvider { provider: bound.provider, tape: Arc::clone(&self.tape) });
        Ok(BoundModel { provider, ..bound })
    }
}

struct TapedProvider {
    provider: Arc<dyn Provider>,
    tape: Arc<Tape>,
}

impl Provider for TapedProvider {
    fn name(&self) -> &str {
        self.provider.name()
    }

    fn ready(&self) -> Result<(), ProviderError> {
        match self.tape.mode {
            Mode::Replay => Ok(()),
            Mode::Record => self.provider.ready(),
        }
    }

    fn complete(&self, completion: Completion) -> BoxFuture<'_, Result<DeltaStream, ProviderError>> {
        Box::pin(async move {
            let request = normal(self.provider.name(), &completion);
            match self.tape.mode {
                Mode::Replay => self.tape.replay(&request),
                Mode::Record => {
                    self.tape.reel().begun += 1;
                    let answer = self.provider.complete(completion).await;
                    match answer {
                        Ok(answer) => Ok(self.tape.recording(request, answer)),
                        Err(error) => {
                            self.tape.record(request, vec![Piece::from(&error)], Some(&error));
                            Err(error)
                        }
                    }
                }
            }
        })
    }
}
