//! What the demonstration model says.

use roster_model::message::ToolResult;
use roster_model::provider::{Completion, PromptMessage};
use serde_json::Value;

use super::ask::{Call, Wanted, wanted};
use super::facts::Facts;
use super::stage::{Stage, put_together};
use super::user_text;
use super::words::{Language, clipped, has_any, has_word};

/// Earlier lines listed at most.
const MOST_LINES: usize = 10;
/// Characters of a result that are repeated.
const MOST_RESULT: usize = 2000;

/// An answer: thinking for the model that shows it, then words or calls.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) reasoning: String,
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
}

/// The answer to a context; the same one each time.
pub(super) fn reply_to(completion: &Completion) -> Reply {
    let lines: Vec<String> = completion
        .messages
        .iter()
        .filter_map(|message| match message {
            PromptMessage::User(parts) => Some(user_text(parts)),
            _ => None,
        })
        .collect();
    let (question, earlier) = lines.split_last().map_or(("", &[][..]), |(last, earlier)| (last.as_str(), earlier));
    let stage = Stage::of(question);
    let question = stage.as_ref().map_or(question, Stage::task);
    let language = Language::of(question);
    // Results are answered in words, never with another call: so no loop of calls can come about.
    if let Some(PromptMessage::Tool(results)) = completion.messages.last() {
        return from_results(results, language);
    }
    if let Some(findings) = put_together(question, language) {
        return said(findings, language);
    }
    match wanted(question, completion) {
        Wanted::Call(call) => calling(call, language),
        Wanted::CityMissing => said(city_missing(language), language),
        Wanted::Nothing => match stage {
            Some(stage) => said(stage.answer(language), language),
            None => in_words(question, earlier, language),
        },
    }
}

fn said(text: impl Into<String>, language: Language) -> Reply {
    Reply { text: text.into(), ..Reply::default() }.thinking(
        language,
        "I am a script, so this is no real thought: I look at the newest question, find no tool that it asks for, and \
         answer in words.",
        "我只是一个脚本，这并不是真正的思考：我看了最新的问题，没有需要调用的工具，所以直接用文字回答。",
    )
}

fn city_missing(language: Language) -> &'static str {
    language.choose(
        "For which city? Ask, for example, \"what is the weather in Berlin?\".",
        "您想查哪个城市的天气？比如可以问：\u{201c}北京的天气怎么样？\u{201d}",
    )
}

fn calling(call: Call, language: Language) -> Reply {
    let name = call.0.clone();
    let reasoning = language.choose(
        format!(
            "I am a script, so this is no real thought: the question asks for what the tool {name} can do. I call it."
        ),
        format!("我只是一个脚本，这并不是真正的思考：这个问题需要用到工具 {name}，我来调用它。"),
    );
    Reply { reasoning, calls: vec![call], ..Reply::default() }
}

impl Reply {
    /// Adds thinking.
    fn thinking(mut self, language: Language, english: &str, chinese: &str) -> Self {
        language.choose(english, chinese).clone_into(&mut self.reasoning);
        self
    }
}

fn from_results(results: &[ToolResult], language: Language) -> Reply {
    let lines: Vec<String> = results.iter().map(|result| result_line(result, language)).collect();
    Reply { text: lines.join("\n"), ..Reply::default() }.thinking(
        language,
        "I am a script, so this is no real thought: the tools have answered, and I put their answers into words.",
        "我只是一个脚本，这并不是真正的思考：工具已经返回结果，我把结果用文字说出来。",
    )
}

fn result_line(result: &ToolResult, language: Language) -> String {
    let name = &result.name;
    let output = in_line(&result.output);
    if result.is_error {
        return language.choose(
            format!("The tool `{name}` failed, so I cannot answer from it. It said: {output}"),
            format!("工具 `{name}` 执行失败，所以我无法据此回答。它返回：{output}"),
        );
    }
    language.choose(format!("The tool `{name}` answered: {output}"), format!("工具 `{name}` 的结果：{output}"))
}

