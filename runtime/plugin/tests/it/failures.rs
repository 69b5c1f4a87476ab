//! The failure table of `docs/plugins.md` ("When a plugin misbehaves"), row by row. What is written once runs in both
//! modes (`failures::in_process::…`, `failures::own_process::…`).
//!
//! | what happens | test |
//! | --- | --- |
//! | a panic in a call, or in a thread that owes an answer | `a_panic_fails_its_call_and_says_where` |
//! | … ten of them within a minute | `an_instance_that_panics_again_and_again_is_made_anew` |
//! | an answer given up; one that never comes | `an_answer_given_up_is_told_and_one_kept_back_runs_into_the_deadline` |
//! | abort, segmentation fault, stack overflow, `exit` | own process: `outside::what_kills_the_plugin_leaves_the_runtime_and_is_named`; in process: roster-host's `plugins::deaths::…_loses_nothing_that_was_acknowledged` |
//! | built with `panic = "abort"` | `panic_abort_is_refused_in_process_and_a_crash_elsewhere` |
//! | a call that never ends, sleeping or at work | `a_call_that_never_ends_frees_its_caller_at_the_deadline`, `inside::hanging_calls_lose_their_threads_until_nothing_is_sent_any_more`, `outside::a_hang_frees_its_caller_at_the_deadline_and_innocent_calls_go_on` |
//! | … one that ends late | `a_call_that_ends_after_its_deadline_harms_nobody` |
//! | memory without end | `memory_is_seen_in_process`, `outside::memory_beyond_the_limit_ends_the_plugin_only` |
//! | more files than its limit | `files_beyond_the_limit_fail_the_call_only` |
//! | output that is no JSON, does not fit its schema, or is too large | `output_that_cannot_be_used_reaches_nobody` |
//! | answers twice, late, or to no call | `answers_to_no_call_are_ignored_and_counted` |
//! | another version, another processor, cut short, no plugin, a missing symbol or library | `what_cannot_be_loaded_is_refused_in_the_same_words` |
//! | fails, panics, crashes or hangs while it starts; is not well | `what_goes_wrong_at_the_start_is_told`, `outside::what_does_not_start_is_refused_with_how_it_ended` |
//! | panics or hangs while it ends | `what_goes_wrong_at_the_end_holds_up_nobody` |
//! | prints to standard output | own process: `outside::printing_does_not_disturb_the_channel` |
//! | overwritten, deleted or replaced by a broken build while it runs | `its_file_may_be_overwritten_broken_or_gone` |
//! | the runtime is killed | roster-host's `plugins::deaths::a_plugins_process_ends_with_the_runtime_also_while_it_is_busy` |
//! | the process does not answer | `pressure::a_process_that_does_not_answer_is_killed_and_replaced` |

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use roster_plugin::call::CallError;
use roster_plugin::refusal::{Refusal, RefusalKind};
use roster_plugin::settings::{Isolation, Settings};
use serde_json::{Value, json};

use crate::liar::liar;
use crate::replace::{reload, wanting};
use crate::shipped::with;
use crate::world::{World, place};

/// Runs each of these in both modes.
macro_rules! in_both_modes {
    ($($test:ident),* $(,)?) => {
        mod in_process {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(roster_plugin::settings::Isolation::InProcess).await;
                }
            )*
        }
        mod own_process {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $test() {
                    super::$test(roster_plugin::settings::Isolation::Process).await;
                }
            )*
        }
    };
}
pub(crate) use in_both_modes;

in_both_modes!(
    a_panic_fails_its_call_and_says_where,
    an_instance_that_panics_again_and_again_is_made_anew,
    an_answer_given_up_is_told_and_one_kept_back_runs_into_the_deadline,
    a_call_that_never_ends_frees_its_caller_at_the_deadline,
    a_call_that_ends_after_its_deadline_harms_nobody,
    output_that_cannot_be_used_reaches_nobody,
    answers_to_no_call_are_ignored_and_counted,
    what_goes_wrong_at_the_start_is_told,
    what_goes_wrong_at_the_end_holds_up_nobody,
    its_file_may_be_overwritten_broken_or_gone,
);

/// The plugin that misbehaves on demand, over the SDK.
fn faults(isolation: Isolation, change: impl FnOnce(&mut Settings)) -> World {
    with("libfaults.so", isolation, change)
}

/// What a call fails with.
async fn failure(world: &World, tool: &str, arguments: Value) -> CallError {
    let call = world.call(tool, arguments, false, None).await.expect("it begins");
    call.end().await.expect_err(tool)
}

