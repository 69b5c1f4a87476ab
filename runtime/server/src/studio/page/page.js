
"use strict";
const $ = (id) => document.getElementById(id);

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

async function ask(path) {
  const token = sessionStorage.getItem("token");
  const headers = token ? { authorization: "Bearer " + token } : {};
  const response = await fetch(path, { headers });
  const body = await response.json();
  if (response.ok) return body;
  $("login").hidden = response.status !== 401 && response.status !== 403;
  if (token) $("refusal").textContent = body.error;
  throw new Error(body.error);
}

function problem(one) {
  const place = one.line ? one.file + ":" + one.line + ":" + one.column : one.file;
  const item = element("li", one.severity, place + ": " + one.message);
  if (one.help) item.append(element("div", "empty", one.help));
  return item;
}

function card(agent) {
  const item = element("li");
  const title = element("h3", "", agent.name || agent.id);
  title.append(element("span", "state " + agent.state, agent.state.replaceAll("_", " ")));
  item.append(title, element("code", "", agent.id));
  if (agent.description) item.append(element("p", "", agent.description));
  if (agent.generation !== null) {
    const facts = [agent.models.join(", "), agent.memory ? "memory: " + agent.memory : "no memory"];
    if (agent.tools.length) facts.push("tools: " + agent.tools.map((tool) => tool.name).join(", "));
    item.append(element("p", "", facts.join(" · ")));
  }
  const problems = element("ul", "problems");
  problems.append(...agent.problems.map(problem));
  item.append(problems);
  if (agent.memory) {
    const button = element("button", "", "Conversations");
    button.onclick = () => showThreads(agent);
    item.append(button);
  }
  return item;
}

async function showThreads(agent) {
  $("reading").hidden = false;
  $("whose").textContent = agent.id;
  $("messages").replaceChildren();
  const query = new URLSearchParams({ resourceId: agent.id, agentId: agent.id, perPage: "50" });
  const page = await ask("/api/memory/threads?" + query);
  const rows = page.threads.map((thread) => {
    const item = element("li");
    const button = element("button", "", thread.title || thread.id);
    button.onclick = () => showMessages(agent, thread);
    item.append(button);
    return item;
  });
  $("threads").replaceChildren(...(rows.length ? rows : [element("li", "empty", "None yet.")]));
  $("reading").scrollIntoView({ behavior: "smooth" });
}

function words(message) {
  const calls = message.content.parts.filter((part) => part.type === "tool-invocation");
  const lines = calls.map((part) => part.toolInvocation.toolName + "(" + JSON.stringify(part.toolInvocation.args) + ")");
  if (message.content.content) lines.push(message.content.content);
  return lines.join("\n");
}

async function showMessages(agent, thread) {
  const query = new URLSearchParams({ resourceId: agent.id, agentId: agent.id });
  const page = await ask("/api/memory/threads/" + encodeURIComponent(thread.id) + "/messages?" + query);
  const rows = page.messages.map((message) => {
    const item = element("li", message.role);
    const status = message.content.metadata && message.content.metadata.status;
    item.append(element("b", "", message.role + (status ? " · " + status : "")), words(message));
    return item;
  });
  $("messages").replaceChildren(...(rows.length ? rows : [element("li", "empty", "Nothing was said.")]));
}

async function show() {
  try {
    const registry = await ask("/admin/registry");
    $("login").hidden = true;
    $("generation").textContent = "generation " + registry.generation;
    const cards = registry.agents.map(card);
    $("agents").replaceChildren(...(cards.length ? cards : [element("li", "empty", "No agent is registered.")]));
    const first = registry.agents.find((agent) => agent.generation !== null);
    if (first) $("example").textContent = first.id;
    $("problems").replaceChildren(...registry.unregistered.concat(registry.problems).map(problem));
  } catch (error) {
    $("agents").replaceChildren(element("li", "empty", error.message));
  }
}

async function health() {
  try {
    const answer = await ask("/health");
    $("health").textContent = answer.status + (answer.problems ? ": " + answer.problems.join(", ") : "");
  } catch {
    $("health").textContent = "not reachable";
  }
}

$("login").onsubmit = (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value);
  show();
};
health();
show();