/// A result in a line: text as it is, an object as `name: value` pairs.
fn in_line(value: &Value) -> String {
    let line = match value {
        Value::String(text) => text.clone(),
        Value::Object(map) if map.get("results").is_some_and(Value::is_array) => passages(&map["results"]),
        Value::Object(map) => {
            map.iter().map(|(name, value)| format!("{name}: {}", scalar(value))).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    };
    clipped(&line, MOST_RESULT)
}

/// What was found in documents: where, and the beginning of each.
fn passages(found: &Value) -> String {
    let one = |passage: &Value| {
        let text = |key: &str| passage[key].as_str().unwrap_or_default().to_owned();
        format!("{} ({}): {}", text("file"), text("heading"), clipped(&text("text"), 300))
    };
    let found: Vec<String> = found.as_array().into_iter().flatten().take(3).map(one).collect();
    if found.is_empty() { "nothing was found".to_owned() } else { found.join("; ") }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn in_words(question: &str, earlier: &[String], language: Language) -> Reply {
    let told = Facts::of([question]);
    let known = Facts::of(earlier.iter().map(String::as_str));
    if told.is_empty() && asks_name(question) {
        return said(name_answer(&known, earlier, language), language);
    }
    if told.is_empty() && asks_place(question) {
        return said(place_answer(&known, earlier, language), language);
    }
    if told.is_empty() && asks_memory(question) {
        return said(memory_answer(&known, earlier, language), language);
    }
    if !told.is_empty() {
        return said(noted(&told, language), language);
    }
    said(introduction(question, language), language)
}

fn asks_name(question: &str) -> bool {
    has_any(question, &["my name", "who am i", "我叫什么", "我的名字", "我是谁", "叫什么名字"])
}

fn asks_place(question: &str) -> bool {
    has_any(question, &["where do i live", "where i live", "我住在哪", "我住哪"])
}

fn asks_memory(question: &str) -> bool {
    let phrases =
        ["what did i", "what have i", "do you remember", "之前说", "我说过什么", "我说了什么", "记得", "刚才说"];
    has_any(question, &phrases) || (has_word(question, &["remember"]) && question.contains('?'))
}

fn name_answer(known: &Facts, earlier: &[String], language: Language) -> String {
    match &known.name {
        Some(name) => language.choose(
            format!("Your name is {name}: you said so earlier in this conversation."),
            format!("您叫{name}，这是您在之前的对话里说的。"),
        ),
        None => nothing_found(language.choose("your name", "您的名字"), earlier, language),
    }
}

fn place_answer(known: &Facts, earlier: &[String], language: Language) -> String {
    match &known.place {
        Some(place) => language.choose(
            format!("You live in {place}: you said so earlier in this conversation."),
            format!("您住在{place}，这是您在之前的对话里说的。"),
        ),
        None => nothing_found(language.choose("where you live", "您住在哪里"), earlier, language),
    }
}

fn memory_answer(known: &Facts, earlier: &[String], language: Language) -> String {
    if earlier.is_empty() {
        return nothing_found(language.choose("anything you said before", "您之前说过的话"), earlier, language);
    }
    let mut answer = String::new();
    if let Some(name) = &known.name {
        answer.push_str(&language.choose(format!("Your name is {name}. "), format!("您叫{name}。")));
    }
    if let Some(place) = &known.place {
        answer.push_str(&language.choose(format!("You live in {place}. "), format!("您住在{place}。")));
    }
    answer.push_str(&list(earlier, language));
    answer
}

fn nothing_found(what: &str, earlier: &[String], language: Language) -> String {
    if earlier.is_empty() {
        return language.choose(
            format!("My context holds nothing before this question, so I cannot know {what}."),
            format!("在这个问题之前，我的上下文里没有任何内容，所以我无法知道{what}。"),
        );
    }
    let list = list(earlier, language);
    language.choose(
        format!("I find nothing in my context that tells me {what}. {list}"),
        format!("我的上下文里找不到{what}。{list}"),
    )
}

fn list(earlier: &[String], language: Language) -> String {
    let newest = &earlier[earlier.len().saturating_sub(MOST_LINES)..];
    let lines: Vec<String> = newest.iter().map(|line| format!("\n- {}", clipped(line, 200))).collect();
    let intro = language.choose("Earlier in my context you said:", "在我的上下文里，您之前说过：");
    format!("{intro}{}", lines.concat())
}

fn noted(told: &Facts, language: Language) -> String {
    let about = match (&told.name, &told.place) {
        (Some(name), Some(place)) => language.choose(format!("{name} from {place}"), format!("住在{place}的{name}")),
        (Some(fact), None) | (None, Some(fact)) => fact.clone(),
        (None, None) => String::new(),
    };
    language.choose(
        format!(
            "Noted: {about}. I keep nothing myself; if this agent has memory, ask me later and I will find it there."
        ),
        format!("好的，{about}。我自己什么都不保存；如果这个智能体有记忆，稍后再问我，我会从上下文里找到它。"),
    )
}

fn introduction(question: &str, language: Language) -> String {
    let greeting = language.choose("Hello!", "您好！");
    let heard = clipped(question, 200);
    let repeated = match (heard.is_empty(), language) {
        (true, _) => String::new(),
        (false, Language::English) => format!(" You said: \"{heard}\""),
        (false, Language::Chinese) => format!("您说的是：\u{201c}{heard}\u{201d}。"),
    };
    language.choose(
        format!(
            "{greeting} I am Roster's built-in demonstration: a script, not a language model, so I cannot really answer. \
             I can call this agent's tools (try the time, or the weather in a city), and repeat what my context holds \
             (tell me your name, then ask for it). For a real model, set `default` under `[models]` in \
             `config/runtime.toml`, or `ROSTER_MODEL`, to one such as `openai/gpt-4o-mini`.{repeated}"
        ),
        format!(
            "{greeting}我是 Roster 内置的演示程序：只是脚本，不是语言模型，所以无法真正回答问题。我可以调用这个智能体的工具\
             （可以问问时间，或某个城市的天气），也能复述上下文里的内容（先告诉我您的名字，再问我）。要使用真正的模型，请在 \
             `config/runtime.toml` 的 `[models]` 里设置 `default`，或设置环境变量 `ROSTER_MODEL`，例如 `openai/gpt-4o-mini`。{repeated}"
        ),
    )
}
