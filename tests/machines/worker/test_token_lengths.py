"""Counting a prompt set's tokens with a real tokenizer, in the engine process."""

from __future__ import annotations

from tests.kit.comparisons import succeeded
from tests.machines.worker.conftest import prompts
from webapp.registry import lengths
from worker.jobs import count_tokens


def test_a_worker_counts_with_the_pairs_tokenizer(team, pair, make_worker):
    words = prompts(team, ["w1 w2 w3", "w4", *["w5 w6"] * count_tokens.AT_ONCE])  # more than one order's worth
    counted = lengths.count(dataset=words, pair=pair, by=team)
    make_worker(queue="light").look()
    document = succeeded(counted).document
    assert (document["shortest"], document["median"], document["longest"]) == (1, 2, 3)
    assert document["prompt_count"] == count_tokens.AT_ONCE + 2
    assert document["context"]["target"] == document["context"]["draft"] > 3
