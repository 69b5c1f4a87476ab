//! The ways of saving a file, under clients that never stop asking.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::task::JoinHandle;

use super::{Live, pause, says, says_in_frames};

/// Version `n`, long enough to be torn; its end names its beginning.
fn text(n: usize) -> String {
    format!("v{n} {} end{n}", "and so on, ".repeat(400))
}

fn file(n: usize) -> String {
    format!("id = \"clerk\"\ninstructions = \"\"\"\n{}\"\"\"\n{MEMORY}", text(n))
}

/// The end of the file: without it the rest is a whole definition too, but of an agent without memory.
const MEMORY: &str = "memory = \"create_memory\"\n";

/// The number of a version that is whole; `None` for a text that never stood in the file.
fn number(said: &str) -> Option<usize> {
    let number = said.strip_prefix('v')?.split(' ').next()?.parse().ok()?;
    (said == text(number)).then_some(number)
}

/// The five ways.
const WAYS: [&str; 5] = ["in place", "two halves", "rename over", "delete and make anew", "by way of a backup"];

async fn save(path: &Path, way: &str, text: &str) {
    let beside = |name: &str| path.parent().expect("a folder").join(name);
    match way {
        "in place" => fs::write(path, text).expect("write"),
        "two halves" => {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path).expect("open");
            let (first, second) = text.split_at(text.len() / 2);
            file.write_all(first.as_bytes()).expect("write");
            pause(60).await;
            file.write_all(second.as_bytes()).expect("write");
        }
        "rename over" => {
            let other: PathBuf = beside("clerk.toml.new");
            fs::write(&other, text).expect("write");
            fs::rename(other, path).expect("rename");
        }
        "delete and make anew" => {
            fs::remove_file(path).expect("remove");
            pause(30).await;
            fs::write(path, text).expect("write");
        }
        _ => {
            // As vi does it: a swap file, the old one aside, a new one, the old one away.
            let (swap, backup) = (beside(".clerk.toml.swp"), beside("clerk.toml~"));
            fs::write(&swap, "swap").expect("write");
            fs::rename(path, &backup).expect("rename");
            fs::write(path, text).expect("write");
            fs::remove_file(backup).expect("remove");
            fs::remove_file(swap).expect("remove");
        }
    }
}

/// Clients that ask over two doors until they are told to stop, and notice everything that is wrong.
struct Clients {
    stop: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
    tasks: Vec<JoinHandle<Vec<String>>>,
}

