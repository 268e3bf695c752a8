"""Chats on a worker: the engine renders them by the target's template, and turns follow answers even after a crash."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.kit.comparisons import succeeded
from tests.machines.worker.conftest import model, prompts
from webapp.accounts.actor import Actor
from webapp.comparisons import services as comparisons
from webapp.comparisons.models import Sample
from webapp.registry import lengths, prompt_sets
from webapp.registry.models import Dataset, Pair
from worker.jobs import count_tokens

pytestmark = pytest.mark.slow
TEMPLATE = b"{% for m in messages %}{{ 'w1 ' if m.role == 'user' else 'w2 ' }}{{ m.content }} {% endfor %}w2"


@pytest.fixture
def talks(team: Actor) -> Dataset:
    rows = [{"id": f"t{n}", "turns": [f"w{n + 3} w{n + 4}", "w5"]} for n in range(4)]
    text = "\n".join(map(json.dumps, rows))
    return prompt_sets.add_dataset(name="talks", file_name="talks.jsonl", text=text, by=team)


@pytest.fixture
def chatting(team: Actor, checkpoints: dict[str, dict[str, bytes]]) -> Pair:
    """A pair whose target has a chat template."""
    target = model(team, {**checkpoints["target"], "chat_template.jinja": TEMPLATE}, "target")
    return Pair.objects.create(team=team.home, name="chat", target=target, draft=model(team, checkpoints["draft"], "d"))


def test_after_a_crash_later_turns_follow_the_answers_given_before_it(team, chatting, talks, make_worker, engine):
    asked = {"strategies": [{"strategy": "static"}], "sampling": {"max_new_tokens": 8, "ignore_eos": True}}
    comparison = comparisons.launch(name="talks", by=team, pair=chatting, dataset=talks, concurrency=[2], **asked)
    engine.after(10, lambda: os.kill(engine.pid, signal.SIGKILL))
    make_worker().look()
    runs = Sample.objects.filter(run__comparison=succeeded(comparison), run__strategy="autoregressive").finished()
    samples = [sample.numbers for sample in runs]
    read, answered = ({one["prompt"]: one[key] for one in samples} for key in ("rendered", "text"))
    assert len(read) == 8
    assert read["t1"] == "w1 w4 w5 w2"
    for number in range(4):
        assert read[f"t{number}#2"] == read[f"t{number}"] + f" {answered[f't{number}']} w1 w5 w2"


def test_a_worker_counts_with_the_pairs_tokenizer_and_template(team, pair, chatting, talks, make_worker):
    words = prompts(team, ["w1 w2 w3", "w4", *["w5 w6"] * count_tokens.AT_ONCE])  # more than one order's worth
    counted = lengths.count(dataset=words, pair=pair, by=team)
    chats = lengths.count(dataset=talks, pair=chatting, by=team)
    make_worker(queue="light").look()
    assert (succeeded(chats).document["shortest"], chats.document["longest"]) == (3, 4)
    document = succeeded(counted).document
    assert (document["shortest"], document["median"], document["longest"]) == (1, 2, 3)
    assert document["prompt_count"] == count_tokens.AT_ONCE + 2
    assert document["context"]["target"] == document["context"]["draft"] > 3
