//! What stages are told, and how a reviewer's verdict is read. Pure.

use super::report::{StageReport, Verdict};

/// Bytes of another stage's words handed on; the rest is left out, and that is said.
const MOST_HANDED_ON: usize = 64 * 1024;

/// The words a reviewer ends with.
const VERDICT: &str = "VERDICT:";

/// A stage that writes. `before` is what was done so far, `draft` its own earlier draft with what a reviewer said of it.
pub(super) fn to_write(role: &str, task: &str, before: &[StageReport], draft: Option<(&str, &StageReport)>) -> String {
    let mut prompt = opening(role, task);
    for stage in before {
        section(&mut prompt, &format!("From the {}", stage.role), &words_of(stage));
    }
    match draft {
        Some((draft, review)) => {
            section(&mut prompt, "Your draft", draft);
            section(&mut prompt, &format!("What the {} says", review.role), &review.output);
            prompt.push_str("\nWrite the draft anew, with what the review asks for. Give only the new draft.\n");
        }
        None => prompt.push_str("\nGive only what your role is asked for.\n"),
    }
    prompt
}

/// A stage that judges `draft`.
pub(super) fn to_review(role: &str, task: &str, draft: &str) -> String {
    let mut prompt = opening(role, task);
    section(&mut prompt, "Draft", draft);
    prompt.push_str(
        "\nSay what is wrong, missing or unclear, shortly. End with a line of its own: `VERDICT: approve` when the draft \
         can stay as it is, or `VERDICT: revise` when it must be written anew.\n",
    );
    prompt
}

/// What the agent itself is told of its stages, to put them together.
pub(super) fn to_put_together(stages: &[StageReport]) -> String {
    let mut prompt = "These are the answers of those who worked on the task above:\n".to_owned();
    for stage in stages {
        section(&mut prompt, &format!("From the {}", stage.role), &words_of(stage));
    }
    prompt.push_str("\nPut them together into one answer to the task, in its language.\n");
    prompt
}

/// What a person is told of stages that were not done, below the answer; empty when all were.
pub(super) fn notes(stages: &[StageReport]) -> String {
    let one = |stage: &StageReport| {
        let (role, agent) = (&stage.role, &stage.agent_id);
        format!("\n\nNote: the {role} (`{agent}`) gave no answer: {}.", stage.fault().trim_end_matches('.'))
    };
    stages.iter().filter(|stage| !stage.completed()).map(one).collect()
}

/// The verdict in a review: what stands behind the last `VERDICT:`, whatever its case and marks. `None`: it gives none.
pub(super) fn verdict(review: &str) -> Option<Verdict> {
    let upper = review.to_ascii_uppercase();
    let after = &upper[upper.rfind(VERDICT)? + VERDICT.len()..];
    let word: String = after.chars().skip_while(|c| !c.is_alphabetic()).take_while(char::is_ascii_alphabetic).collect();
    match word.as_str() {
        "APPROVE" | "APPROVED" => Some(Verdict::Approve),
        "REVISE" | "REVISED" | "REJECT" | "REJECTED" => Some(Verdict::Revise),
        _ => None,
    }
}

fn opening(role: &str, task: &str) -> String {
    let mut prompt = format!("You are the {role} in a team that works on the task below. Answer in its language.\n");
    section(&mut prompt, "Task", task);
    prompt
}

fn section(prompt: &mut String, title: &str, words: &str) {
    prompt.push_str(&format!("\n## {title}\n"));
    let cut = words.floor_char_boundary(MOST_HANDED_ON);
    prompt.push_str(words[..cut].trim());
    prompt.push('\n');
    if cut < words.len() {
        prompt.push_str(&format!("(The rest, {} bytes, was left out.)\n", words.len() - cut));
    }
}

fn words_of(stage: &StageReport) -> String {
    if stage.completed() {
        stage.output.clone()
    } else {
        format!("(No answer: {}.)", stage.fault().trim_end_matches('.'))
    }
}
