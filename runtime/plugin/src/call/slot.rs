//! Where the events of one call are laid down, and who waits for them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::sync::{Notify, OwnedSemaphorePermit};

use super::{CallError, Event, Payload};
use crate::instance::Answer;

/// A call's place among those that may run at once. Held until the plugin is done with it, whoever still waits.
pub(crate) struct Place {
    permit: Option<OwnedSemaphorePermit>,
    freed: Arc<Notify>,
}

impl Place {
    pub(crate) fn new(permit: OwnedSemaphorePermit, freed: Arc<Notify>) -> Self {
        Self { permit: Some(permit), freed }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.freed.notify_waiters();
    }
}

/// The events of one call.
pub(crate) struct Slot {
    state: Mutex<State>,
}

struct State {
    chunks: VecDeque<Payload>,
    progress: Option<Vec<u8>>,
    done: Option<Result<Payload, CallError>>,
    /// Set with `done`, and stays.
    ended: bool,
    waker: Option<Waker>,
    place: Option<Place>,
}

impl Slot {
    pub(crate) fn new(place: Place) -> Self {
        let state = State {
            chunks: VecDeque::new(),
            progress: None,
            done: None,
            ended: false,
            waker: None,
            place: Some(place),
        };
        Self { state: Mutex::new(state) }
    }

    pub(crate) fn poll(&self, context: &mut Context<'_>) -> Poll<Event> {
        let mut state = self.lock();
        if let Some(bytes) = state.progress.take() {
            return Poll::Ready(Event::Progress(bytes));
        }
        if let Some(chunk) = state.chunks.pop_front() {
            return Poll::Ready(Event::Chunk(chunk));
        }
        if let Some(outcome) = state.done.take() {
            return Poll::Ready(Event::Done(outcome));
        }
        match &mut state.waker {
            Some(waker) => waker.clone_from(context.waker()),
            none => *none = Some(context.waker().clone()),
        }
        Poll::Pending
    }

    /// Waits for the end without taking it.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if state.ended {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Ends the call with an error of the host's, unless it has ended.
    pub(crate) fn fail(&self, error: CallError) {
        self.end(Err(error));
    }

    /// As `complete`, without a copy.
    pub(crate) fn complete_owned(&self, status: i32, encoding: u32, bytes: Vec<u8>) {
        self.end(if status == roster_abi::code::OK {
            Ok(Payload { encoding, bytes })
        } else {
            Err(CallError::told(status, &bytes))
        });
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.lock().ended
    }

    fn end(&self, outcome: Result<Payload, CallError>) {
        let mut state = self.lock();
        if state.ended {
            return;
        }
        state.ended = true;
        state.done = Some(outcome);
        let (waker, place) = (state.waker.take(), state.place.take());
        drop(state);
        drop(place);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn wake(mut state: MutexGuard<'_, State>) {
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answer for Slot {
    fn progress(&self, bytes: &[u8]) {
        let mut state = self.lock();
        state.progress = Some(bytes.to_vec());
        Self::wake(state);
    }

    fn chunk(&self, encoding: u32, bytes: &[u8]) {
        let mut state = self.lock();
        state.chunks.push_back(Payload { encoding, bytes: bytes.to_vec() });
        Self::wake(state);
    }

    fn complete(&self, status: i32, encoding: u32, bytes: &[u8]) {
        self.complete_owned(status, encoding, bytes.to_vec());
    }
}
