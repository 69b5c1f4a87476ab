"""Talks through a running Roster to a small real language model: ten turns, streams, usage, leaving in mid-answer.

usage: client.py GATEWAY MODEL        (addresses without a path; MODEL is where `server.mjs` listens)

A model this small knows little, so nothing here asks whether an answer is right.
"""

import json
import sys
import time
import urllib.request

import openai

gateway, model = (address.rstrip("/") for address in sys.argv[1:3])
client = openai.OpenAI(base_url=f"{gateway}/v1", api_key="unused", max_retries=0, timeout=60)

TURNS = [
    "Hello, my name is Ada.",
    "What is the capital of France?",
    "Name a river there.",
    "What do people eat there?",
    "Say something about bread.",
    "How is it baked?",
    "Which flour is best?",
    "Thank you. What should I drink with it?",
    "And for dessert?",
    "Goodbye!",
]


def check(what: str, holds: bool, seen: object = "") -> None:
    if not holds:
        sys.exit(f"failed: {what}; seen: {seen!r}")
    print(f"ok: {what}")


def get(url: str) -> dict:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)


def until(what: str, holds) -> None:
    end = time.monotonic() + 30
    while not holds():
        if time.monotonic() > end:
            sys.exit(f"failed: waited in vain until {what}")
        time.sleep(0.05)
    print(f"ok: {what}")


def post(body: dict):
    data = json.dumps(body).encode()
    request = urllib.request.Request(f"{gateway}/api/chat", data, {"content-type": "application/json"})
    return urllib.request.urlopen(request, timeout=60)


def frames(stream):
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line[len(b"data: ") :])


def ask(text: str, conversation: str) -> dict:
    return {"model": "short", "conversationId": conversation, "messages": [{"role": "user", "content": text}]}


def ten_turns() -> None:
    prompts = []
    for text in TURNS:
        with post(ask(text, "ten")) as stream:
            heard = list(frames(stream))
        pieces = [frame["content"] for frame in heard if frame["type"] == "text"]
        done = heard[-1]["metadata"]
        usage = done["usage"]
        streamed = len(pieces) > 1 and bool("".join(pieces).strip())
        ended = heard[-1]["type"] == "done" and done["finishReason"] in ("stop", "length")
        counted = 0 < usage["outputTokens"] == usage["totalTokens"] - usage["inputTokens"]
        check(f"streamed in {len(pieces)} pieces, with tokens: {text}", streamed and ended and counted, heard)
        prompts.append(usage["inputTokens"])
    check("each prompt carries more of the conversation", prompts == sorted(set(prompts)), prompts)
    rows = get(f"{gateway}/api/conversations/ten/messages")["messages"]
    check("all turns are stored, in order", [row["role"] for row in rows] == ["user", "assistant"] * len(TURNS), rows)


def completions() -> None:
    question = [{"role": "user", "content": "What is the capital of France?"}]
    whole = client.chat.completions.create(model="short", messages=question)
    text = whole.choices[0].message.content or ""
    check("a whole completion has text and tokens", bool(text) and whole.usage.completion_tokens > 0, whole)

    streamed, finish, usage = [], None, None
    asked = {"stream": True, "stream_options": {"include_usage": True}}
    for chunk in client.chat.completions.create(model="short", messages=question, **asked):
        usage = chunk.usage or usage
        for choice in chunk.choices:
            streamed.append(choice.delta.content or "")
            finish = choice.finish_reason or finish
    check("a streamed completion has text", bool("".join(streamed).strip()), streamed)
    check("and an end", finish in ("stop", "length"), finish)
    check("and its tokens", usage is not None and usage.completion_tokens > 0, usage)
    check("of the same prompt", usage.prompt_tokens == whole.usage.prompt_tokens, usage)


def leaving() -> None:
    story = "Tell me a very long story."
    before = get(f"{model}/seen")["left"]
    with client.chat.completions.create(
        model="long", messages=[{"role": "user", "content": story}], stream=True
    ) as stream:
        for chunk in stream:
            if any(choice.delta.content for choice in chunk.choices):
                break
    until("leaving a completion stops the model", lambda: get(f"{model}/seen")["left"] == before + 1)

    with post(ask(story, "left") | {"model": "long"}) as stream:
        said = next(frame["content"] for frame in frames(stream) if frame["type"] == "text")
    until("leaving a chat stops the model", lambda: get(f"{model}/seen")["left"] == before + 2)

    def newest() -> dict:
        return get(f"{gateway}/api/conversations/left/messages")["messages"][-1]

    until("what was said is kept as interrupted", lambda: newest().get("status") == "interrupted")
    kept = newest()["content"]
    check("from its beginning", kept.startswith(said), kept)

    with post(ask("Are you still there?", "left")) as stream:
        done = list(frames(stream))[-1]["metadata"]
    check("the conversation goes on", done["finishReason"] in ("stop", "length"), done)


ten_turns()
completions()
leaving()
counts = get(f"{model}/seen")
check("every answer was finished or left", counts["begun"] == counts["done"] + counts["left"], counts)