async fn is_good(world: &World, after: &str) {
    assert_eq!(world.tool("ok", json!({"a": [1, "ü"]})).await, Ok(json!({"a": [1, "ü"]})), "after {after}");
}

async fn a_panic_fails_its_call_and_says_where(isolation: Isolation) {
    let world = faults(isolation, |_| {});
    for (tool, words) in [("panic", "on demand"), ("panic_thread", "in a thread")] {
        let error = failure(&world, tool, json!({})).await;
        assert_eq!(error.code, "panic", "{error:?}");
        assert!(error.message.contains("src/lib.rs:") && error.message.contains(words), "{error:?}");
        is_good(&world, tool).await;
    }
    assert_eq!(world.plugin().status().counters.restarts, 0);
}

async fn an_instance_that_panics_again_and_again_is_made_anew(isolation: Isolation) {
    // The code is there already: making an instance of it maps nothing.
    let world = faults(isolation, |settings| settings.max_generations = 1);
    for _ in 0..10 {
        assert_eq!(world.plugin().status().generation, 1);
        assert_eq!(failure(&world, "panic", json!({})).await.code, "panic");
    }
    world.until(|world| world.plugin().status().generation == 2).await;
    is_good(&world, "ten panics").await;
    world.until(|world| world.plugin().status().retiring == 0).await;
    is_good(&world, "the old instance ended").await;
    assert_eq!(world.plugin().status().counters.errors["panic"], 10);
}

async fn an_answer_given_up_is_told_and_one_kept_back_runs_into_the_deadline(isolation: Isolation) {
    let world = faults(isolation, |settings| {
        settings.call_timeout = Duration::from_millis(200);
        settings.cancel_grace = Duration::from_millis(20);
    });
    let error = failure(&world, "drop", json!({})).await;
    assert_eq!(error.code, "dropped", "at once, not at the deadline: {error:?}");
    let error = failure(&world, "never", json!({})).await;
    assert_eq!(error.code, "plugin_timeout", "{error:?}");
    until_given_up(&world, isolation).await;
    is_good(&world, "never").await;
}

/// A call that does not end was written off: a thread here, a process there.
async fn until_given_up(world: &World, isolation: Isolation) {
    world
        .until(|world| {
            let counters = world.plugin().status().counters;
            if isolation == Isolation::InProcess { counters.lost_threads == 1 } else { counters.restarts == 1 }
        })
        .await;
}

async fn a_call_that_never_ends_frees_its_caller_at_the_deadline(isolation: Isolation) {
    // One at work is tried where it can be ended: in process it would go on until the tests are over.
    let tools: &[&str] = if isolation == Isolation::InProcess { &["hang"] } else { &["hang", "spin"] };
    for tool in tools {
        let world = faults(isolation, |settings| {
            settings.call_timeout = Duration::from_millis(200);
            settings.cancel_grace = Duration::from_millis(20);
            settings.max_concurrency = 1;
        });
        let began = Instant::now();
        assert_eq!(failure(&world, tool, json!({})).await.code, "plugin_timeout");
        assert!(began.elapsed() >= Duration::from_millis(200), "{tool}: {:?}", began.elapsed());
        until_given_up(&world, isolation).await;
        is_good(&world, tool).await;
    }
}

async fn a_call_that_ends_after_its_deadline_harms_nobody(isolation: Isolation) {
    let world = faults(isolation, |settings| settings.call_timeout = Duration::from_millis(100));
    let error = failure(&world, "ignore_cancel", json!({"ms": 300})).await;
    assert_eq!(error.code, "plugin_timeout", "{error:?}");
    assert_eq!(world.plugin().status().counters.orphans, 1, "its place is taken until it ends");
    world.until(|world| world.plugin().status().counters.orphans == 0).await;
    is_good(&world, "a late answer").await;
    let counters = world.plugin().status().counters;
    assert_eq!((counters.restarts, counters.lost_threads, counters.stray_completions), (0, 0, 0));
}

