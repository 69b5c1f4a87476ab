//! A reply rendered for the wire: what is written, and where it waits.

use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};

use super::dialect::{Form, Kind};
use super::gate::Gate;
use super::reply::{Body, Ending, Place, Plan};

#[derive(Debug)]
pub(super) enum Step {
    Write(Bytes),
    Pause(Duration),
    Pass(Gate),
}

/// What becomes of the connection after the last step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
    Reset,
}

#[derive(Debug)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    pub(super) after: After,
}

impl Script {
    pub(super) fn render(plan: &Plan, form: Form) -> Self {
        if matches!(plan.body, Body::Nothing) {
            let mut steps = Steps::default();
            steps.hold(plan, Place::Head);
            return Self { steps: steps.finish(), after: After::Close };
        }
        let (mut pieces, chunked) = pieces(plan, form);
        let whole_length: usize = pieces.iter().map(Bytes::len).sum();
        let (limit, after) = match plan.ending {
            Ending::Complete => (usize::MAX, After::Keep),
            Ending::Short(limit) => (limit, After::Keep),
            Ending::Cut(limit) => (limit, After::Close),
            Ending::Reset(limit) => (limit, After::Reset),
        };
        shorten(&mut pieces, limit);
        let length = if after == After::Keep { whole_length.min(limit) } else { whole_length };
        let mut steps = Steps::default();
        steps.hold(plan, Place::Head);
        steps.pause(plan.delay);
        steps.write(&head(plan, form, (!chunked).then_some(length)));
        for (number, piece) in pieces.iter().enumerate() {
            if number > 0 {
                steps.pause(plan.every);
                // Pieces made by splitting go out one by one, so that the borders reach the reader.
                if plan.split.is_some() {
                    steps.flush();
                }
            }
            steps.hold(plan, Place::Piece(number));
            steps.piece(piece, chunked);
        }
        steps.hold(plan, Place::End);
        if chunked && after == After::Keep {
            steps.write(b"0\r\n\r\n");
        }
        Self { steps: steps.finish(), after }
    }
}

/// The pieces of the body, and whether they go as HTTP chunks.
fn pieces(plan: &Plan, form: Form) -> (Vec<Bytes>, bool) {
    let (pieces, chunked) = match &plan.body {
        Body::Answer(answer) if form.kind == Kind::Whole => (vec![answer.body(form.dialect)], false),
        Body::Answer(answer) => (answer.frames(form.dialect, form.kind == Kind::StreamWithUsage), true),
        Body::Stream(bytes) => (vec![bytes.clone()], true),
        Body::Whole(bytes) => (vec![bytes.clone()], false),
        Body::Nothing => (Vec::new(), false),
    };
    let Some(size) = plan.split else { return (pieces, chunked) };
    let joined = pieces.concat();
    (joined.chunks(size).map(Bytes::copy_from_slice).collect(), chunked)
}

fn shorten(pieces: &mut Vec<Bytes>, mut limit: usize) {
    pieces.retain_mut(|piece| {
        piece.truncate(limit);
        limit -= piece.len();
        !piece.is_empty()
    });
}

fn head(plan: &Plan, form: Form, length: Option<usize>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", plan.status);
    if let Body::Answer(_) = plan.body {
        let kind = if form.kind == Kind::Whole { "application/json" } else { "text/event-stream" };
        if !plan.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            head.push_str(&format!("content-type: {kind}\r\n"));
        }
    }
    for (name, value) in &plan.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match length {
        Some(length) => head.push_str(&format!("content-length: {length}\r\n\r\n")),
        None => head.push_str("transfer-encoding: chunked\r\n\r\n"),
    }
    head.into_bytes()
}

/// Collects steps; what is written without a wait between becomes one write.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    pending: BytesMut,
}

impl Steps {
    fn write(&mut self, bytes: &[u8]) {
        self.pending.put_slice(bytes);
    }

    fn piece(&mut self, piece: &Bytes, chunked: bool) {
        if chunked {
            self.write(format!("{:x}\r\n", piece.len()).as_bytes());
            self.write(piece);
            self.write(b"\r\n");
        } else {
            self.write(piece);
        }
    }

    fn hold(&mut self, plan: &Plan, place: Place) {
        for (_, gate) in plan.holds.iter().filter(|(at, _)| *at == place) {
            self.flush();
            self.steps.push(Step::Pass(gate.clone()));
        }
    }

    fn pause(&mut self, pause: Option<Duration>) {
        if let Some(pause) = pause {
            self.flush();
            self.steps.push(Step::Pause(pause));
        }
    }

    fn flush(&mut self) {
        if !self.pending.is_empty() {
            self.steps.push(Step::Write(self.pending.split().freeze()));
        }
    }

    fn finish(mut self) -> Vec<Step> {
        self.flush();
        self.steps
    }
}
