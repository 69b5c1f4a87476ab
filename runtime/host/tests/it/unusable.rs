//! A sessions database that cannot be used (TO-c3).

use std::fs;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::http::{chat, get, open_chat, question};
use crate::project::Project;
use crate::roster::{Roster, run};

fn hash(project: &Project) -> [u8; 32] {
    Sha256::digest(fs::read(project.database()).expect("the database")).into()
}

/// A project whose database holds some turns.
async fn filled() -> Project {
    let project = Project::new().keeper().plain();
    let roster = Roster::serve(&project).await;
    for n in 0..20 {
        chat(&roster, &question("keeper", "c", &format!("line {n} {}", "x".repeat(500)))).await.done();
    }
    roster.terminate().await;
    project
}

#[tokio::test]
async fn a_folder_where_the_file_should_be_is_refused() {
    let project = Project::new().keeper();
    fs::create_dir_all(project.database()).expect("folder");
    let output = run(&project, &["serve"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("roster.db") && output.stderr.contains("hint: "), "{}", output.stderr);
    assert!(project.database().is_dir());
}

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused_and_left_as_it_is() {
    let project = filled().await;
    set_user_version(&project, 99);
    let before = hash(&project);
    let output = run(&project, &["serve", "--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"]).await;
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert!(output.stderr.contains("99") && output.stderr.contains("hint: "), "{}", output.stderr);
    assert_eq!(hash(&project), before);
    assert!(!project.path(".temp/roster.db-wal").exists() && !project.path(".temp/roster.db-shm").exists());
}

/// Bytes 60 to 63 of a SQLite file are its user version, big-endian.
fn set_user_version(project: &Project, version: u32) {
    let mut bytes = fs::read(project.database()).expect("the database");
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    fs::write(project.database(), bytes).expect("write");
}

#[tokio::test]
async fn a_damaged_file_lets_the_runtime_serve_degraded() {
    let project = filled().await;
    let mut bytes = fs::read(project.database()).expect("the database");
    bytes[..100].fill(0);
    bytes[4096..8192].fill(0);
    fs::write(project.database(), bytes).expect("write");
    let before = hash(&project);

    let roster = Roster::serve(&project).await;
    let (status, health) = get(&format!("{}/health", roster.gateway)).await;
    assert_eq!((status, &health["status"]), (200, &json!("degraded")), "{health}");
    assert_eq!(health["problems"], json!(["sessions_unavailable"]));
    let refused = open_chat(&roster, &question("keeper", "c", "hi")).await;
    assert_eq!(refused.status().as_u16(), 503);
    assert!(refused.text().await.expect("a body").contains("sessions_unavailable"));
    let (status, body) = get(&format!("{}/api/conversations", roster.gateway)).await;
    assert_eq!((status, &body["code"]), (503, &json!("sessions_unavailable")), "{body}");
    assert!(!chat(&roster, &question("plain", "c", "hi")).await.text().is_empty(), "no memory, no store");
    assert_eq!(roster.terminate().await.code, Some(0));
    assert_eq!(hash(&project), before, "not a byte was written");

    let doctor = run(&project, &["doctor"]).await;
    assert_eq!(doctor.code, Some(1));
    assert!(doctor.stdout.contains("roster restore FILE"), "{}", doctor.stdout);
}

#[tokio::test]
async fn damage_inside_is_seen_when_it_is_met() {
    let project = filled().await;
    let mut bytes = fs::read(project.database()).expect("the database");
    // Everything but the first page, which holds the header and the schema.
    bytes[4096..].fill(0);
    fs::write(project.database(), bytes).expect("write");
    let roster = Roster::serve(&project).await;
    let refused = open_chat(&roster, &question("keeper", "c", "hi")).await;
    assert_eq!(refused.status().as_u16(), 503);
    let (_, health) = get(&format!("{}/health", roster.gateway)).await;
    assert_eq!(health["status"], "degraded", "{health}");
    assert!(!chat(&roster, &question("plain", "c", "hi")).await.text().is_empty());
    roster.terminate().await;
}

/// What `serve` refuses fails in the doctor with the same words.
async fn both_refuse(project: &Project, said: &str) {
    let serve = run(project, &["serve", "--gateway", "127.0.0.1:0", "--studio", "127.0.0.1:0"]).await;
    assert_eq!(serve.code, Some(2), "{}", serve.stderr);
    assert!(serve.stderr.contains(said) && serve.stderr.contains("hint: "), "{}", serve.stderr);
    let doctor = run(project, &["doctor"]).await;
    assert_eq!(doctor.code, Some(1), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("FAIL  sessions database") && doctor.stdout.contains(said), "{}", doctor.stdout);
}

#[tokio::test]
async fn the_doctor_refuses_what_serve_refuses() {
    let newer = filled().await;
    set_user_version(&newer, 9999);
    both_refuse(&newer, "has schema version 9999, this runtime knows up to").await;

    let foreign = filled().await;
    let mut bytes = fs::read(foreign.database()).expect("the database");
    // Bytes 68 to 71 are the mark of the program a file belongs to.
    bytes[68..72].copy_from_slice(b"Xxxx");
    fs::write(foreign.database(), bytes).expect("write");
    both_refuse(&foreign, "is a database of another program").await;
}

#[tokio::test]
async fn a_file_where_the_data_folder_should_be_is_refused_by_both() {
    let project = Project::new().keeper();
    project.write(".temp", "words");
    both_refuse(&project, "is no folder").await;
    let doctor = run(&project, &["doctor"]).await;
    assert!(doctor.stdout.contains("FAIL  data folder"), "{}", doctor.stdout);
    assert_eq!(fs::read_to_string(project.path(".temp")).expect("still a file"), "words");
}
