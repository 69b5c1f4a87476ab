//! `plugin`: what a call of a plugin costs, in this process and in one of its own, how long such a process takes to its
//! first answer, and how soon a crash is told and made good. A hundred bytes of JSON go in and come out, and are read on
//! both sides: into a type of its author's there, into a value here. Beside them stands what nobody can go below: the
//! same JSON without a plugin, and bytes that go to another thread and back through a socket.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use roster_abi::contract::{CallContext, Fetched};
use roster_model::BoxFuture;
use roster_model::time::{Clock, Timestamp};
use roster_plugin::asks::{Fetch, FetchError};
use roster_plugin::call::{CallError, Payload};
use roster_plugin::plugin::{Ask, Plugin};
use roster_plugin::set::{Parts, Plugins};
use roster_plugin::settings::{Isolation, Settings};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::bench::Bench;
use crate::report::{Figure, Target};

/// Microseconds wanted of a call in this process.
const INSIDE: f64 = 2.0;
/// Of one that goes to another process, alone.
const ALONE: f64 = 40.0;
/// Of each of 64 that are under way at once.
const PIPELINED: f64 = 15.0;
/// Milliseconds wanted until the first answer of a process that is started.
const START: f64 = 10.0;
/// Milliseconds wanted from the call that crashes the process until that call is answered …
const TOLD: f64 = 5.0;
/// … and until the next one is answered well.
const GOOD_AGAIN: f64 = 10.0;
/// Bytes of a frame that carries such a call.
const BYTES: usize = 200;
/// Calls under way at once.
const AT_ONCE: usize = 64;
/// The plugin that works, its key and its file; and the one that crashes on demand.
const KINDS: &str = "kinds";
const FAULTS: &str = "faults";

struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }
}

struct NoNetwork;

impl Fetch for NoNetwork {
    fn fetch(&self, request: roster_abi::contract::Fetch) -> BoxFuture<'_, Result<Fetched, FetchError>> {
        Box::pin(async move { Ok(Fetched { body: request.url, ..Fetched::default() }) })
    }
}

pub(super) async fn run(bench: &Bench) -> Result<Vec<Figure>> {
    let child = bench.binary().await?.to_owned();
    let mut figures = calls(bench, &child).await?;
    figures.extend(starts(bench, &child).await?);
    figures.extend(crashes(bench, &child).await?);
    Ok(figures)
}

async fn calls(bench: &Bench, child: &Path) -> Result<Vec<Figure>> {
    let (calls, rounds) = (bench.choose(20_000, 500), bench.choose(7, 2));
    let inside = World::new(bench, KINDS, Isolation::InProcess, child)?;
    let outside = World::new(bench, KINDS, Isolation::Process, child)?;
    let [mut near, mut any, mut json, mut far, mut sockets, mut piped]: [Vec<f64>; 6] = Default::default();
    // The first round is thrown away.
    for round in 0..=rounds {
        bench.tell(&format!("plugin: calls, round {round} of {rounds}"))?;
        near.push(in_a_task(&inside.plugin, "place", calls).await?);
        any.push(in_a_task(&inside.plugin, "same", calls).await?);
        json.push(json_alone(calls)?);
        far.push(in_a_task(&outside.plugin, "place", calls / 4).await?);
        sockets.push(tokio::task::block_in_place(|| there_and_back(calls / 4))?);
        piped.push(at_once(&outside.plugin, calls).await?);
    }
    inside.end().await;
    outside.end().await;
    let figure = |name: &str, rounds: &Vec<f64>| Figure::of_rounds(name, "us", rounds[1..].to_vec());
    Ok(vec![
        figure("a call in the runtime's process", &near).target(Target::AtMost(INSIDE)),
        figure("the same, of a tool that takes any JSON", &any),
        figure("the JSON of that alone, without a plugin", &json),
        figure("a call to a process of its own, alone", &far).target(Target::AtMost(ALONE)),
        figure("bytes through a socket and back alone", &sockets),
        figure("calls to that process, 64 at once", &piped).target(Target::AtMost(PIPELINED)),
    ])
}

/// Microseconds of what both sides of a call of `same` do with its JSON.
fn json_alone(times: u32) -> Result<f64> {
    let input = input();
    let mut last = Value::Null;
    let begun = Instant::now();
    for _ in 0..times {
        let there: Value = serde_json::from_slice(&serde_json::to_vec(&input)?)?;
        last = serde_json::from_slice(&serde_json::to_vec(&there)?)?;
    }
    let took = begun.elapsed();
    ensure!(last == input, "another value");
    Ok(took.as_secs_f64() * 1e6 / f64::from(times))
}

/// Microseconds that two hundred bytes take to a thread that waits for them, and back.
fn there_and_back(times: u32) -> Result<f64> {
    let (mut near, mut far) = UnixStream::pair()?;
    let echo = std::thread::spawn(move || -> std::io::Result<()> {
        let mut bytes = [0; BYTES];
        for _ in 0..times {
            far.read_exact(&mut bytes)?;
            far.write_all(&bytes)?;
        }
        Ok(())
    });
    let mut bytes = [7; BYTES];
    let begun = Instant::now();
    for _ in 0..times {
        near.write_all(&bytes)?;
        near.read_exact(&mut bytes)?;
    }
    let took = begun.elapsed().as_secs_f64() * 1e6 / f64::from(times);
    match echo.join() {
        Ok(ended) => ended?,
        Err(_panic) => bail!("the other thread crashed"),
    }
    Ok(took)
}

async fn starts(bench: &Bench, child: &Path) -> Result<Vec<Figure>> {
    let world = World::new(bench, KINDS, Isolation::Process, child)?;
    let mut starts = Vec::new();
    bench.tell("plugin: starts")?;
    for _ in 0..bench.choose(15, 3) {
        starts.push(world.start().await?);
    }
    world.end().await;
    Ok(vec![Figure::of_rounds("a library taken up, until its first answer", "ms", starts)])
}

