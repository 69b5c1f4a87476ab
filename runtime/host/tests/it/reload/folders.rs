//! Folders and links that are replaced as a whole, and many files at once.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Live, file, pause, until};
use crate::project::Project;

/// A project mounted as Kubernetes mounts a ConfigMap: every file a link through `..data`.
fn mounted(project: Project) -> Project {
    project.write("agents/..v1/clerk.toml", file("clerk", "one"));
    symlink("..v1", project.path("agents/..data")).expect("link");
    symlink("..data/clerk.toml", project.path("agents/clerk.toml")).expect("link");
    project.register("clerk", "clerk.toml");
    project
}

#[tokio::test]
async fn a_swapped_mount_is_served() {
    let live = Live::serve(mounted).await;
    assert_eq!(live.says("clerk").await.as_deref(), Ok("one"));
    for (version, words) in [("..v2", "two"), ("..v3", "three")] {
        live.project.write(&format!("agents/{version}/clerk.toml"), file("clerk", words));
        symlink(version, live.project.path("agents/..tmp")).expect("link");
        fs::rename(live.project.path("agents/..tmp"), live.project.path("agents/..data")).expect("swap");
        live.until_says("clerk", words).await;
    }
    assert_eq!(live.registry().await["problems"], serde_json::json!([]));
}

#[tokio::test]
async fn a_mount_of_the_whole_folder_may_be_a_link_too() {
    let live = Live::serve(|project| {
        fs::remove_dir(project.path("agents")).expect("remove");
        project.write("one/clerk.toml", file("clerk", "one"));
        symlink("one", project.path("agents")).expect("link");
        project.register("clerk", "clerk.toml");
        project
    })
    .await;
    live.project.write("two/clerk.toml", file("clerk", "two"));
    symlink("two", live.project.path("next")).expect("link");
    fs::rename(live.project.path("next"), live.project.path("agents")).expect("swap");
    live.until_says("clerk", "two").await;
    // The new folder is watched too.
    live.project.write("two/clerk.toml", file("clerk", "three"));
    live.until_says("clerk", "three").await;
}

#[tokio::test]
async fn a_folder_moved_away_changes_nothing_and_its_successor_is_served() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"")).await;
    let (agents, aside) = (live.project.path("agents"), live.project.path("aside"));
    fs::rename(&agents, &aside).expect("away");
    until("the missing folder is listed", async || {
        live.registry().await["problems"].to_string().contains("file_missing")
    })
    .await;
    assert_eq!(live.says("clerk").await.as_deref(), Ok("one"));
    assert_eq!(live.entry("clerk").await["state"], "serving");
    fs::rename(&aside, &agents).expect("back");
    until("the problem is gone", async || live.registry().await["problems"] == serde_json::json!([])).await;
    live.project.write("next/clerk.toml", file("clerk", "two"));
    fs::rename(&agents, &aside).expect("away");
    fs::rename(live.project.path("next"), &agents).expect("the successor");
    live.until_says("clerk", "two").await;
    live.project.write("agents/clerk.toml", file("clerk", "three"));
    live.until_says("clerk", "three").await;
}

#[tokio::test]
async fn fifty_files_of_another_branch_are_served_together() {
    let live = Live::serve(|mut project| {
        for n in 0..50 {
            project = project.agent(&format!("a{n}"), "instructions = \"main\"");
        }
        project
    })
    .await;
    // As `git checkout` does it: each file is removed and made anew.
    for branch in ["feature", "main"] {
        for n in 0..50 {
            let path = live.project.path(&format!("agents/a{n}.toml"));
            fs::remove_file(&path).expect("remove");
            fs::write(&path, file(&format!("a{n}"), branch)).expect("write");
        }
        for n in [0, 25, 49] {
            live.until_says(&format!("a{n}"), branch).await;
        }
    }
    assert!(live.reloads() < 40, "{} reloads for two branches of fifty files", live.reloads());
}

#[tokio::test]
async fn one_bad_file_among_twenty_holds_no_other_back() {
    let live = Live::serve(|mut project| {
        for n in 0..20 {
            project = project.agent(&format!("a{n}"), "instructions = \"old\"");
        }
        project
    })
    .await;
    for n in 0..20 {
        let body = file(&format!("a{n}"), "new");
        let body = if n == 7 { format!("{body}max_step = 3\n") } else { body };
        live.project.write(&format!("agents/a{n}.toml"), body);
    }
    for n in (0..20).filter(|n| *n != 7) {
        live.until_says(&format!("a{n}"), "new").await;
    }
    live.until_state("a7", "serving_last_good").await;
    assert_eq!(live.says("a7").await.as_deref(), Ok("old"));
    let problem = live.entry("a7").await["problems"][0].clone();
    assert_eq!(problem["file"], "agents/a7.toml");
    assert_eq!((&problem["line"], &problem["column"]), (&3.into(), &1.into()));
    live.project.write("agents/a7.toml", file("a7", "new"));
    live.until_says("a7", "new").await;
    live.until_state("a7", "serving").await;
}

#[tokio::test]
async fn a_deleted_agent_is_gone_and_a_recreated_one_is_back() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"").plain()).await;
    fs::remove_file(live.project.path("agents/clerk.toml")).expect("remove");
    until("it is gone", async || live.says("clerk").await.is_err_and(|error| error.starts_with("404"))).await;
    assert_eq!(live.says("plain").await.as_deref(), Ok("Be brief."));
    live.project.write("agents/clerk.toml", file("clerk", "two"));
    live.until_says("clerk", "two").await;
}

#[tokio::test]
async fn a_moved_file_is_no_change_of_its_agent() {
    let live =
        Live::serve(|project| project.agent("clerk", "instructions = \"one\"\nmemory = \"create_memory\"")).await;
    let before = live.entry("clerk").await["generation"].clone();
    fs::rename(live.project.path("agents/clerk.toml"), live.project.path("agents/office.toml")).expect("move");
    live.project.write("config/registry.toml", "[agents]\nclerk = \"office.toml\"\n");
    until("the new place is known", async || live.entry("clerk").await["file"] == "agents/office.toml").await;
    assert_eq!(live.entry("clerk").await["generation"], before);
    let calls = live.counter("roster_memory_factory_calls_total{agent=\"clerk\"}").await;
    assert!((calls - 1.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn reading_and_touching_reload_nothing_and_one_save_reloads_once() {
    let live = Live::serve(|project| project.agent("clerk", "instructions = \"one\"")).await;
    let path = live.project.path("agents/clerk.toml");
    for _ in 0..20 {
        fs::read_dir(live.project.path("agents")).expect("list").count();
        let text = fs::read(&path).expect("read");
        fs::write(live.project.path("agents/notes.txt"), "x").expect("a file of no interest");
        fs::write(&path, text).expect("the same text again");
        pause(50).await;
    }
    // Longer than anything takes to settle.
    pause(400).await;
    assert_eq!(live.reloads(), 0, "{}", live.roster.stderr());
    let other = live.project.path("agents/.clerk.toml.tmp");
    fs::write(&other, file("clerk", "two")).expect("write");
    fs::rename(other, &path).expect("rename");
    live.until_says("clerk", "two").await;
    pause(400).await;
    assert_eq!(live.reloads(), 1, "{}", live.roster.stderr());
}
