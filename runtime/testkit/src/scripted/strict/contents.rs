//! Where Gemini refuses a request.

use serde_json::Value;

use super::{known, list, named};

const FIELDS: [&str; 8] = [
    "contents",
    "systemInstruction",
    "tools",
    "toolConfig",
    "generationConfig",
    "safetySettings",
    "cachedContent",
    "labels",
];
const GENERATION: [&str; 12] = [
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "stopSequences",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
    "thinkingConfig",
    "responseMimeType",
    "responseJsonSchema",
    "mediaResolution",
];

/// # Errors
/// The first fault.
pub(super) fn check(body: &Value, path: &str) -> Result<(), String> {
    if path.contains(":streamGenerateContent") && !path.contains("alt=sse") {
        return Err("a stream of events is asked for by alt=sse".to_owned());
    }
    known(body, &FIELDS, "")?;
    known(&body["generationConfig"], &GENERATION, "generation_config.")?;
    let is_new = !path.contains("gemini-2") && !path.contains("gemini-1");
    let thinking = &body["generationConfig"]["thinkingConfig"];
    if thinking.get("thinkingLevel").is_some() && thinking.get("thinkingBudget").is_some() {
        return Err("You can only set one of thinking budget and thinking level.".to_owned());
    }
    if !is_new && thinking.get("thinkingLevel").is_some() {
        return Err("Thinking level is not supported for this model.".to_owned());
    }
    let names = check_tools(body)?;
    if !is_new && !names.is_empty() && body["generationConfig"].get("responseMimeType").is_some() {
        return Err("Function calling with a response mime type: 'application/json' is unsupported".to_owned());
    }
    if body.get("systemInstruction").is_some() && list(&body["systemInstruction"]["parts"]).is_empty() {
        return Err("systemInstruction: must have parts".to_owned());
    }
    check_contents(list(&body["contents"]), is_new && !names.is_empty())
}

fn check_tools(body: &Value) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    for declaration in list(&body["tools"]).iter().flat_map(|tool| list(&tool["functionDeclarations"])) {
        known(declaration, &["name", "description", "parameters", "parametersJsonSchema"], "function_declarations: ")?;
        names.push(named(&declaration["name"])?);
    }
    let allowed = &body["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"];
    if let Some(unknown) = list(allowed).iter().find(|name| !names.iter().any(|known| name == known)) {
        return Err(format!("allowed_function_names: {unknown} is no function declared"));
    }
    Ok(names)
}

fn check_contents(contents: &[Value], must_sign: bool) -> Result<(), String> {
    if contents.is_empty() {
        return Err("contents: contents is not specified".to_owned());
    }
    // Only calls since the person spoke are looked at.
    let person = |content: &Value| list(&content["parts"]).iter().any(|part| part.get("functionResponse").is_none());
    let turn = contents.iter().rposition(|content| content["role"] == "user" && person(content)).unwrap_or(0);
    let mut calls: Vec<&str> = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        let expected = if number % 2 == 0 { "user" } else { "model" };
        if content["role"] != expected {
            return Err(format!("contents[{number}]: roles take turns, expected {expected}"));
        }
        let parts = list(&content["parts"]);
        if parts.is_empty() {
            return Err(format!("contents[{number}].parts: must not be empty"));
        }
        calls = check_parts(parts, &calls).map_err(|fault| format!("contents[{number}]: {fault}"))?;
        let first = parts.iter().find(|part| part.get("functionCall").is_some());
        if must_sign && number > turn && first.is_some_and(|part| part.get("thoughtSignature").is_none()) {
            return Err("Function call is missing a thought_signature in functionCall parts.".to_owned());
        }
    }
    if contents.last().is_some_and(|last| last["role"] == "model") || !calls.is_empty() {
        return Err("Please ensure that the request ends with a user turn".to_owned());
    }
    Ok(())
}

/// The names of the calls, after checking that those before are answered.
fn check_parts<'a>(parts: &'a [Value], before: &[&str]) -> Result<Vec<&'a str>, String> {
    let mut calls = Vec::new();
    let mut answered = Vec::new();
    for part in parts {
        known(
            part,
            &["text", "thought", "thoughtSignature", "functionCall", "functionResponse", "inlineData", "fileData"],
            "part: ",
        )?;
        if let Some(call) = part.get("functionCall") {
            if !call["args"].is_object() {
                return Err("function_call.args: must be an object".to_owned());
            }
            calls.push(named(&call["name"])?);
        } else if let Some(response) = part.get("functionResponse") {
            if !response["response"].is_object() {
                return Err("function_response.response: must be an object".to_owned());
            }
            answered.push(named(&response["name"])?);
        } else if !["text", "inlineData", "fileData"].iter().any(|kind| part.get(*kind).is_some()) {
            return Err("part: required oneof field 'data' must have one initialized field".to_owned());
        }
    }
    if answered != before {
        let fault = "the number of function response parts must be equal to the number of function call parts";
        return Err(format!("Please ensure that {fault} of the function call turn"));
    }
    Ok(calls)
}
