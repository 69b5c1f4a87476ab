
"use strict";
const $ = (id) => document.getElementById(id);
document.documentElement.classList.add("scripted");

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// ---- asking ----

function send(path, options = {}) {
  const token = sessionStorage.getItem("token");
  const headers = { ...(options.body && { "content-type": "application/json" }), ...(token && { authorization: "Bearer " + token }) };
  return fetch(path, { ...options, headers });
}

async function refused(response) {
  const body = await response.json().catch(() => ({}));
  const error = new Error(body.error || "the runtime answered " + response.status);
  error.code = body.code;
  if (response.status === 401 || response.status === 403) {
    $("login").hidden = false;
    if (sessionStorage.getItem("token")) $("refusal").textContent = error.message;
  }
  return error;
}

async function ask(path, body) {
  const options = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await send(path, options);
  if (!response.ok) throw await refused(response);
  return response.json();
}

// ---- the list: the server writes it, this page fetches it anew ----

let refreshing = null;
let again = false;
const changed = new Set();

async function fetchPage() {
  const marked = [...changed];
  changed.clear();
  const response = await send("/" + location.search);
  if (!response.ok) throw await refused(response);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const id of ["registry", "waiting", "health", "example"]) $(id).replaceChildren(...fresh.getElementById(id).childNodes);
  for (const id of ["filter", "control", "login"]) {
    if (document.activeElement === null || !$(id).contains(document.activeElement)) $(id).hidden = fresh.getElementById(id).hidden;
  }
  for (const id of marked) card(id)?.classList.add("fresh");
}

function card(id) {
  return document.querySelector("[data-agent=" + CSS.escape(id) + "]");
}

// One request at a time; whatever comes meanwhile is one more.
function refresh(agents = []) {
  for (const agent of agents) changed.add(agent);
  if (refreshing) {
    again = true;
    return refreshing;
  }
  refreshing = fetchPage()
    .catch(() => {})
    .finally(() => {
      refreshing = null;
      if (again) {
        again = false;
        refresh();
      }
    });
  return refreshing;
}

// ---- events ----

const LISTEN_AGAIN = [500, 1000, 2000, 5000, 10000];
const DEAD_AFTER = 40000;
let listening = null;

function tell(state, text) {
  $("live").className = "script " + state;
  $("live").textContent = text;
}

async function read(response, alive) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    alive();
    const frames = (rest + value).split("\n\n");
    rest = frames.pop();
    for (const frame of frames) {
      const lines = frame.split("\n");
      const of = (name) => lines.filter((line) => line.startsWith(name)).map((line) => line.slice(name.length)).join("\n");
      if (of("data: ")) happened(of("event: "), JSON.parse(of("data: ")));
    }
  }
}

// Follows the events until told to stop; a new call takes the place of the one before.
async function listen() {
  listening?.abort();
  const mine = (listening = new AbortController());
  for (let tries = 0; !mine.signal.aborted; tries += 1) {
    const once = new AbortController();
    const stop = () => once.abort();
    mine.signal.addEventListener("abort", stop);
    let watchdog;
    const alive = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, DEAD_AFTER);
    };
    try {
      const response = await send("/admin/events", { signal: once.signal });
      if (!response.ok) {
        const error = await refused(response);
        if (response.status !== 503 && response.status !== 429) return tell("off", "sign in to follow changes");
        if (error.code === "not_available") return tell("off", "files are read at start only");
        throw error;
      }
      tries = 0;
      tell("on", "live");
      alive();
      await read(response, alive);
    } catch {
      // Told below.
    }
    clearTimeout(watchdog);
    mine.signal.removeEventListener("abort", stop);
    if (mine.signal.aborted) return;
    tell("", "reconnecting …");
    await new Promise((wake) => setTimeout(wake, LISTEN_AGAIN[Math.min(tries, LISTEN_AGAIN.length - 1)]));
  }
}

function happened(name, event) {
  if (name === "registry") {
    const shown = document.querySelector("[data-generation]")?.dataset.generation;
    if (shown !== String(event.generation) || $("activity").childElementCount) refresh();
    return;
  }
  if (name === "lost") return refresh();
  refresh((event.changes || []).map((change) => change.agent));
  note(name, event);
}

const KEPT = 12;

function note(name, event) {
  const item = element("li");
  const at = element("time", "", new Date(event.at).toLocaleTimeString());
  at.dateTime = event.at;
  let text = event.problems ? counted(event.problems.length, "problem", "problems") + " in the files" : "";
  if (event.problems && !event.problems.length) text = "no problems any more";
  if (name === "published") text = "generation " + event.generation + ": " + (event.changes.length ? event.changes.slice(0, 5).map(change).join("; ") : "no agent changed");
  if (name === "published" && event.changes.length > 5) text += "; and " + (event.changes.length - 5) + " more";
  item.append(at, element("span", "grow", text));
  if (name === "published") item.append(element("span", "run", event.trigger + ", " + event.took_ms + " ms"));
  add(item);
}

function complain(error) {
  add(element("li", "failed", error.message));
}

function add(item) {
  $("activity").prepend(item);
  while ($("activity").childElementCount > KEPT) $("activity").lastElementChild.remove();
  $("happened").hidden = false;
}

function counted(number, one, many) {
  return number + " " + (number === 1 ? one : many);
}

function change({ agent, kind, keys }) {
  return agent + " " + kind + (keys.length ? " (" + keys.join(", ") + ")" : "");
}

// ---- what an operator does ----

$("reload").onclick = async () => {
  $("reload").disabled = true;
  try {
    await ask("/admin/reload", {});
    await refresh();
  } catch (error) {
    complain(error);
  } finally {
    $("reload").disabled = false;
  }
};

