//! Searching documents.

use std::collections::BTreeMap;

use serde_json::json;

use super::passages::passages;
use super::*;
use crate::tests::{context, object};

/// A project in RAM: path to text, each with a stamp; reads are counted.
#[derive(Default)]
struct Papers {
    files: Mutex<BTreeMap<String, (u128, String)>>,
    reads: Mutex<Vec<String>>,
}

impl Papers {
    fn put(&self, path: &str, text: &str) {
        let mut files = self.files.lock().expect("whole");
        let stamp = files.get(path).map_or(1, |(stamp, _)| stamp + 1);
        files.insert(path.to_owned(), (stamp, text.to_owned()));
    }
}

impl Folders for Papers {
    fn look(&self, folder: &str) -> Result<(), Unreadable> {
        if folder == "docs" { Ok(()) } else { Err(Unreadable::Missing) }
    }

    fn list<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Listing, Unreadable>> {
        let files = self.files.lock().expect("whole");
        let listed = |(path, (stamp, _)): (&String, &(u128, String))| Listed { path: path.clone(), stamp: (*stamp, 0) };
        let listing = Listing { files: files.iter().map(listed).collect(), left_out: 0 };
        Box::pin(async move { if listing.files.is_empty() { Err(Unreadable::Missing) } else { Ok(listing) } })
    }

    fn read<'a>(&'a self, file: &'a str) -> BoxFuture<'a, Result<String, Unreadable>> {
        self.reads.lock().expect("whole").push(file.to_owned());
        let text = self.files.lock().expect("whole").get(file).map(|(_, text)| text.clone());
        Box::pin(async move { text.ok_or(Unreadable::Missing) })
    }
}

fn tool(papers: &Arc<Papers>) -> Arc<dyn Tool> {
    let maker = DocsMaker::new(Arc::clone(papers) as Arc<dyn Folders>);
    maker.make(&object(&json!({"folder": "docs/"}))).expect("made")
}

async fn search(tool: &Arc<dyn Tool>, query: &str) -> Value {
    tool.call(object(&json!({"query": query})), context()).await.expect("an answer")
}

/// The places found, as `file:line heading`.
fn places(answer: &Value) -> Vec<String> {
    let place = |found: &Value| {
        format!("{}:{} {}", found["file"].as_str().unwrap(), found["line"], found["heading"].as_str().unwrap())
    };
    answer["results"].as_array().expect("a list").iter().map(place).collect()
}

#[test]
fn a_file_is_cut_at_its_headings() {
    let text = "---\ntitle: x\n---\n\nBefore.\n# Guide\nIntro\n## Install ##\n```sh\n# no heading\n```\nrun it\nNotes\n-----\nlast\n";
    let found: Vec<_> = passages(text).into_iter().map(|p| format!("{} [{}] {}", p.line, p.heading, p.text)).collect();
    let install = "9 [Guide > Install] ```sh\n# no heading\n```\nrun it";
    assert_eq!(found, ["5 [] Before.", "7 [Guide] Intro", install, "15 [Guide > Notes] last"]);
}

#[test]
fn a_long_part_is_cut_between_paragraphs_and_no_word_is_lost() {
    let text =
        format!("# A\n{}", (0..100).map(|n| format!("paragraph number {n} of many words\n\n")).collect::<String>());
    let parts = passages(&text);
    assert!(parts.len() > 1 && parts.iter().all(|part| part.text.len() < 2_500 && part.heading == "A"));
    assert!((0..100).all(|n| parts.iter().any(|part| part.text.contains(&format!("number {n} of")))));
    assert!(passages("").is_empty() && passages("# only\n\n").is_empty());
}

#[tokio::test]
async fn the_passage_that_is_about_it_comes_first() {
    let papers = Arc::new(Papers::default());
    papers.put("docs/agents.md", "# Agents\nAn agent has tools and memory.\n## Tools\nTools are named in the file.\n");
    papers.put("docs/backup.md", "# Backup\nA backup of the store is made while serving.\n");
    papers.put("docs/记忆.md", "# 记忆\n对话记录保存在数据库里。\n");
    let tool = tool(&papers);
    assert_eq!(places(&search(&tool, "how do I make a backup?").await)[0], "docs/backup.md:2 Backup");
    assert_eq!(places(&search(&tool, "tool").await)[0], "docs/agents.md:4 Agents > Tools", "one tool, many tools");
    assert_eq!(places(&search(&tool, "对话存在哪里").await), ["docs/记忆.md:2 记忆"]);
    let nothing = search(&tool, "zebra").await;
    assert_eq!(nothing, json!({"results": [], "files": 3, "note": "nothing in `docs` holds these words; try others"}));
    let one =
        tool.call(object(&json!({"query": "agent tools memory backup", "limit": 1})), context()).await.expect("told");
    assert_eq!(places(&one).len(), 1);
}

#[tokio::test]
async fn only_what_changed_is_read_again() {
    let papers = Arc::new(Papers::default());
    papers.put("docs/a.md", "# A\napple\n");
    papers.put("docs/b.md", "# B\nbanana\n");
    let tool = tool(&papers);
    search(&tool, "apple").await;
    search(&tool, "banana").await;
    assert_eq!(*papers.reads.lock().expect("whole"), ["docs/a.md", "docs/b.md"]);
    papers.put("docs/b.md", "# B\ncherry\n");
    assert_eq!(places(&search(&tool, "cherry").await), ["docs/b.md:2 B"]);
    assert!(places(&search(&tool, "banana").await).is_empty());
    assert_eq!(papers.reads.lock().expect("whole").len(), 3);
    papers.files.lock().expect("whole").clear();
    let gone = tool.call(object(&json!({"query": "cherry"})), context()).await.expect_err("gone");
    assert_eq!((gone.code, gone.message.as_str()), ("folder_unreadable", "the folder `docs` does not exist"));
}

#[test]
fn the_folder_is_checked() {
    let maker = DocsMaker::new(Arc::new(Papers::default()));
    let check = |settings: Value, message: &str| {
        let fault = maker.make(&object(&settings)).err().expect("refused");
        assert_eq!(fault.message, message);
        assert!(fault.help.is_some());
    };
    check(json!({}), "`folder` is missing");
    check(json!({"folder": 1}), "`folder` must be a text");
    check(json!({"folder": "doc"}), "`folder = \"doc\"` does not exist");
    let inside = "`folder` must be a folder inside the project, with `/` between folders and no hidden one";
    for folder in ["", "/", "/etc", "..", "docs/..", "./docs", ".temp", "docs//a", "C:\\docs", "docs\u{0}"] {
        check(json!({"folder": folder}), inside);
    }
    check(json!({"foldr": "docs"}), "unknown setting `foldr` of tool `search_docs`");
}
