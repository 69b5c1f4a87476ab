//! Copies of the sessions database.

use crate::http::{chat, lines, messages, question};
use crate::project::Project;
use crate::roster::{Roster, run};

#[tokio::test]
async fn a_backup_made_while_serving_is_put_back_when_stopped() {
    let project = Project::new().keeper();
    let copy = project.path("copy.db");
    let copy = copy.to_str().expect("a plain path");
    let nothing = run(&project, &["backup", copy]).await;
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);

    let roster = Roster::serve(&project).await;
    chat(&roster, &question("keeper", "c", "before")).await.done();
    let made = run(&project, &["backup", copy]).await;
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let kept = lines(&messages(&roster, "c").await);
    chat(&roster, &question("keeper", "c", "after")).await.done();
    let again = run(&project, &["backup", copy]).await;
    assert_eq!(again.code, Some(2), "it overwrites nothing: {}", again.stderr);
    let serving = run(&project, &["restore", copy]).await;
    assert_eq!(serving.code, Some(2), "not while a runtime serves: {}", serving.stderr);
    assert_eq!(messages(&roster, "c").await.len(), 4);
    roster.terminate().await;

    let restored = run(&project, &["restore", copy]).await;
    assert_eq!(restored.code, Some(0), "{}", restored.stderr);
    assert!(project.path(".temp/roster.db.before-restore-1").is_file(), "{}", restored.stdout);
    let roster = Roster::serve(&project).await;
    assert_eq!(lines(&messages(&roster, "c").await), kept);
    roster.terminate().await;

    project.write("words.db", "no database");
    let unfit = run(&project, &["restore", project.path("words.db").to_str().expect("a plain path")]).await;
    assert_eq!(unfit.code, Some(1), "{}", unfit.stderr);
}

#[tokio::test]
async fn a_copy_that_cannot_be_made_says_where_and_what_to_do() {
    let project = Project::new().keeper();
    Roster::serve(&project).await.terminate().await;
    let output = run(&project, &["backup", "no/such/folder/copy.db"]).await;
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("`no/such/folder`"), "{}", output.stderr);
    assert!(output.stderr.contains("hint: make the folder"), "{}", output.stderr);
}