/// Each crash is followed by a good call, as the breaker wants it.
async fn crashes(bench: &Bench, child: &Path) -> Result<Vec<Figure>> {
    let world = World::new(bench, FAULTS, Isolation::Process, child)?;
    let (mut told, mut started, mut good) = (Vec::new(), Vec::new(), Vec::new());
    bench.tell("plugin: crashes")?;
    for _ in 0..bench.choose(100, 10) {
        let begun = Instant::now();
        let error = call(&world.plugin, "segv", &json!({})).await.err().context("it did not crash")?;
        told.push(begun.elapsed().as_secs_f64() * 1e3);
        ensure!(error.code == "plugin_crashed", "the crash is told as `{}`: {error}", error.code);
        // The next process is started now.
        let starting = Instant::now();
        let input = input();
        ensure!(call(&world.plugin, "ok", &input).await? == input, "another answer");
        started.push(starting.elapsed().as_secs_f64() * 1e3);
        good.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    world.end().await;
    let slowest = |rounds: &[f64]| rounds.iter().copied().fold(0.0, f64::max);
    Ok(vec![
        Figure::new("a crash, until its call is told: slowest", "ms", slowest(&told)),
        Figure::of_rounds("a crash, until its call is told", "ms", told).target(Target::AtMost(TOLD)),
        Figure::of_rounds("a process started, until its first answer", "ms", started).target(Target::AtMost(START)),
        Figure::new("a crash, until the next good answer: slowest", "ms", slowest(&good)),
        Figure::of_rounds("a crash, until the next good answer", "ms", good).target(Target::AtMost(GOOD_AGAIN)),
    ])
}

/// One plugin in a folder of its own.
struct World {
    plugins: Plugins,
    plugin: Arc<Plugin>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(bench: &Bench, key: &str, isolation: Isolation, child: &Path) -> Result<Self> {
        let folder = tempfile::tempdir_in(bench.dir())?;
        let mut settings = Settings::new(key, vec![libraries()?]);
        settings.isolation = isolation;
        settings.watch = false;
        settings.max_concurrency = AT_ONCE;
        let plugins = Plugins::new(Parts {
            cache: folder.path().join("plugins"),
            child: (child.to_owned(), vec!["plugin-host".into()]),
            runtime: tokio::runtime::Handle::current(),
            kv: folder.path().join("kv"),
            fetch: Arc::new(NoNetwork),
            secrets: Box::new(|_| None),
            clock: Arc::new(Still),
            in_use: Box::new(|_| Vec::new()),
            changed: Box::new(|| {}),
        })?;
        plugins.configure(vec![settings]);
        tokio::task::block_in_place(|| plugins.settle(Duration::from_secs(30)));
        let plugin = plugins.get(key).context("the plugin was configured")?;
        if let Some(refusal) = plugin.refusal() {
            bail!("the plugin is not loaded: it {refusal}; {}", refusal.help);
        }
        Ok(Self { plugins, plugin, _folder: folder })
    }

    /// Milliseconds of a whole load, from reading the file to the first answer.
    async fn start(&self) -> Result<f64> {
        let begun = Instant::now();
        tokio::task::block_in_place(|| self.plugins.reload(KINDS))?;
        call(&self.plugin, "same", &input()).await?;
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    }

    async fn end(self) {
        self.plugins.close(Duration::from_secs(10)).await;
    }
}

/// Where Cargo puts the libraries that this program depends on.
fn libraries() -> Result<PathBuf> {
    let us = std::env::current_exe()?;
    let folder = us.parent().context("a program lies in a folder")?.join("deps");
    ensure!(folder.is_dir(), "`{}` is not there: run this with `cargo run -p roster-bench`", folder.display());
    Ok(folder)
}

/// A hundred bytes, as a turn has them: a value.
fn input() -> Value {
    json!({"city": "Reykjavík", "days": 3, "units": "metric", "hourly": false, "fields": ["temperature", "wind", "rain"]})
}

async fn call(plugin: &Arc<Plugin>, tool: &str, input: &Value) -> Result<Value, CallError> {
    let context = CallContext::default();
    let input = Payload::json(input);
    let ask = Ask { component: tool, method: "invoke", input, context: &context, chunks: false, timeout: None };
    plugin.ask(ask, false).await?.read()
}

/// Microseconds of a call.
async fn one_by_one(plugin: &Arc<Plugin>, tool: &str, calls: u32) -> Result<f64> {
    let input = input();
    let mut last = Value::Null;
    let begun = Instant::now();
    for _ in 0..calls {
        last = call(plugin, tool, &input).await?;
    }
    let took = begun.elapsed();
    // Comparing is no part of a call.
    ensure!(last == input, "another answer");
    Ok(took.as_secs_f64() * 1e6 / f64::from(calls))
}

/// The same where turns are: on a worker of the async runtime.
async fn in_a_task(plugin: &Arc<Plugin>, tool: &'static str, calls: u32) -> Result<f64> {
    let plugin = Arc::clone(plugin);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { one_by_one(&plugin, tool, calls).await });
    tasks.join_next().await.context("a task ended without a result")??
}

/// Microseconds of a call when many are under way.
async fn at_once(plugin: &Arc<Plugin>, calls: u32) -> Result<f64> {
    let each = calls / u32::try_from(AT_ONCE)?;
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..AT_ONCE {
        let plugin = Arc::clone(plugin);
        tasks.spawn(async move { one_by_one(&plugin, "place", each).await });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(each * u32::try_from(AT_ONCE)?))
}
