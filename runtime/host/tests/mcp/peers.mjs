// The official TypeScript client against `/mcp`, and official servers below Roster's client.
// usage: node peers.mjs GATEWAY STUDIO PROJECT
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const [gateway, studio, project] = process.argv.slice(2);

async function until(what, condition) {
  const begun = Date.now();
  for (;;) {
    const value = await condition();
    if (value) return value;
    assert.ok(Date.now() - begun < 60_000, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function servers() {
  const { servers } = await (await fetch(`${studio}/admin/mcp`)).json();
  return Object.fromEntries(servers.map((server) => [server.name, server]));
}

async function chat(text) {
  const body = JSON.stringify({ model: "user", messages: [{ role: "user", content: text }] });
  const response = await fetch(`${gateway}/api/chat`, { method: "POST", headers: { "content-type": "application/json" }, body });
  const frames = (await response.text()).split("\n\n").filter(Boolean).map((frame) => JSON.parse(frame.slice("data: ".length)));
  const result = frames.find((frame) => frame.type === "tool_result")?.metadata;
  return { text: frames.filter((frame) => frame.type === "text").map((frame) => frame.content).join(""), result };
}

// --- official servers below our client ---
const ready = await until("the servers are ready", async () => {
  const all = await servers();
  return ["files", "everything", "web"].every((name) => all[name].state === "ready") && all;
});
console.log(Object.values(ready).map((s) => `${s.name}: ${s.server}, ${s.transport}, ${s.protocol}, ${s.tools} tools`).join("\n"));
await until("the agent has their tools", async () => (await chat("tools")).text.includes("web_echo"));

assert.equal((await chat('call everything_echo {"message":"hi"}')).result.result, "Echo: hi");
assert.equal((await chat('call web_echo {"message":"over HTTP"}')).result.result, "Echo: over HTTP");
const structured = (await chat('call everything_get-structured-content {"location":"New York"}')).result.result;
assert.equal(typeof structured.temperature, "number", JSON.stringify(structured));
const image = (await chat("call everything_get-tiny-image {}")).result.result;
assert.ok(image.some((part) => part.type === "image" && part.note), JSON.stringify(image));
const note = join(project, "notes", "a.txt");
assert.ok(JSON.stringify((await chat(`call files_read_text_file ${JSON.stringify({ path: note })}`)).result.result).includes("words of a file"));
const outside = (await chat('call files_read_text_file {"path":"/etc/passwd"}')).result;
assert.ok(outside.error && JSON.stringify(outside.error).includes("denied"), JSON.stringify(outside));
console.log("official servers: tools called over stdio and HTTP, structured content, images, errors");

// --- the official client at our door ---
const client = new Client({ name: "peers", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(`${gateway}/mcp`)));
assert.equal(client.getServerVersion().name, "roster");
const { tools } = await client.listTools();
assert.deepEqual(tools.map((tool) => tool.name), ["keeper"]);

const heard = [];
const first = await client.callTool({ name: "keeper", arguments: { prompt: "My name is Ada." } }, undefined, { onprogress: (progress) => heard.push(progress) });
assert.equal(first.structuredContent.answer, "told: My name is Ada.");
assert.equal(first.content[0].text, first.structuredContent.answer);
const conversation_id = first.structuredContent.conversation_id;
assert.ok(conversation_id.startsWith("thread_"), conversation_id);
const second = await client.callTool({ name: "keeper", arguments: { prompt: "Again.", conversation_id } });
assert.equal(second.structuredContent.conversation_id, conversation_id);
const { messages } = await (await fetch(`${gateway}/api/conversations/${conversation_id}/messages`)).json();
assert.equal(messages.length, 4, "both questions and answers are in the one conversation");

assert.equal((await client.callTool({ name: "keeper", arguments: { prompt: "" } })).isError, true);
await assert.rejects(client.callTool({ name: "nobody", arguments: { prompt: "x" } }), /unknown tool/);

const changed = new Promise((resolve) => client.setNotificationHandler(ToolListChangedNotificationSchema, resolve));
const runtime = join(project, "config", "runtime.toml");
await writeFile(runtime, (await readFile(runtime, "utf8")).replace('agents = ["keeper"]', 'agents = ["keeper", "test_error_handling"]'));
await changed;
assert.deepEqual((await client.listTools()).tools.map((tool) => tool.name), ["keeper", "test_error_handling"]);
await client.close();
console.log("official client: listed, called, continued, told of errors and of changed tools");