async fn output_that_cannot_be_used_reaches_nobody(isolation: Isolation) {
    let world = faults(isolation, |_| {});
    let bad = ["bad_json", "bad_utf8", "deep", "bad_encoding", "bad_shape", "null_payload", "huge"];
    for tool in bad {
        let error = world.tool(tool, json!({})).await.expect_err(tool);
        assert_eq!(error.code, "plugin_bad_output", "{tool}: {error:?}");
        assert!(error.message.len() < 500, "{tool}: a look at it, not the whole: {}", error.message.len());
        is_good(&world, tool).await;
    }
    assert_eq!(world.plugin().status().counters.errors["plugin_bad_output"], bad.len() as u64);
    for (tool, message) in [("bad_error", "no message (status -6)"), ("bad_status", "no message (status 12345)")] {
        assert_eq!(world.tool(tool, json!({})).await.expect_err(tool).message, message);
    }
    let fails = json!({"status": -6, "code": "plugin_crashed"});
    assert_eq!(failure(&world, "fail", fails).await.code, "internal", "what is the host's to say stays so");
}

async fn answers_to_no_call_are_ignored_and_counted(isolation: Isolation) {
    let world = faults(isolation, |_| {});
    assert_eq!(world.tool("double", json!({})).await, Ok(json!("first")));
    for _ in 0..2 {
        assert_eq!(world.tool("late", json!({})).await, Ok(json!(-8)), "there is no such call any more");
    }
    assert_eq!(world.tool("unknown_call", json!({})).await, Ok(json!(-8)));
    assert_eq!(world.tool("emit_after_done", json!({})).await, Ok(json!("done")));
    world.until(|world| world.plugin().status().counters.stray_completions == 4).await;
    is_good(&world, "five answers too many").await;
}

async fn what_goes_wrong_at_the_start_is_told(isolation: Isolation) {
    for (fault, words) in [
        ("panic_in_create", "in create"),
        ("fail_in_create", "no license today"),
        ("hang_in_create", "within 300 ms"),
        ("sick", "the station does not answer"),
    ] {
        let world = faults(isolation, |settings| {
            settings.config.insert("fault".to_owned(), json!(fault));
            if fault == "hang_in_create" {
                settings.start_timeout = Duration::from_millis(300);
            }
        });
        let refusal = world.plugin().refusal().expect(fault);
        assert_eq!(refusal.kind, RefusalKind::Start, "{fault}: {refusal:?}");
        assert!(refusal.message.contains(words), "{fault}: {refusal:?}");
        let error = world.call("ok", json!({}), false, None).await.err().expect("nothing serves");
        assert_eq!(error.code, "plugin_unavailable");
        assert!(error.message.contains(words), "{fault}: {error:?}");
    }
}

async fn what_goes_wrong_at_the_end_holds_up_nobody(isolation: Isolation) {
    for fault in ["panic_in_destroy", "slow_quiesce", "hang_in_quiesce"] {
        let world = faults(isolation, |settings| {
            settings.config.insert("fault".to_owned(), json!(fault));
            settings.watch = false;
        });
        tokio::task::block_in_place(|| world.plugins.reload("liar")).expect("the same once more");
        is_good(&world, fault).await;
        assert_eq!(world.plugin().status().generation, 2);
        if isolation == Isolation::Process || fault == "panic_in_destroy" {
            world.until(|world| world.plugin().status().retiring == 0).await;
        } else {
            // Its thread is inside of the plugin: it is listed, and nothing is freed under it.
            assert_eq!(world.plugin().status().retiring, 1, "{fault}");
        }
    }
}

