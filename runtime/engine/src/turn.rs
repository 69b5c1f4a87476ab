//! The turn: one request and everything it causes.
//!
//! The question is stored before the model is asked; the answer is stored before the turn says it is finished. Every
//! door is an encoder of the one [`TurnEvent`].

mod after;
mod answer;
mod approval;
mod ask;
mod client;
mod context;
mod event;
mod lease;
mod lock;
mod open;
mod orchestrate;
mod output;
mod pattern;
mod process;
mod request;
mod run;
mod running;
mod save;
mod services;
mod step;

pub use approval::{Declined, Verdict, decline_for_good};
pub use client::{ClientTools, ResultsRefused, bring_results};
pub use event::{Failure, FailureKind, FinishReason, TurnEvent};
pub use request::{Input, InputMessage, TurnRequest};
pub use run::{resume, start};
pub use services::{Limits, Services, TurnRefused, TurnStream};
