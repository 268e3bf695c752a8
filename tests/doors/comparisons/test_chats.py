"""Comparisons of chats and request logs: recorded arrivals, reports by turn, the rendered prompt, the worst prompts."""

from __future__ import annotations

import json

import pytest

from decoding.core.load import Load
from decoding.prompts.prompt import read_prompts
from tests.kit import make
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.registry import prompt_sets


def of_rows(by, rows, name="log"):
    text = "\n".join(map(json.dumps, rows))
    return prompt_sets.add_dataset(name=name, file_name=f"{name}.jsonl", text=text, by=by)


@pytest.fixture
def log(by):
    asked = [{"role": "user", "content": "a"}]
    return of_rows(by, [{"id": str(n), "messages": asked, "timestamp": 1000 + 2 * n} for n in range(5)])


def post(world, body):
    return world.script("submit").post("/api/v1/comparisons/", body)


def test_a_log_is_replayed_at_the_speeds_that_are_asked_for(world, by, log):
    asked = make.body(make.pair(by), log, recorded=[2, 1], rate=[0.5])
    shown = post(world, asked).json()
    assert [(run["label"], run["rate"], run["recorded"]) for run in shown["runs"]][::2] == [
        ("autoregressive @0.5/s", 0.5, False),
        ("autoregressive @0.5/s recorded", 0.5, True),
        ("autoregressive @1/s recorded", 1.0, True),
    ]
    assert [run.load for run in Run.objects.all()][::2] == [
        Load(rate=0.5), Load(rate=0.5, recorded=True), Load(rate=1.0, recorded=True),
    ]  # fmt: skip
    clone = world.script("submit").post(f"/api/v1/comparisons/{shown['id']}/clone/", {}).json()
    assert [run["label"] for run in clone["runs"]] == [run["label"] for run in shown["runs"]]


def test_a_speed_that_cannot_be_is_refused_at_its_field_and_leaves_nothing(world, by, log):
    pair, plain = make.pair(by), make.dataset(by)
    for prompts, speeds, words in (
        (log, [1, 1], "named twice"),
        (log, [1e-6], "Choose another speed"),
        (log, ["x"], "must be a number"),
        (plain, [1], "3 of 3 prompts have no timestamp"),
    ):
        answer = post(world, make.body(pair, prompts, recorded=speeds))
        assert answer.status_code == 400 and "recorded" in answer.json()["field"]
        assert words in answer.content.decode()
    assert not Comparison.objects.exists()


@pytest.fixture
def talked(by):
    """A comparison of two conversations of two turns, decoded."""
    talks = of_rows(by, [{"id": "t", "turns": ["Hello", "Bye"]}, {"id": "u", "turns": ["One", "Two"]}], "talks")
    made = make.comparison(by, dataset=talks)
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
    shown = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/report/").json()
    row = shown["strategies"][1]
    assert [(turn["turn"], turn["speedup"]["prompts"]) for turn in row["by_turn"]] == [(1, 2), (2, 2)]
    assert row["speedup"]["prompts"] == 2
    page = world.page(world.victor).get(f"/comparisons/{talked.pk}/").content.decode()
    assert "By turn" in page and "Turn 2, " in page
    assert "\\u003C|user|\\u003EBye" in page


def test_the_worst_prompts_are_a_prompt_file_that_stands_alone(world, talked):
    answer = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl?strategy=static:4")
    assert answer.headers["Content-Type"] == "application/jsonl; charset=utf-8"
    text = b"".join(answer.streaming_content).decode()
    rows = list(map(json.loads, text.splitlines()))
    assert len(rows) == 4 and all(row["speedup"] == pytest.approx(2 / 3, abs=1e-3) for row in rows)
    prompts = {prompt.id: prompt for prompt in read_prompts(text, "worst.jsonl")}
    assert [message["content"] for message in prompts["t#2"].chat.messages] == ["Hello", "answer to t", "Bye"]
    limited = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl?limit=1")
    assert b"".join(limited.streaming_content).count(b"\n") == 1
    answer = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl?strategy=ssd")
    assert (answer.status_code, answer.json()["field"]) == (400, "strategy")
    answer = world.script("read").get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl?limit=0")
    assert answer.status_code == 400
    assert world.api(world.charlie).get(f"/api/v1/comparisons/{talked.pk}/worst.jsonl").status_code == 404
