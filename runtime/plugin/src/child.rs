//! A plugin's own process: one library, one instance, the channel it was born with. It ends when the channel does.

mod link;
mod surroundings;

use std::io::BufReader;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use roster_abi::code::CALL_WANTS_CHUNKS;
use roster_abi::contract::Description;
use roster_abi::frame::{BYE, CALL, CANCEL, CREDIT, FAIL, HELLO, PING, PONG, QUIESCE, READY, REPLY};
use tokio::time::Instant;

use crate::frame::{CallBody, Frame};
use crate::hello::{Hello, Until};
use crate::instance::{Instance, Surroundings, Work};
use crate::launch::Launch;
use crate::preflight::Manifest;
use crate::refusal::{Refusal, RefusalKind};
use link::{ChildAsks, Link, Remote};

/// Serves until the channel ends. The exit code is 0 when it ended in order, 2 when this was not started by a runtime.
#[must_use]
pub fn run() -> u8 {
    let Ok(channel) = surroundings::take_channel() else { return 2 };
    match serve(channel) {
        Ok(()) => 0,
        // The runtime is gone, or does not speak as we do.
        Err(_) => 1,
    }
}

fn serve(channel: UnixStream) -> std::io::Result<()> {
    let link = Arc::new(Link::new(channel.try_clone()?));
    // Many calls of one reading, when many are under way.
    let mut channel = BufReader::with_capacity(64 * 1024, channel);
    let Some(first) = Frame::read_blocking(&mut channel)? else { return Ok(()) };
    let hello: Hello = match serde_json::from_slice(&first.payload) {
        Ok(hello) if first.kind == HELLO => hello,
        _ => return link.send(&fail(&misunderstood())),
    };
    if !hello.is_ours() {
        return link.send(&fail(&misunderstood()));
    }
    match start(&hello, &link) {
        Ok((instance, description)) => {
            let payload = serde_json::to_vec(&description).unwrap_or_default();
            link.send(&Frame { payload, ..Frame::of(READY) })?;
            match instance {
                Some(instance) if hello.until == Until::Serving => listen(&mut channel, &link, &instance),
                Some(instance) => {
                    instance.destroy(Duration::from_secs(1));
                    Ok(())
                }
                None => Ok(()),
            }
        }
        Err(refusal) => link.send(&fail(&refusal)),
    }
}

fn start(hello: &Hello, link: &Arc<Link>) -> Result<(Option<Arc<Instance>>, Description), Refusal> {
    let manifest = Manifest::of(&hello.manifest)?;
    surroundings::limit(hello).map_err(|error| Refusal::system("the limits cannot be set", &error))?;
    let around = Surroundings { asks: Arc::new(ChildAsks(Arc::clone(link))), output: hello.output };
    let launch = Launch {
        path: &hello.library,
        manifest: &manifest,
        config: &hello.config,
        threads: hello.threads,
        key: &hello.key,
        known: hello.known,
        schemas: false,
    };
    if hello.until == Until::Facts {
        return Ok((None, launch.facts(around)?));
    }
    let (instance, description) = launch.run(around)?;
    Ok((Some(instance), description))
}

/// Takes frames until the end.
fn listen(channel: &mut BufReader<UnixStream>, link: &Arc<Link>, instance: &Arc<Instance>) -> std::io::Result<()> {
    while let Some(frame) = Frame::read_blocking(channel)? {
        match frame.kind {
            CALL => call(&frame, link, instance)?,
            CANCEL => instance.cancel(frame.call, frame.aux),
            CREDIT => instance.credit(frame.call, frame.aux as usize),
            REPLY => {
                if let Some((request, bytes)) = frame.payload.split_first_chunk::<8>() {
                    instance.reply(u64::from_le_bytes(*request), frame.status, frame.aux, bytes);
                }
            }
            PING => link.send(&Frame::of(PONG))?,
            QUIESCE => {
                instance.destroy(Duration::from_millis(frame.aux.into()));
                return link.send(&Frame::of(BYE));
            }
            _ => {}
        }
    }
    Ok(())
}

fn call(frame: &Frame, link: &Arc<Link>, instance: &Arc<Instance>) -> std::io::Result<()> {
    let body =
        CallBody::of(&frame.payload).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))?;
    let work = Work {
        id: frame.call,
        component: body.component.to_owned(),
        method: body.method.to_owned(),
        encoding: body.encoding,
        input: body.input.to_vec(),
        context: body.context.to_vec(),
        deadline: (body.deadline_ms > 0).then(|| Instant::now() + Duration::from_millis(body.deadline_ms)),
        chunks: body.flags & CALL_WANTS_CHUNKS != 0,
    };
    instance.start(work, Arc::new(Remote { link: Arc::clone(link), call: frame.call }));
    Ok(())
}

fn misunderstood() -> Refusal {
    let message = "cannot be started: the binary that serves and the one that runs the plugin are not the same build";
    Refusal::new(RefusalKind::System, message, "start the runtime anew")
}

fn fail(refusal: &Refusal) -> Frame {
    Frame { payload: serde_json::to_vec(refusal).unwrap_or_default(), ..Frame::of(FAIL) }
}