async fn its_file_may_be_overwritten_broken_or_gone(isolation: Isolation) {
    let world = faults(isolation, |settings| settings.watch = false);
    let file = world.file().with_file_name("libfaults.so");
    let whole = std::fs::read(&file).expect("readable");
    let refused = |kind: RefusalKind| {
        let refusal = reload(&world).expect_err("no good library");
        assert_eq!(refusal.kind, kind, "{refusal:?}");
        assert_eq!(world.plugin().refusal(), Some(refusal), "it is listed");
    };
    // In place, as `cp` does: where the code is mapped from is a copy.
    std::fs::write(&file, vec![0xcc; whole.len()]).expect("overwritten");
    is_good(&world, "overwriting").await;
    refused(RefusalKind::NotAPlugin);
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("cut");
    refused(RefusalKind::Damaged);
    is_good(&world, "cutting").await;
    std::fs::remove_file(&file).expect("removed");
    refused(RefusalKind::Missing);
    is_good(&world, "removing").await;
    place(&liar(&["UNHEALTHY"]), &file);
    refused(RefusalKind::Start);
    is_good(&world, "a broken build").await;
    std::fs::write(&file, &whole).expect("whole again");
    reload(&world).expect("a good library");
    assert_eq!(world.plugin().refusal(), None);
    is_good(&world, "all of it").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_abort_is_refused_in_process_and_a_crash_elsewhere() {
    let refusal = World::inside(&["FLAGS=7"]).plugin().refusal().expect("refused");
    assert!(refusal.message.contains("panic = \"abort\"") && refusal.help.contains("isolation = \"process\""));
    let world = World::outside(&["FLAGS=7"]);
    let error = failure(&world, "abort", json!({})).await;
    assert_eq!(error.code, "plugin_crashed");
    assert!(error.message.contains("signal 6"), "{error:?}");
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_seen_in_process() {
    let world = faults(Isolation::InProcess, |_| {});
    let before = resident_mib();
    assert_eq!(world.tool("leak", json!({"mib": 128})).await, Ok(json!(128)));
    // Other tests of this process may give some back meanwhile.
    assert!(resident_mib() >= before + 32, "{before} MiB before, {} after", resident_mib());
    is_good(&world, "a leak").await;
}

/// Of this process.
fn resident_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("told");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn files_beyond_the_limit_fail_the_call_only() {
    let world = faults(Isolation::Process, |settings| settings.limits.open_files = 64);
    let error = world.tool("files", json!({"times": 100})).await.expect_err("too many");
    assert!(error.message.contains("Too many open files"), "{error:?}");
    is_good(&world, "using up its descriptors").await;
    assert_eq!(world.plugin().status().counters.restarts, 0);
}

/// What is said of a library, without the name of its folder.
fn refused(library: &Path, isolation: Isolation) -> Refusal {
    let mut folder = PathBuf::new();
    let world = World::new(&[], isolation, Vec::new(), |settings| {
        folder.clone_from(&settings.folders[0]);
        place(library, &folder.join("libliar.so"));
    });
    let refusal = world.plugin().refusal().expect("refused");
    Refusal { message: refusal.message.replace(&*folder.to_string_lossy(), "DIR"), ..refusal }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_loaded_is_refused_in_the_same_words() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    };
    let good = std::fs::read(liar(&[])).expect("readable");
    let mut foreign = good.clone();
    // The ELF header's machine: RISC-V.
    foreign[18..20].copy_from_slice(&243_u16.to_le_bytes());
    for (library, kind, words) in [
        (made("text.so", b"this is no library\n"), RefusalKind::NotAPlugin, "it is a text"),
        (libm(), RefusalKind::NotAPlugin, "does not export `arp_plugin_manifest`"),
        (liar(&["NO_MANIFEST"]), RefusalKind::NotAPlugin, "does not export `arp_plugin_manifest`"),
        (liar(&["NO_ENTRY"]), RefusalKind::NotAPlugin, "does not export `arp_plugin_entry_v1`"),
        (liar(&["MAJOR=2"]), RefusalKind::Abi, "version 2.0 of the plugin contract, and this runtime speaks 1.0"),
        (liar(&["MINOR_MIN=5"]), RefusalKind::Abi, "at least version 1.5"),
        (liar(&["HOST_SIZE=640"]), RefusalKind::Abi, "a host table of 640 bytes"),
        (liar(&["FLAGS=0x10003"]), RefusalKind::Abi, "does not know (flags 0x10000)"),
        (liar(&["DESCRIBE_BROKEN"]), RefusalKind::Abi, "describes itself in a way that cannot be read"),
        (liar(&["BAD_SCHEMA"]), RefusalKind::Abi, "a schema of `odd` is no JSON Schema"),
        (liar(&["UNDEFINED"]), RefusalKind::Open, "nope_fn"),
        (wanting(folder.path()), RefusalKind::Open, "libnowhere_at_all.so.7"),
        (made("foreign.so", &foreign), RefusalKind::Platform, "is built for riscv64"),
        (made("half.so", &good[..good.len() / 2]), RefusalKind::Damaged, "is damaged"),
        (made("nearly.so", &good[..good.len() - 1]), RefusalKind::Damaged, "is damaged"),
    ] {
        let (inside, outside) = (refused(&library, Isolation::InProcess), refused(&library, Isolation::Process));
        assert_eq!(inside, outside);
        let said = format!("it {inside}");
        assert!(inside.kind == kind && said.contains(words) && !inside.help.is_empty(), "{words}: {inside:?}");
    }
}

/// A library that every system with a C compiler has.
fn libm() -> PathBuf {
    let output = Command::new("cc").arg("-print-file-name=libm.so.6").output().expect("a C compiler");
    PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim())
}
