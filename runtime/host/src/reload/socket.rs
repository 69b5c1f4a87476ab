//! The operator's socket: `.temp/run/<pid>.sock`. Whoever may open the file is the operator; a line of JSON asks, a line
//! of JSON answers.

mod answer;
mod client;
mod place;

pub use client::{ask, is_served};

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use roster_engine::turn::Services;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::control::Reload;
use place::{clear_stale, prepare_folder, short};

/// The longest question, in bytes.
const LONGEST: u64 = 64 * 1024;
/// Questions at once; more wait. One that says nothing holds up nobody else.
const AT_ONCE: usize = 32;
/// A question must be here within this time.
const PATIENCE: Duration = Duration::from_secs(10);

/// The socket of this process. Its file is removed when this is dropped.
pub struct Socket {
    path: Option<PathBuf>,
}

impl Socket {
    /// Opens the socket and answers until `services.draining`. Where that cannot be, a warning is logged and the runtime
    /// serves without.
    #[must_use]
    pub fn open(root: &Path, reload: &Arc<Reload>, services: &Arc<Services>) -> Self {
        let path = place::folder(root).join(format!("{}.sock", std::process::id()));
        match listen(root, &path) {
            Ok(listener) => {
                let answering = accept(listener, Arc::clone(reload), services.draining.clone());
                services.tracker.spawn(answering);
                Self { path: Some(path) }
            }
            Err(error) => {
                tracing::warn!(%error, "no operator's socket: `roster reload` cannot reach this process");
                Self { path: None }
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // Somebody may have tidied up already.
            let _ = std::fs::remove_file(path);
        }
    }
}

fn listen(root: &Path, path: &Path) -> std::io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt;
    prepare_folder(root)?;
    clear_stale(root);
    // A process of the same number may have left it.
    let _ = std::fs::remove_file(path);
    let (_open, short) = short(path)?;
    let listener = UnixListener::bind(&short)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

async fn accept(listener: UnixListener, reload: Arc<Reload>, draining: CancellationToken) {
    let mut open = FuturesUnordered::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = draining.cancelled() => return,
            Some(()) = open.next() => continue,
            accepted = listener.accept(), if open.len() < AT_ONCE => accepted,
        };
        let Ok((stream, _)) = accepted else { continue };
        open.push(serve(stream, &reload));
    }
}

async fn serve(mut stream: UnixStream, reload: &Reload) {
    let Ok(Ok(question)) = timeout(PATIENCE, question(&mut stream)).await else { return };
    let answer = answer::answer(reload, &question).await;
    // Whoever asked may be gone, or read nothing.
    drop(timeout(PATIENCE, stream.write_all(format!("{answer}\n").as_bytes())).await);
}

async fn question(stream: &mut UnixStream) -> std::io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line).await?;
    Ok(line)
}
