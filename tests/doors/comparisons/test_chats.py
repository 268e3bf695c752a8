"""Comparisons of chats: reports by turn, the rendered prompt, the worst prompts."""

from __future__ import annotations

import json

import pytest

from decoding.prompts.prompt import read_prompts
from tests.kit import make
from webapp.comparisons.models import Sample
from webapp.registry import prompt_sets


@pytest.fixture
def talked(by):
    """A comparison of two conversations of two turns, decoded."""
    rows = [{"id": "t", "turns": ["Hello", "Bye"]}, {"id": "u", "turns": ["One", "Two"]}]
    text = "\n".join(map(json.dumps, rows))
    made = make.comparison(by, dataset=prompt_sets.add_dataset(name="t", file_name="t.jsonl", text=text, by=by))
    make.decode_all(made)
    for sample in Sample.objects.select_related("prompt", "run"):
        turn = sample.prompt.turn
        told = {"turn": turn, "conversation": sample.prompt.follows, "answer": f"answer to {sample.prompt.name}"}
        rendered = {"rendered": f"<|user|>{sample.prompt.text}"} if sample.run.strategy == "autoregressive" else {}
        slower = {"decode_ns": sample.numbers["decode_ns"] * (3 if sample.run.strategy == "static" else 1) * turn}
        sample.numbers.update(told | rendered | slower)
        sample.save()
    return made


def test_the_report_is_also_by_turn_and_the_page_shows_a_chat_as_the_target_read_it(world, talked):
    row = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/report/").json()["strategies"][1]
    assert [(turn["turn"], turn["speedup"]["prompts"]) for turn in row["by_turn"]] == [(1, 2), (2, 2)]
    assert row["speedup"]["prompts"] == 2
    page = world.page(world.victor).get(f"/comparisons/{talked.pk}/").content.decode()
    assert "By turn" in page and "Turn 2, " in page and "\\u003C|user|\\u003EBye" in page


def test_the_worst_prompts_are_a_prompt_file_that_stands_alone(world, talked):
    def asked(query):
        return world.script("read").get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl?{query}")

    text = b"".join(asked("strategy=static:4").streaming_content).decode()
    rows = list(map(json.loads, text.splitlines()))
    assert len(rows) == 4 and all(row["speedup"] == pytest.approx(2 / 3, abs=1e-3) for row in rows)
    prompts = {prompt.id: prompt for prompt in read_prompts(text, "worst.jsonl")}
    assert [message["content"] for message in prompts["t#2"].chat.messages] == ["Hello", "answer to t", "Bye"]
    assert b"".join(asked("limit=1").streaming_content).count(b"\n") == 1
    assert (asked("strategy=ssd").status_code, asked("limit=0").status_code) == (400, 400)