async function pin(agent, fingerprint) {
  await ask("/admin/agents/" + encodeURIComponent(agent) + "/pin", { fingerprint });
  await refresh([agent]);
}

async function showHistory(agent) {
  $("past-of").textContent = agent;
  $("past-note").textContent = "";
  $("past-note").className = "";
  $("entries").replaceChildren();
  if (!$("past").open) $("past").showModal();
  const [history, registry] = await Promise.all([
    ask("/admin/agents/" + encodeURIComponent(agent) + "/history?limit=100"),
    ask("/admin/registry"),
  ]);
  const served = registry.agents.find((one) => one.id === agent)?.fingerprint;
  const seen = new Set();
  let run = history.entries[0]?.run;
  const rows = [];
  for (const entry of history.entries) {
    if (entry.run !== run) rows.push(element("li", "run", "before the last start"));
    if (entry.run !== run) run = entry.run;
    rows.push(past(agent, entry, history.pinned, served, !seen.has(entry.fingerprint)));
    seen.add(entry.fingerprint);
  }
  if (!rows.length) $("past-note").textContent = "Nothing is written down yet.";
  $("entries").replaceChildren(...rows);
}

// A row of the history; a version is offered where it stands first.
function past(agent, entry, pinned, served, first) {
  const item = element("li");
  const at = element("time", "", new Date(entry.at).toLocaleString());
  at.dateTime = entry.at;
  const code = element("code", "", entry.fingerprint.slice(0, 12));
  code.title = entry.fingerprint;
  const text = element("span", "grow", "generation " + entry.generation + ": " + entry.change + (entry.keys.length ? " (" + entry.keys.join(", ") + ")" : "") + " ");
  text.append(code);
  item.append(at, text);
  if (!first) return item;
  if (entry.fingerprint === served) item.append(element("span", "state serving", "served now"));
  const isPinned = entry.fingerprint === pinned;
  const button = element("button", "", isPinned ? "Unpin" : "Pin");
  button.title = isPinned ? "Serve the file again" : "Serve this version until it is unpinned";
  button.onclick = () => act(agent, () => pin(agent, isPinned ? null : entry.fingerprint));
  item.append(button);
  return item;
}

async function act(agent, wish) {
  try {
    await wish();
    await showHistory(agent);
  } catch (error) {
    $("past-note").textContent = error.message;
    $("past-note").className = "failed";
  }
}

$("close").onclick = () => $("past").close();
$("registry").onclick = (event) => {
  const target = event.target.closest("[data-act]");
  if (!target) return;
  event.preventDefault();
  const agent = target.closest("[data-agent]").dataset.agent;
  if (target.dataset.act === "talks") showThreads(agent);
  if (target.dataset.act === "history") act(agent, () => {});
  if (target.dataset.act === "unpin") pin(agent, null).catch(complain);
};

// ---- filter ----

let typing;
$("filter").oninput = () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    const words = new FormData($("filter")).get("q").trim();
    history.replaceState(null, "", words ? "/?" + new URLSearchParams({ q: words }) : "/");
    refresh();
  }, 150);
};
$("filter").onsubmit = (event) => event.preventDefault();

// ---- conversations ----

async function showThreads(agent) {
  $("reading").hidden = false;
  $("whose").textContent = agent;
  $("messages").replaceChildren();
  const query = new URLSearchParams({ resourceId: agent, agentId: agent, perPage: "50" });
  try {
    const page = await ask("/api/memory/threads?" + query);
    const rows = page.threads.map((thread) => {
      const item = element("li");
      const button = element("button", "", thread.title || thread.id);
      button.onclick = () => showMessages(agent, thread, button).catch(complain);
      item.append(button);
      return item;
    });
    $("threads").replaceChildren(...(rows.length ? rows : [element("li", "empty", "None yet.")]));
  } catch (error) {
    $("threads").replaceChildren(element("li", "empty", error.message));
  }
  $("reading").scrollIntoView({ behavior: "smooth" });
}

function words(message) {
  const calls = message.content.parts.filter((part) => part.type === "tool-invocation");
  const lines = calls.map((part) => part.toolInvocation.toolName + "(" + JSON.stringify(part.toolInvocation.args) + ")");
  if (message.content.content) lines.push(message.content.content);
  return lines.join("\n");
}

async function showMessages(agent, thread, button) {
  for (const other of $("threads").querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  button.setAttribute("aria-current", "true");
  const query = new URLSearchParams({ resourceId: agent, agentId: agent });
  const page = await ask("/api/memory/threads/" + encodeURIComponent(thread.id) + "/messages?" + query);
  const rows = page.messages.map((message) => {
    const item = element("li", message.role);
    const status = message.content.metadata && message.content.metadata.status;
    item.append(element("b", "", message.role + (status ? " · " + status : "")), words(message));
    return item;
  });
  $("messages").replaceChildren(...(rows.length ? rows : [element("li", "empty", "Nothing was said.")]));
}

// ---- begin ----

async function begin() {
  $("leave").hidden = !sessionStorage.getItem("token");
  const token = sessionStorage.getItem("token");
  if (token) await refresh();
  if ($("login").hidden) return listen();
  tell("off", "sign in to follow changes");
  if (token) $("refusal").textContent = "This token is not known here, or lacks the scope admin.";
}

$("login").onsubmit = (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value);
  $("token").value = "";
  document.activeElement?.blur();
  begin();
};
$("leave").onclick = () => {
  sessionStorage.removeItem("token");
  location.replace("/");
};
begin();
