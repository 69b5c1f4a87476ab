//! A service was asked; its answer.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use roster_abi::code;
use serde::de::DeserializeOwned;

use super::Shared;
use super::shared::Reply;
use crate::error::{Error, Result};

/// An answer that is on its way. Wait for it or await it; dropped, the answer is thrown away.
#[must_use = "dropping it throws the answer away"]
pub struct Asking<T> {
    shared: Arc<Shared>,
    call: u64,
    id: u64,
    answer: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Asking<T> {
    pub(super) fn new(shared: Arc<Shared>, call: u64) -> Self {
        let id = shared.expect();
        Self { shared, call, id, answer: PhantomData }
    }

    pub(super) fn id(&self) -> u64 {
        self.id
    }

    /// Blocks until the answer is there.
    ///
    /// # Errors
    /// The service's failure, or cancelled with the call it was asked for.
    pub fn wait(self) -> Result<T> {
        match self.shared.wait(self.id, self.call) {
            Some(reply) => read(&reply),
            None => Err(Error::cancelled()),
        }
    }
}

impl<T: DeserializeOwned> Future for Asking<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.shared.poll(self.id, cx.waker()) {
            Some(reply) => Poll::Ready(read(&reply)),
            None => Poll::Pending,
        }
    }
}

impl<T> Drop for Asking<T> {
    fn drop(&mut self) {
        self.shared.forget(self.id);
    }
}

fn read<T: DeserializeOwned>((status, bytes): &Reply) -> Result<T> {
    if *status == code::OK {
        return Ok(serde_json::from_slice(bytes)?);
    }
    Err(match serde_json::from_slice(bytes) {
        Ok(fault) => Error::of_fault(*status, fault),
        Err(_) => Error::with(*status, "request_failed", format!("the service failed ({status})")),
    })
}
