"""Prompt sets of chats and request logs: shown with roles and turns; a file made to hurt gets a sentence and a 4xx."""

from __future__ import annotations

import json

import pytest

from webapp.registry.models import Dataset
from webapp.uploads.models import Upload

TALK = {"id": "t", "turns": ["Hello there", "And now?"], "category": "small talk"}
ASKED = {
    "id": "m",
    "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "<b>Rain?</b>"}],
    "tools": [{"type": "function", "function": {"name": "weather"}}],
    "max_tokens": 9,
    "timestamp": 1767323046,
}


def post(world, address="", **body):
    return world.api(world.bob).post(f"/api/v1/datasets/{address}", body)


def kept(world, *rows):
    text = "\n".join(map(json.dumps, rows))
    answer = post(world, name="chats", file_name="chats.jsonl", text=text)
    assert answer.status_code == 201, answer.json()
    return answer.json()["id"]


def test_a_conversation_has_a_prompt_for_each_turn_and_a_request_keeps_its_tools_time_and_length(world):
    found = kept(world, TALK)
    first, later = world.api(world.victor).get(f"/api/v1/datasets/{found}/prompts/").json()["results"]
    assert (first["id"], first["turn"], first["follows"]) == ("t", 1, "")
    assert (later["id"], later["turn"], later["follows"], later["category"]) == ("t#2", 2, "t", "small talk")
    assert later["messages"] == [{"role": "user", "content": "And now?"}]
    found = kept(world, ASKED)
    [prompt] = world.api(world.victor).get(f"/api/v1/datasets/{found}/prompts/").json()["results"]
    assert (prompt["tools"], prompt["at"], prompt["max_tokens"]) == (ASKED["tools"], 1767323046.0, 9)
    assert prompt["messages"] == ASKED["messages"]
    shown = world.page(world.victor).get(f"/datasets/{found}/").content.decode()
    assert "system" in shown and "Be kind." in shown and "1 tool<" in shown
    assert "<b>Rain?" not in shown and "&lt;b&gt;Rain?" in shown  # no markup of the file
    assert post(world, name="n", file_name="c.jsonl", text=json.dumps(TALK), form="chat-as-text").status_code == 201
    prompt = Dataset.objects.get(name="n").prompts.get()
    assert (prompt.text, prompt.chat) == ("Hello there", None)


DEEP = '{"messages": [{"role": "user", "content": "a"}], "tools": [' + '{"a":' * 900 + "1" + "}" * 900 + "]}"


@pytest.mark.parametrize(
    "text",
    [
        '{"messages": ' + "[" * 50_000,
        DEEP,
        '{"messages": [{"role": "user", "content": "a\\u0000"}]}',
        '{"messages": [{"role": "user", "content": "a"}], "timestamp": "0001-01-01T00:00:00+23:59"}',
        '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "tool_calls": '
        '[{"function": {"name": "f", "arguments": "' + "[" * 50_000 + '"}}]}, {"role": "tool", "content": {}}]}',
    ],
)
def test_a_file_made_to_hurt_gets_a_sentence_and_leaves_nothing(world, text):
    answer = post(world, name="n", file_name="c.jsonl", text=text)
    assert 400 <= answer.status_code < 500, answer.content[:300]
    assert answer.json()["detail"].count("c.jsonl") == 1
    assert not Dataset.objects.exists() and not Upload.objects.exists()
