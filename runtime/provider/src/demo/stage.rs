//! Parts in an orchestration: what the script says as a researcher, a writer or a reviewer.

use super::words::{Language, clipped};

/// Characters of another stage's words that are repeated.
const MOST_REPEATED: usize = 400;

/// A prompt that gives the model a role and a task, cut into its sections.
pub(super) struct Stage<'a> {
    role: &'a str,
    sections: Vec<(&'a str, &'a str)>,
}

impl<'a> Stage<'a> {
    /// The stage a question describes, if it does.
    pub(super) fn of(question: &'a str) -> Option<Self> {
        let role = question.strip_prefix("You are the ")?.split_whitespace().next()?;
        let mut sections = Vec::new();
        for part in question.split("\n## ").skip(1) {
            let (title, words) = part.split_once('\n').unwrap_or((part, ""));
            // The prompt's own last sentence stands behind an empty line.
            sections.push((title, words.split("\n\n").next().unwrap_or(words).trim()));
        }
        let stage = Self { role, sections };
        stage.section("Task").is_some().then_some(stage)
    }

    /// What is asked.
    pub(super) fn task(&self) -> &'a str {
        self.section("Task").unwrap_or_default()
    }

    fn section(&self, title: &str) -> Option<&'a str> {
        self.sections.iter().find(|(name, _)| *name == title).map(|(_, words)| *words)
    }

    /// What the script says in this role.
    pub(super) fn answer(&self, language: Language) -> String {
        let task = clipped(self.task(), MOST_REPEATED);
        if let Some(draft) = self.section("Draft") {
            return review(draft, language);
        }
        if self.section("Your draft").is_some() {
            return self.text(&task, language, language.choose("second", "第二"));
        }
        if self.notes().is_empty() {
            return language.choose(
                format!(
                    "As the {}, I note the task: {task}. I am a script without knowledge of my own, so this is all.",
                    self.role
                ),
                format!("作为{}，我记下了任务：{task}。我只是脚本，没有自己的知识，所以只有这些。", self.role),
            );
        }
        self.text(&task, language, language.choose("first", "第一"))
    }

    /// What others found.
    fn notes(&self) -> Vec<&'a str> {
        self.sections.iter().filter(|(name, _)| name.starts_with("From the ")).map(|(_, words)| *words).collect()
    }

    fn text(&self, task: &str, language: Language, which: &str) -> String {
        let notes = clipped(&self.notes().join(" "), MOST_REPEATED);
        language.choose(
            format!("This is the {which} draft of the demonstration for the task: {task}\n\nIt rests on these notes: {notes}"),
            format!("这是演示程序为任务写的{which}稿：{task}\n\n依据的笔记：{notes}"),
        )
    }
}

/// The answer to a prompt that hands over what others found, all of it named; `None`: it is no such prompt.
pub(super) fn put_together(question: &str, language: Language) -> Option<String> {
    let (opening, found) = question.split_once("\n## From the ")?;
    if !opening.starts_with("These are the answers") {
        return None;
    }
    let lines = found.split("\n## From the ").map(|part| {
        let (role, words) = part.split_once('\n').unwrap_or((part, ""));
        let words = words.split("\n\nPut them together").next().unwrap_or(words);
        format!("- {role}: {}", clipped(words, MOST_REPEATED))
    });
    let intro = language.choose("What the others found, side by side:", "其他人的结果汇总如下：");
    Some(format!("{intro}\n{}", lines.collect::<Vec<_>>().join("\n")))
}

/// The script asks for a revision once, to show one.
fn review(draft: &str, language: Language) -> String {
    let read = draft.chars().count();
    language.choose(
        format!("I read {read} characters. A script cannot judge; it asks for one revision to show how that works.\n\nVERDICT: revise"),
        format!("我读了 {read} 个字。脚本无法评判，这里只要求修改一次，以展示流程。\n\nVERDICT: revise"),
    )
}
