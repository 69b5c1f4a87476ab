//! The plugins' own values: one small file each, below a folder a plugin, written by one thread.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::refusal::Refusal;

/// The longest key, in bytes; its name on disk is twice as long.
const LONGEST_KEY: usize = 120;
/// The largest value, in bytes of JSON.
const LARGEST: usize = 1024 * 1024;
/// The most values of one plugin.
const MOST: usize = 10_000;

type Job = Box<dyn FnOnce(&Path) + Send>;

/// The values of all plugins.
pub(crate) struct Kv {
    jobs: Sender<Job>,
}

impl Kv {
    /// Uses this folder; makes it when the first value is written.
    pub(crate) fn open(folder: &Path) -> Result<Self, Refusal> {
        let (jobs, work) = channel::<Job>();
        let folder = folder.to_path_buf();
        std::thread::Builder::new()
            .name("plugin-kv".to_owned())
            .spawn(move || work.iter().for_each(|job| job(&folder)))
            .map_err(|error| Refusal::system("no thread", &error))?;
        Ok(Self { jobs })
    }

    pub(crate) async fn get(&self, plugin: &str, key: &str) -> Result<Option<Value>, String> {
        let place = place(plugin, key)?;
        self.run(move |folder| {
            #[expect(clippy::disallowed_methods, reason = "values are this room's own files")]
            let read = fs::read(folder.join(place));
            match read {
                Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(io::Error::from),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        })
        .await
    }

    /// Writes a value, or removes it. When it answers, the value survives the process.
    pub(crate) async fn put(&self, plugin: &str, key: &str, value: Option<Value>) -> Result<(), String> {
        let place = place(plugin, key)?;
        let Some(value) = value else {
            return self
                .run(move |folder| match fs::remove_file(folder.join(place)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                    _ => Ok(()),
                })
                .await;
        };
        let bytes = value.to_string();
        if bytes.len() > LARGEST {
            return Err(format!("the value has {} bytes, more than {LARGEST}", bytes.len()));
        }
        self.run(move |folder| write(&folder.join(place), bytes.as_bytes())).await
    }

    pub(crate) async fn list(&self, plugin: &str, prefix: &str) -> Result<Vec<String>, String> {
        let (plugin, prefix) = (plugin.to_owned(), prefix.to_owned());
        self.run(move |folder| {
            #[expect(clippy::disallowed_methods, reason = "values are this room's own files")]
            let entries = match fs::read_dir(folder.join(plugin)) {
                Ok(entries) => entries,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(error),
            };
            let mut keys: Vec<String> =
                entries.flatten().filter_map(|entry| key_of(&entry.file_name().to_string_lossy())).collect();
            keys.retain(|key| key.starts_with(&prefix));
            keys.sort();
            Ok(keys)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let (send, receive) = oneshot::channel();
        // Who asked may have gone.
        let job = Box::new(move |folder: &Path| drop(send.send(job(folder))));
        let stopped = "the values cannot be reached any more".to_owned();
        self.jobs.send(job).map_err(|_| stopped.clone())?;
        receive.await.map_err(|_| stopped)?.map_err(|error| error.to_string())
    }
}

/// Where a value is. Keys are any text: their bytes as hex digits are a name on every disk.
fn place(plugin: &str, key: &str) -> Result<PathBuf, String> {
    if key.is_empty() || key.len() > LONGEST_KEY {
        return Err(format!("a key has 1 to {LONGEST_KEY} bytes"));
    }
    Ok(Path::new(plugin).join(crate::stage::hex(key.as_bytes())))
}

fn key_of(name: &str) -> Option<String> {
    let digits = name.as_bytes().chunks_exact(2);
    let bytes: Option<Vec<u8>> =
        digits.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect();
    String::from_utf8(bytes.filter(|_| name.len().is_multiple_of(2))?).ok()
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    let folder = path.parent().unwrap_or(path);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[expect(clippy::disallowed_methods, reason = "values are this room's own files")]
    if !path.exists() && fs::read_dir(folder)?.count() >= MOST {
        return Err(io::Error::other(format!("there are {MOST} values already")));
    }
    let making = path.with_extension("new");
    #[expect(clippy::disallowed_methods, reason = "values are this room's own files")]
    let mut file = fs::File::create(&making)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(making, path)
}
