"""A classifier from the queue: trained on a worker, kept in the registry, and used by the next comparison."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.comparisons import succeeded
from tests.machines.worker.conftest import prompts
from webapp.comparisons.models import Sample
from webapp.core.problems import Invalid
from webapp.jobs.models import Job, JobEvent
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Training


def test_a_trained_classifier_is_there_once_and_the_next_comparison_uses_it(team, pair, launch, make_worker):
    disco = [{"strategy": "disco"}]
    with pytest.raises(Invalid, match="no classifier yet"):
        launch(strategies=disco)

    words = prompts(team, [f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1}" for n in range(30)])
    classifying.train_classifier(name="first", pair=pair, dataset=words, max_new_tokens=48, by=team)
    hands = make_worker()
    hands.look()
    training, classifier = succeeded(Training.objects.get()), Classifier.objects.get()
    assert training.classifier == classifier
    assert 0 <= classifier.metrics["auc"] <= 1
    told = list(JobEvent.objects.values_list("sentence", flat=True))
    assert any(line.startswith("Recording training: ") for line in told)
    assert any("held out" in line for line in told)
    assert_its_losses_are_in_the_log_and_its_curves_on_the_card(training.job, classifier.card)

    comparison = launch(strategies=disco)
    hands.look()
    outcomes = [sample.numbers["audit"]["outcome"] for sample in Sample.objects.all()]
    assert outcomes == ["identical"] * 4
    assert (
        succeeded(comparison).prices[str(classifier.pk)]["rules"]["priced"]["card"]
        == classifier.card["thresholds"]["priced"]
    )


def assert_its_losses_are_in_the_log_and_its_curves_on_the_card(job: Job, card: dict[str, Any]) -> None:
    numbers = [line.numbers for line in JobEvent.objects.filter(job=job) if "train_loss" in line.numbers]
    assert [line["done"] for line in numbers] == list(range(1, len(numbers) + 1))
    assert numbers[-1]["held_out_loss"] > 0 and 0 <= numbers[-1]["held_out_f1"] <= 1
    assert set(card["sweep"]) == {"priced", "threshold"} and card["sweep"]["priced"]
    assert card["metrics"]["reliability"] and card["metrics"]["roc"]
    assert card["costs"]["draft"] > 0  # a decision of so small a classifier may be lost in noise
    assert job.done_count == job.total_count


def test_a_published_design_is_trained_and_another_training_begins_from_it(team, pair, make_worker):
    words = prompts(team, [f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1}" for n in range(30)])
    hands = make_worker()
    how = {"pair": pair, "dataset": words, "max_new_tokens": 48, "design": "paper", "by": team}
    classifying.train_classifier(name="first", **how)
    hands.look()
    first = Classifier.objects.get()
    classifying.train_classifier(name="second", start=first, **how)
    hands.look()
    second = Classifier.objects.get(name="second")
    assert first.card["design"] == second.card["design"] == "paper"
    assert second.training.start == first
