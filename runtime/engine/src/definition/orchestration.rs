//! The `[orchestration]` of a definition: a fixed pattern in which an agent works with others.

use std::time::Duration;

use roster_model::id::AgentId;

use super::table::Checker;
use super::view::View;

/// The name of the tool call that stands for a whole orchestration in events and stored messages. No model makes it, and
/// no model is shown it.
pub const ORCHESTRATE: &str = "orchestrate";

/// The role whose stage judges what the stage before it wrote.
pub const REVIEWER: &str = "reviewer";

/// How long a stage may take when the definition says nothing.
pub const STAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// The most stages of one agent.
pub const MOST_STAGES: usize = 8;

/// How an agent works with others.
#[derive(Debug, Clone, PartialEq)]
pub struct Orchestration {
    /// In which order, and who decides it.
    pub pattern: Pattern,
    /// Who does what, in order. May be empty only of [`Pattern::Delegate`].
    pub stages: Vec<Stage>,
    /// After this a stage is given up and the others go on.
    pub stage_timeout: Duration,
}

/// Who decides which agent works when.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// The model.
    Delegate,
    /// All stages at once; the agent's own model puts together what they say.
    Parallel,
    /// One after the other, each given what those before it said; a reviewer may have the draft written anew once.
    Pipeline,
}

impl Pattern {
    /// The word written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Delegate => "delegate",
            Self::Parallel => "parallel",
            Self::Pipeline => "pipeline",
        }
    }
}

/// One part of the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// What it is called in prompts and results.
    pub role: String,
    /// Who does it.
    pub agent: AgentId,
}

impl Stage {
    /// Whether it judges instead of writing.
    #[must_use]
    pub fn reviews(&self) -> bool {
        self.role.eq_ignore_ascii_case(REVIEWER)
    }
}

/// The orchestration of a checked tree, if any.
pub(super) fn orchestration_of(root: View<'_, '_>) -> Option<Orchestration> {
    let table = root.table("orchestration")?;
    Some(Orchestration {
        pattern: match table.text("pattern")? {
            "parallel" => Pattern::Parallel,
            "pipeline" => Pattern::Pipeline,
            _ => Pattern::Delegate,
        },
        stages: table.tables("stages").into_iter().filter_map(|(one, _)| stage_of(one)).collect(),
        stage_timeout: table.duration("stage_timeout").unwrap_or(STAGE_TIMEOUT),
    })
}

fn stage_of(stage: View<'_, '_>) -> Option<Stage> {
    Some(Stage { role: stage.text("role")?.to_owned(), agent: AgentId::new(stage.text("agent")?).ok()? })
}

/// Where the agents of the stages stand, in the order of [`Orchestration::stages`].
pub(super) fn stage_agents(root: View<'_, '_>) -> Vec<std::ops::Range<usize>> {
    let stages = root.table("orchestration").map(|table| table.tables("stages")).unwrap_or_default();
    let named = stages.into_iter().filter(|(stage, _)| stage_of(*stage).is_some());
    named.map(|(stage, whole)| stage.span("agent").unwrap_or(whole)).collect()
}

/// What the shape of the keys cannot say.
pub(super) fn check_orchestration(root: View<'_, '_>, checker: &mut Checker<'_>) {
    let Some(table) = root.table("orchestration") else { return };
    let Some(pattern) = table.text("pattern") else { return };
    let stages = table.tables("stages");
    let has_agents = !root.texts("agents").is_empty();
    match (pattern, stages.is_empty()) {
        ("delegate", true) if !has_agents => {
            let span = table.span("pattern").unwrap_or_default();
            let problem = checker.error("missing_stages", span, "there is nobody to delegate to");
            problem.help =
                Some("list agents under `agents`, or give `stages = [{ role = \"…\", agent = \"…\" }]`".to_owned());
        }
        ("parallel" | "pipeline", true) if table.node("stages").is_none() => {
            let span = table.span("pattern").unwrap_or_default();
            let message = format!("`orchestration.stages` is missing: `{pattern}` has nothing to run");
            checker.error("missing_stages", span, message).help =
                Some("add stages = [{ role = \"…\", agent = \"…\" }]".to_owned());
        }
        _ => {}
    }
    check_stages(root, pattern, &stages, checker);
    if let ("pipeline", Some(span)) = (pattern, root.key_span("output_schema")) {
        let message = "`output_schema` has no use here: the answer of a pipeline is its last stage's draft";
        checker.error("output_of_pipeline", span, message).help =
            Some("put it into the definition of the agent that writes the last draft".to_owned());
    }
    if let ("pipeline", Some(span)) = (pattern, root.span("agents").filter(|_| has_agents)) {
        let message = "`agents` are never called: a pipeline asks its stages only";
        checker.warning("unused", span, message).help =
            Some("take them out, or use pattern = \"delegate\" or \"parallel\"".to_owned());
    }
}

fn check_stages(
    root: View<'_, '_>,
    pattern: &str,
    stages: &[(View<'_, '_>, std::ops::Range<usize>)],
    checker: &mut Checker<'_>,
) {
    if let Some((_, span)) = stages.get(MOST_STAGES) {
        let message = format!("`orchestration.stages` has {} stages; the most is {MOST_STAGES}", stages.len());
        checker.error("out_of_range", span.clone(), message);
    }
    let mut roles: Vec<&str> = Vec::new();
    for (at, (stage, span)) in stages.iter().enumerate() {
        if let Some(role) = stage.text("role") {
            if roles.contains(&role) {
                let place = stage.span("role").unwrap_or_default();
                let message = format!("role `{role}` stands twice in `orchestration.stages`");
                checker.error("bad_stage", place, message).help = Some("give each stage a role of its own".to_owned());
            }
            roles.push(role);
            if at == 0 && pattern == "pipeline" && role.eq_ignore_ascii_case(REVIEWER) {
                let problem =
                    checker.error("bad_stage", span.clone(), "a reviewer comes first and has nothing to review");
                problem.help = Some("put the stage whose work it reviews before it".to_owned());
            }
        }
        if let (Some(agent), Some(id)) = (stage.text("agent"), root.text("id"))
            && agent == id
        {
            let place = stage.span("agent").unwrap_or_default();
            let problem = checker.error("bad_stage", place, format!("agent `{id}` is a stage of itself"));
            problem.help = Some("a stage is done by another agent".to_owned());
        }
    }
}
