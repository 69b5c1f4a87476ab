//! Libraries are replaced while they serve: nothing fails, what is bad is refused, what was can come back.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use roster_plugin::refusal::{Refusal, RefusalKind};
use roster_plugin::set::Used;
use roster_plugin::settings::Isolation;
use serde_json::json;

use crate::liar::liar;
use crate::world::World;

/// Watches nothing: each change is asked for.
fn by_hand(isolation: Isolation, used: Vec<Used>) -> World {
    World::new(&[], isolation, used, |settings| {
        settings.watch = false;
        settings.max_generations = 1_000;
    })
}

pub(crate) fn reload(world: &World) -> Result<(), Refusal> {
    tokio::task::block_in_place(|| world.plugins.reload("liar")).map(drop)
}

/// Replaces so often under three callers that never rest; how many answers they had.
async fn replaced_under_load(isolation: Isolation, times: usize) -> usize {
    let world = Arc::new(by_hand(isolation, Vec::new()));
    let versions = [liar(&[]), liar(&["ANSWER=\"v2\""])];
    let (over, answers) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let callers: Vec<_> = (0..3)
        .map(|_| {
            let (world, over, answers) = (Arc::clone(&world), Arc::clone(&over), Arc::clone(&answers));
            tokio::spawn(async move {
                while !over.load(Ordering::Acquire) {
                    let answer = world.tool("version", json!({})).await;
                    assert!(answer == Ok(json!("v1")) || answer == Ok(json!("v2")), "{answer:?}");
                    answers.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for at in 0..times {
        world.replace(&versions[(at + 1) % 2]);
        reload(&world).expect("a good library");
        let expected = if at % 2 == 0 { "v2" } else { "v1" };
        assert_eq!(world.tool("version", json!({})).await, Ok(json!(expected)), "change {at}");
    }
    over.store(true, Ordering::Release);
    for caller in callers {
        caller.await.expect("no call failed");
    }
    world.until(|world| world.plugin().status().retiring == 0).await;
    let counters = world.plugin().status().counters;
    assert_eq!((counters.restarts, counters.stray_completions), (0, 0));
    answers.load(Ordering::Relaxed)
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_replacements_under_three_busy_callers_fail_no_call_in_process() {
    let began = Instant::now();
    let answers = replaced_under_load(Isolation::InProcess, 300).await;
    println!("300 replacements, {answers} calls, 0 failed, {:?}", began.elapsed());
    assert!(answers >= 300, "{answers}");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_hundred_replacements_under_three_busy_callers_fail_no_call_in_own_processes() {
    let began = Instant::now();
    let answers = replaced_under_load(Isolation::Process, 300).await;
    println!("300 replacements, {answers} calls, 0 failed, {:?}", began.elapsed());
    assert!(answers >= 300, "{answers}");
}

/// TO-e2: copied over in place and renamed, seen by the watch; who calls ends on what it began with.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_file_serves_within_two_seconds_and_calls_under_way_end_on_the_old_one() {
    let world = World::inside(&[]);
    let slow = world.call("slow", json!({}), false, None).await.expect("begins");
    let began = Instant::now();
    std::fs::copy(liar(&["ANSWER=\"v2\""]), world.file()).expect("copied over, same inode");
    assert_eq!(slow.end().await.expect("good").read::<String>().expect("text"), "slow v1");
    world.until_tool("version", json!("v2")).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let began = Instant::now();
    world.replace(&liar(&["ANSWER=\"v3\""]));
    world.until_tool("version", json!("v3")).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    std::fs::remove_file(world.file()).expect("removed");
    world.until(|world| world.plugin().refusal().is_some_and(|refusal| refusal.kind == RefusalKind::Missing)).await;
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v3")));
}

/// TO-d7: who reads it, touches it or writes the same once more changes nothing; one save in five pieces is one change.
#[tokio::test(flavor = "multi_thread")]
async fn a_library_that_stays_as_it_is_is_not_loaded_again_and_one_save_is_one_load() {
    let world = World::inside(&[]);
    let whole = std::fs::read(world.file()).expect("readable");
    let pause = |millis| tokio::time::sleep(Duration::from_millis(millis));
    for _ in 0..3 {
        assert_eq!(std::fs::read(world.file()).expect("readable"), whole);
        std::fs::write(world.file(), &whole).expect("the same again");
        // Longer than the file must be quiet to be taken up.
        pause(900).await;
    }
    assert_eq!((world.plugin().status().generation, world.changes.load(Ordering::SeqCst)), (1, 1));
    let other = std::fs::read(liar(&["ANSWER=\"v2\""])).expect("readable");
    for piece in 1..=5 {
        std::fs::write(world.file(), &other[..other.len() * piece / 5]).expect("written");
        pause(50).await;
    }
    world.until_tool("version", json!("v2")).await;
    pause(900).await;
    assert_eq!((world.plugin().status().generation, world.plugin().refusal()), (2, None));
}

/// TO-e2: nothing is left of what was replaced.
#[tokio::test(flavor = "multi_thread")]
async fn after_twenty_changes_only_one_process_and_one_copy_are_left() {
    let world = by_hand(Isolation::Process, Vec::new());
    let versions = [liar(&[]), liar(&["ANSWER=\"v2\""])];
    for at in 0..20 {
        if at % 2 == 0 {
            std::fs::copy(&versions[1], world.file()).expect("copied over");
        } else {
            world.replace(&versions[0]);
        }
        reload(&world).expect("a good library");
        assert_eq!(world.tool("version", json!({})).await, Ok(json!(if at % 2 == 0 { "v2" } else { "v1" })));
    }
    world.until(|world| world.plugin().status().retiring == 0).await;
    assert_eq!(world.children(), 1);
    let copies = copies(&world.file().with_file_name(".temp"));
    assert!(copies.len() <= 1, "{copies:?}");
}

/// The copies that are open or were: those that are kept for going back have other names.
fn copies(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("readable").flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { copies(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "so"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_served_before_can_serve_again() {
    let world = by_hand(Isolation::Process, Vec::new());
    let back = |to: Option<&str>| tokio::task::block_in_place(|| world.plugins.rollback("liar", to)).map(drop);
    let nothing = back(None).expect_err("nothing served before");
    assert_eq!(nothing.kind, RefusalKind::Missing);
    let sha256 = || world.plugin().generation().expect("serves").sha256.clone();
    let first = sha256();
    world.replace(&liar(&["ANSWER=\"v2\""]));
    reload(&world).expect("a good library");
    let second = sha256();
    back(None).expect("back to the first");
    assert_eq!((world.tool("version", json!({})).await, sha256()), (Ok(json!("v1")), first));
    back(Some(&second[..12])).expect("named by its hash");
    assert_eq!((world.tool("version", json!({})).await, sha256()), (Ok(json!("v2")), second));
    assert_eq!(back(Some("0000")).expect_err("unknown").kind, RefusalKind::Missing);
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v2")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_library_without_what_agents_use_is_refused_with_their_names() {
    let used = Used { kind: "tool", id: "echo".to_owned(), agents: vec!["clerk".to_owned(), "guide".to_owned()] };
    let world = by_hand(Isolation::InProcess, vec![used]);
    world.replace(&liar(&["LESS", "ANSWER=\"v2\""]));
    let refusal = reload(&world).expect_err("it breaks two agents");
    assert_eq!(refusal.kind, RefusalKind::Breaking);
    assert!(refusal.message.contains("`liar:echo` (agents clerk, guide)"), "{}", refusal.message);
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")));
    assert_eq!(world.tool("echo", json!({"a": 1})).await, Ok(json!({"a": 1})));
    world.until(|world| world.plugin().status().retiring == 0).await;
}

/// A library that wants another one, which is nowhere.
pub(crate) fn wanting(folder: &Path) -> PathBuf {
    let cc = |arguments: &[&str]| {
        let output = Command::new("cc").args(arguments).output().expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let (stub, library) = (folder.join("stub.so"), folder.join("wanting.so"));
    let (stub_name, library_name) = (stub.to_string_lossy().into_owned(), library.to_string_lossy().into_owned());
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/liar.c");
    cc(&["-shared", "-fPIC", "-Wl,-soname,libnowhere_at_all.so.7", "-o", &stub_name, "-x", "c", "/dev/null"]);
    cc(&["-shared", "-fPIC", "-w", "-pthread", "-Wl,--no-as-needed", "-o", &library_name, source, &stub_name]);
    library
}

/// TO-e1, by replacing: each is one refusal with its reason, and what served serves on.
#[tokio::test(flavor = "multi_thread")]
async fn six_bad_files_in_the_place_of_a_good_one_change_nothing() {
    let world = by_hand(Isolation::InProcess, Vec::new());
    let folder = tempfile::tempdir().expect("a folder");
    let text = folder.path().join("text.so");
    std::fs::write(&text, "this is no library\n").expect("written");
    let foreign = folder.path().join("foreign.so");
    let mut bytes = std::fs::read(liar(&[])).expect("readable");
    // The ELF header's machine: RISC-V, which this is not built on.
    bytes[18..20].copy_from_slice(&243_u16.to_le_bytes());
    std::fs::write(&foreign, bytes).expect("written");
    let bad = [
        (text, RefusalKind::NotAPlugin, "text"),
        (liar(&["NO_ENTRY"]), RefusalKind::NotAPlugin, "arp_plugin_entry_v1"),
        (liar(&["MAJOR=2"]), RefusalKind::Abi, "2.0"),
        (liar(&["UNDEFINED"]), RefusalKind::Open, "nope_fn"),
        (foreign, RefusalKind::Platform, "riscv64"),
        (wanting(folder.path()), RefusalKind::Open, "libnowhere_at_all.so.7"),
    ];
    for (library, kind, reason) in bad {
        world.replace(&library);
        let refusal = reload(&world).expect_err(reason);
        assert_eq!(refusal.kind, kind, "{}", refusal.message);
        assert!(refusal.message.contains(reason), "{reason}: {}", refusal.message);
        assert!(!refusal.help.is_empty(), "{reason}");
        assert_eq!(world.tool("version", json!({})).await, Ok(json!("v1")), "after {reason}");
    }
    world.replace(&liar(&["ANSWER=\"v2\""]));
    reload(&world).expect("a good one");
    assert_eq!(world.tool("version", json!({})).await, Ok(json!("v2")));
    assert_eq!(world.plugin().refusal(), None);
}
