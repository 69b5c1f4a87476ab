"""Talks to a running Roster with the official `openai` package, as any program would.

usage: openai_client.py GATEWAY        (GATEWAY as `roster` prints it: http://127.0.0.1:8787)
"""

import json
import sys
import urllib.request

import openai


def check(what: str, holds: bool, seen: object = "") -> None:
    if not holds:
        sys.exit(f"failed: {what}; seen: {seen!r}")
    print(f"ok: {what}")


def main() -> None:
    gateway = sys.argv[1].rstrip("/")
    client = openai.OpenAI(base_url=f"{gateway}/v1", api_key="unused", max_retries=0, timeout=60)

    models = [model.id for model in client.models.list()]
    check("the agents are listed as models", "chat-agent" in models, models)

    question = [{"role": "user", "content": "Hello, my name is Ada."}]
    whole = client.chat.completions.create(model="chat-agent", messages=question)
    check("a whole answer has text", bool(whole.choices[0].message.content), whole)
    check("a whole answer ends with stop", whole.choices[0].finish_reason == "stop", whole)
    check("a whole answer tells its tokens", whole.usage is not None and whole.usage.total_tokens > 0, whole)

    text, finish, usage = "", None, None
    stream = client.chat.completions.create(
        model="chat-agent", messages=question, stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
    check("a streamed answer has text", bool(text), text)
    check("a streamed answer ends with stop", finish == "stop", finish)
    check("a streamed answer tells its tokens when asked", usage is not None and usage.total_tokens > 0, usage)

    conversation = {"conversation_id": "openai-client"}
    client.chat.completions.create(model="chat-agent", messages=question, extra_body=conversation)
    recalled = client.chat.completions.create(
        model="chat-agent",
        messages=[{"role": "user", "content": "What is my name?"}],
        extra_headers={"X-Conversation-Id": "openai-client"},
    )
    answer = recalled.choices[0].message.content or ""
    check("a named conversation is remembered", "Ada" in answer, answer)

    forgotten = client.chat.completions.create(
        model="chat-agent", messages=[{"role": "user", "content": "What is my name?"}]
    )
    answer = forgotten.choices[0].message.content or ""
    check("a request without a conversation knows nothing", "Ada" not in answer, answer)

    # With the client's own retries: what is stored must not be sent again.
    retrying = client.with_options(max_retries=2)
    for stream in (False, True):
        name = f"failing-{stream}"
        try:
            retrying.chat.completions.create(
                model="failing", messages=question, stream=stream, extra_body={"conversation_id": name}
            )
        except openai.InternalServerError as error:
            check("a failed turn is told with its code", error.code == "provider_unreachable", error.code)
        else:
            sys.exit("failed: a provider that is not there answered")
        with urllib.request.urlopen(f"{gateway}/api/conversations/{name}/messages") as answer:
            rows = [row["role"] for row in json.load(answer)["messages"]]
        check("a failed turn is stored once, whatever the client retries", rows.count("user") == 1, rows)

    try:
        client.chat.completions.create(model="nobody", messages=question)
    except openai.NotFoundError as error:
        check("an unknown model is refused with its code", error.code == "model_not_found", error.code)
    else:
        sys.exit("failed: an unknown model was answered")


main()
