// A model server in the OpenAI form that calls what the question says: `call NAME {json}`; otherwise it repeats what it
// was told last. Prints its address.
import { createServer } from "node:http";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += piece;
  const { messages, tools = [] } = JSON.parse(body);
  const last = messages.at(-1);
  const wanted = last.role === "user" && /^call (\S+) (\{.*\})$/s.exec(last.content);
  const message = wanted
    ? { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: wanted[1], arguments: wanted[2] } }] }
    : { role: "assistant", content: last.content === "tools" ? tools.map((tool) => tool.function.name).join(" ") : `told: ${last.content}` };
  const answer = { id: "x", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message, finish_reason: wanted ? "tool_calls" : "stop" }] };
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/v1`));