impl Clients {
    fn start(live: &Live) -> Self {
        let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let task = |chat: bool| {
            let (gateway, stop, asked) = (live.roster.gateway.clone(), Arc::clone(&stop), Arc::clone(&asked));
            tokio::spawn(async move {
                let (mut wrong, mut last) = (Vec::new(), 0);
                while !stop.load(Ordering::Relaxed) {
                    let said =
                        if chat { says_in_frames(&gateway, "clerk").await } else { says(&gateway, "clerk").await };
                    match said.as_deref().map(number) {
                        Ok(Some(number)) if number >= last => last = number,
                        Ok(Some(number)) => wrong.push(format!("version {number} after {last}")),
                        Ok(None) => wrong.push(format!("no version: {:?}", said.map(|said| said.len()))),
                        Err(error) => wrong.push(error.to_owned()),
                    }
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                wrong
            })
        };
        let tasks = vec![task(true), task(false)];
        Self { stop, asked, tasks }
    }

    async fn finish(self) {
        self.stop.store(true, Ordering::Relaxed);
        let mut wrong = Vec::new();
        for task in self.tasks {
            wrong.extend(task.await.expect("clients do not panic"));
        }
        assert!(
            wrong.is_empty(),
            "{} of {}: {:#?}",
            wrong.len(),
            self.asked.load(Ordering::Relaxed),
            &wrong[..wrong.len().min(5)]
        );
        assert!(self.asked.load(Ordering::Relaxed) > 20, "the clients hardly asked");
    }
}

async fn clerk() -> Live {
    Live::serve(|project| {
        project.write("agents/clerk.toml", file(0));
        project.register("clerk", "clerk.toml");
        project
    })
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_way_of_saving_is_served_whole_and_no_request_fails() {
    let live = clerk().await;
    let clients = Clients::start(&live);
    let path = live.project.path("agents/clerk.toml");
    let mut version = 0;
    for way in WAYS {
        for _ in 0..4 {
            version += 1;
            save(&path, way, &file(version)).await;
            live.until_says("clerk", &text(version)).await;
        }
    }
    // Faster than anything can be served.
    for n in 0..40 {
        version += 1;
        save(&path, WAYS[n % WAYS.len()], &file(version)).await;
        pause(5 * (n as u64 % 5)).await;
    }
    live.until_says("clerk", &text(version)).await;
    clients.finish().await;
    the_memory_is_the_first(&live).await;
}

/// The memory never changed, so its factory was called once.
async fn the_memory_is_the_first(live: &Live) {
    let calls = live.counter("roster_memory_factory_calls_total{agent=\"clerk\"}").await;
    assert!((calls - 1.0).abs() < f64::EPSILON, "the factory was called {calls} times");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn torn_saves_never_serve_half_a_file() {
    let live = clerk().await;
    let clients = Clients::start(&live);
    let path = live.project.path("agents/clerk.toml");
    for n in 1..=30_usize {
        let wait = [0, 20, 120][n % 3];
        let whole = file(n);
        if n % 2 == 0 {
            // One handle: what is there so far can be loaded, but its writer has not closed it.
            let mut file = OpenOptions::new().write(true).truncate(true).open(&path).expect("open");
            pause(wait).await;
            let (first, second) = whole.split_at(whole.len() - MEMORY.len());
            file.write_all(first.as_bytes()).expect("write");
            pause(wait * 2).await;
            file.write_all(second.as_bytes()).expect("write");
        } else {
            // A shell's `>` and `>>`: closed after each step, and not to be loaded in between.
            fs::write(&path, "").expect("truncate");
            pause(wait).await;
            fs::write(&path, &whole[..whole.len() / 2]).expect("half");
            pause(wait).await;
            fs::write(&path, &whole).expect("whole");
        }
        pause(wait).await;
    }
    live.until_says("clerk", &text(30)).await;
    fs::write(&path, "id = \"clerk\"\ninstructions = \"x\n").expect("broken");
    live.until_state("clerk", "serving_last_good").await;
    assert_eq!(live.says("clerk").await, Ok(text(30)));
    let problem = &live.entry("clerk").await["problems"][0];
    assert_eq!((&problem["file"], &problem["line"]), (&"agents/clerk.toml".into(), &2.into()), "{problem}");
    clients.finish().await;
    the_memory_is_the_first(&live).await;
}

#[tokio::test]
async fn a_hundred_saves_in_a_second_are_few_reloads_and_the_last_is_served() {
    let live = clerk().await;
    let path = live.project.path("agents/clerk.toml");
    for n in 1..=100 {
        fs::write(&path, file(n)).expect("write");
        pause(8).await;
    }
    live.until_says("clerk", &text(100)).await;
    assert!(live.reloads() <= 10, "{} reloads", live.reloads());
}

#[tokio::test]
async fn a_clock_set_back_hides_no_change() {
    let live = clerk().await;
    let path = live.project.path("agents/clerk.toml");
    let before = fs::metadata(&path).expect("metadata").modified().expect("a time");
    for n in 1..=2 {
        fs::write(&path, file(n)).expect("write");
        let past = before - std::time::Duration::from_secs(3600 * n as u64);
        OpenOptions::new().write(true).open(&path).expect("open").set_modified(past).expect("set the time");
        live.until_says("clerk", &text(n)).await;
    }
}
