// A small real language model behind the OpenAI form on loopback, one thread. Prints its address.
// usage: node server.mjs FILE.gguf
// `GET /seen` counts the answers: begun, done, and left by the client before their end.
import { createServer } from "node:http";
import { LlamaChat, getLlama } from "node-llama-cpp";

// More threads than free cores stall at the engine's barriers.
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: "error" });
const model = await llama.loadModel({ modelPath: process.argv[2] });
const context = await model.createContext({ contextSize: 2048, threads: 1 });
const chat = new LlamaChat({ contextSequence: context.getSequence() });
const seen = { begun: 0, done: 0, left: 0 };
let busy = Promise.resolve();

function history(messages) {
  return messages.map(({ role, content }) => {
    const text = typeof content === "string" ? content : content.map((part) => part.text).join("");
    return role === "assistant" ? { type: "model", response: [text] } : { type: role, text };
  });
}

async function answer(body, onTextChunk, signal) {
  const chatHistory = history(body.messages);
  const prompt = chat.chatWrapper.generateContextState({ chatHistory }).contextText.tokenize(model.tokenizer).length;
  let tokens = 0;
  const { response, metadata } = await chat.generateResponse(chatHistory, {
    temperature: 0,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? 200,
    onTextChunk,
    onToken: (some) => (tokens += some.length),
    signal,
    stopOnAbortSignal: true,
  });
  const usage = { prompt_tokens: prompt, completion_tokens: tokens, total_tokens: prompt + tokens };
  return { text: response, finish: metadata.stopReason === "maxTokens" ? "length" : "stop", usage };
}

// What both forms of an answer begin with.
function envelope(body, object, rest) {
  return JSON.stringify({ id: "x", object, created: 1, model: body.model, ...rest });
}

async function complete(request, response) {
  let sent = "";
  for await (const piece of request) sent += piece;
  const body = JSON.parse(sent);
  const left = new AbortController();
  response.on("close", () => response.writableFinished || left.abort());
  const frame = (rest) => response.write(`data: ${envelope(body, "chat.completion.chunk", rest)}\n\n`);
  const piece = (delta, finish_reason = null) => frame({ choices: [{ index: 0, delta, finish_reason }] });
  seen.begun += 1;
  if (body.stream) response.writeHead(200, { "content-type": "text/event-stream" });
  const { text, finish, usage } = await answer(body, body.stream ? (content) => piece({ content }) : undefined, left.signal);
  if (left.signal.aborted) {
    seen.left += 1;
    return;
  }
  seen.done += 1;
  if (!body.stream) {
    const message = { role: "assistant", content: text };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(envelope(body, "chat.completion", { choices: [{ index: 0, message, finish_reason: finish }], usage }));
    return;
  }
  piece({}, finish);
  if (body.stream_options?.include_usage) frame({ choices: [], usage });
  response.end("data: [DONE]\n\n");
}

const server = createServer((request, response) => {
  if (request.url === "/seen") return response.end(JSON.stringify(seen));
  // One sequence, one answer at a time.
  busy = busy.then(() => complete(request, response)).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
