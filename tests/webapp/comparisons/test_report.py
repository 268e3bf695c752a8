"""What a report calls strategies, and what it rests on."""

from __future__ import annotations

import pytest

from tests.webapp import make
from webapp.comparisons.report import names_of, report, so_far
from webapp.jobs import services as jobs


def test_a_classifier_is_named_only_where_nothing_else_tells_strategies_apart():
    labels = ["static:4", "disco:priced,classifier=a5ed7160", "ssd-disco:8,classifier=a5ed7160,branches=8"]
    assert list(names_of(labels).values()) == ["static:4", "disco:priced", "ssd-disco:8,branches=8"]
    two = ["disco:priced,classifier=a5ed7160", "disco:priced,classifier=0badcafe"]
    assert list(names_of(two).values()) == two


@pytest.mark.django_db
def test_while_it_runs_it_counts_the_very_samples_that_it_rests_on(world):
    comparison = make.comparison(world.actor(world.bob))
    job = jobs.claim(worker="w1", queues=["cpu"])
    runs = list(comparison.runs.all())
    prompts = list(comparison.prompts)
    for prompt, some in ((prompts[0], runs), (prompts[1], runs[:1])):
        for run in some:
            make.decode_one(job, run, prompt, 1)
    found = so_far(comparison)
    assert found["samples"] == sum(row["sample_count"] for row in found["strategies"]) == len(runs) + 1


@pytest.mark.django_db
def test_beside_the_ratio_stands_the_difference_to_the_baseline(world):
    comparison = make.comparison(world.actor(world.bob))
    make.decode_all(comparison)
    baseline, *others = report(comparison)["strategies"]
    assert baseline["gained_tokens_per_s"] == 0
    for row in others:
        assert row["gained_tokens_per_s"] == row["tokens_per_s"] - baseline["tokens_per_s"]
