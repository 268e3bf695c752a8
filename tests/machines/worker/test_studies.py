"""Oracle analyses, plans and the papers' figures from the queue: worked out by a real engine, stored whole, cancelled,
taken up again after a kill, refused in words."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from decoding.choice import Choice
from decoding.papers.figures import FIGURES
from tests.kit import make
from tests.kit.comparisons import succeeded
from tests.kit.processes import family
from tests.machines.worker.conftest import prompts
from webapp.comparisons import services as comparisons
from webapp.comparisons.models import Sample
from webapp.core.problems import Invalid, NotFound
from webapp.entries import services as entries
from webapp.jobs.kinds import Kind
from webapp.jobs.models import JobEvent
from webapp.registry.models import Dataset, LanguageModel
from webapp.studies import services as studies
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import ORACLE, PAPERS, PLAN, PROJECTION
from webapp.studies.models import Classifier, Study, Training
from worker.engine.steps import PhaseProgress
from worker.jobs.papers import PieceFinished, made_of
from worker.messages import LocalPair
from worker.studies import classifiers

SHORT = {"max_new_tokens": 24, "ignore_eos": True}


@pytest.fixture
def words(team) -> Dataset:
    return prompts(team, [f"w{n + 1} w{n + 2} w{n + 3}" for n in range(6)])


@pytest.fixture
def launch(team, pair, words):
    def launch_one(kind: Kind, dataset: Dataset = words, **changes: Any) -> Study:
        asked = {"sampling": SHORT, **changes}
        return studies.launch(kind=kind, pair=pair, dataset=dataset, by=team, **asked)

    return launch_one


@pytest.mark.smoke
def test_an_oracle_counts_what_the_draft_could_have_done(launch, make_worker):
    study = launch(ORACLE, lookahead=3)
    make_worker().look()
    found = succeeded(study).document
    assert found["format"] == "drafthouse.oracle/1"
    assert (found["samples"], found["one"]["lookahead"]) == (6, 3)
    assert found["oracle"]["target"] == sum(found["histogram"]) <= found["static"]["target"]
    assert sum(found["one"]["lookaheads"]) + found["one"]["oracle"]["target"] >= 24
    assert found["hardware"]["device"] == "cpu"
    assert (study.job.done_count, study.job.total_count) == (6, 6)
    told = list(JobEvent.objects.filter(job=study.job).values_list("sentence", flat=True))
    assert "Recording: 1 of 6." in told


def test_a_trained_classifier_is_used_by_a_comparison_and_by_a_plan(team, pair, launch, make_worker, engine):
    disco = {"strategies": [{"strategy": "disco"}], "sampling": SHORT, "by": team}
    learnt_on = prompts(team, [f"w{n + 1} w{2 * n + 1} w{3 * n % 90 + 1}" for n in range(30)])
    with pytest.raises(Invalid, match="no classifier yet"):
        comparisons.launch(name="too soon", pair=pair, dataset=learnt_on, **disco)
    classifying.train_classifier(name="first", pair=pair, dataset=learnt_on, max_new_tokens=48, by=team)
    hands = make_worker()
    hands.look()
    training, classifier = succeeded(Training.objects.get()), Classifier.objects.get()
    assert training.classifier == classifier and 0 <= classifier.metrics["auc"] <= 1
    numbers = [line.numbers for line in JobEvent.objects.filter(job=training.job) if "train_loss" in line.numbers]
    assert [line["done"] for line in numbers] == list(range(1, len(numbers) + 1))
    assert set(classifier.card["sweep"]) == {"priced", "threshold"}
    assert training.job.done_count == training.job.total_count

    elsewhere = prompts(team, [f"w{5 * n % 90 + 1} w7" for n in range(2)])
    Dataset.objects.filter(pk=elsewhere.pk).update(name="elsewhere")
    comparison = comparisons.launch(name="one", pair=pair, dataset=elsewhere, **disco)
    study = launch(PLAN, dataset=elsewhere)
    hands.look()
    prices = succeeded(comparison).prices[str(classifier.pk)]
    assert prices["rules"]["priced"]["card"] == classifier.card["thresholds"]["priced"]
    assert [sample.numbers["audit"]["outcome"] for sample in Sample.objects.all()] == ["identical"] * 4
    check_plan(succeeded(study), classifier)
    assert set(family(engine.pid)) <= {engine.pid}  # the draft beside the target has ended


def check_plan(study: Study, classifier: Classifier) -> None:
    """Check a plan on two prompts, and what it says of its classifier."""
    found = study.document
    settings = {Choice.of(row).kind: row for row in found["settings"]}
    ran = {name: row for name, row in settings.items() if row["measured"]}
    assert {"static", "threshold", "lookup", "tree", "ssd"} <= ran.keys()
    assert settings.keys() - ran.keys() == {"oracle", "best-source"}
    assert all(row["measured"]["prompts"] == row["audit"]["identical"] == 2 for row in ran.values())
    assert study.job.done_count == study.job.total_count
    assert settings["disco"]["params"]["classifier"] == str(classifier.pk)


def test_a_projection_simulates_every_strategy_at_the_prices_of_its_card(launch, make_worker):
    study = launch(PROJECTION, limit=1, card="two-cores-epyc")
    make_worker().look()
    found = succeeded(study).document
    assert (found["format"], found["card"]["name"]) == ("drafthouse.projection/1", "100M with 11M on one core each")
    assert {row["strategy"] for row in found["settings"]} >= {"autoregressive", "static", "threshold", "lookup", "ssd"}
    assert set(found) == set(make.STUDIES["projection"])  # which the page's tests rest on
    assert study.job.done_count == study.job.total_count == 1


def test_the_chosen_classifier_comes_first_and_a_deleted_one_is_not_replaced(team, pair, launch):
    older, newer = (make.classifier(team, pair, name) for name in ("older", "newer"))
    attempt: Any = SimpleNamespace(insist=lambda ask: ask())
    assert classifiers(attempt, launch(PLAN)) == [newer, older]
    chosen = launch(PLAN, classifier=older)
    assert classifiers(attempt, chosen) == [older, newer]
    entries.bin(entry=older, by=team)
    with pytest.raises(NotFound, match="was deleted"):
        classifiers(attempt, chosen)


TWELVE = {"max_new_tokens": 12, "ignore_eos": True}
NEED_A_CLASSIFIER = {"disco-classifier"}
NEED_A_SECOND_CORE = {"ssd-speedups", "ssd-7-engines"}
NEED_CATEGORIES = {"disco-5", "disco-transfer"}


@pytest.fixture
def study(team, pair) -> Study:
    words = prompts(team, [f"w{n + 1} w{n + 2} w{n + 3}" for n in range(2)])
    return studies.launch(kind=PAPERS, pair=pair, dataset=words, by=team, sampling=TWELVE)


@pytest.mark.slow
def test_every_figure_is_drawn_or_says_what_it_needs_and_none_that_was_finished_is_drawn_again_after_a_kill(
    study, make_worker, engine
):
    kept = {}

    def kill() -> None:
        study.refresh_from_db()
        for name in study.parts:
            if name.startswith("figure "):
                study.parts[name]["why"] = "Drawn by the first attempt."
        study.save()
        kept.update(study.parts)
        os.kill(engine.pid, signal.SIGKILL)

    engine.after(6, kill, (PieceFinished,))
    make_worker().look()
    study.refresh_from_db()
    study.job.refresh_from_db()
    assert (study.job.state, study.job.attempt) == ("succeeded", 2), study.job.reason
    found = {figure["slug"]: figure for figure in studies.figures_of(study)}
    assert list(found) == list(FIGURES)
    lacking = {slug for slug, figure in found.items() if figure["needs"]}
    assert lacking >= NEED_A_CLASSIFIER | NEED_CATEGORIES
    assert lacking <= NEED_A_CLASSIFIER | NEED_CATEGORIES | NEED_A_SECOND_CORE
    for slug in found.keys() - lacking:
        ours = [series for series in found[slug]["series"] if series["origin"] != "published"]
        assert ours and all(series["points"] for series in ours), slug
        assert found[slug]["why"]
    finished = [name.removeprefix("figure ") for name in kept if name.startswith("figure ")]
    assert finished and len(finished) < len(FIGURES)
    assert all(found[slug] == kept[f"figure {slug}"] for slug in finished)
    assert study.parts == {}
    assert study.job.done_count == study.job.total_count


def test_evidence_belongs_to_the_content_of_models_and_classifier_and_to_the_machine(tmp_path):
    for name in ("target", "draft", "first", "second"):
        (tmp_path / name).mkdir()
    weights = tmp_path / "draft" / "model.safetensors"
    weights.write_bytes(b"a")
    sent, path = LanguageModel(source="upload"), LanguageModel(source="path")

    def found(draft: LanguageModel, machine: str = "this one", **classifiers: str) -> str:
        folders = {name: tmp_path / folder for name, folder in classifiers.items()}
        return made_of(LocalPair(tmp_path / "target", tmp_path / "draft", "cpu", folders), [sent, draft], machine)

    before = found(path, one="first"), found(sent, one="first")
    assert found(path, one="first") == before[0]
    assert len({*before, found(path), found(path, one="second"), found(path, "another", one="first")}) == 5
    weights.write_bytes(b"b")
    assert found(path, one="first") != before[0]  # a folder of the worker's own may change
    assert found(sent, one="first") == before[1]  # its name is a hash of its content


def test_what_an_earlier_attempt_finished_is_done_from_the_first_step_on():
    told = []
    steps = PhaseProgress(told.append, {"recording": 10, "prices": 20, "running": 30}, kept={"running"})
    for phase, done, due in (("recording", 0, 10), ("recording", 5, 10), ("prices", 4, 4), ("running", 30, 30)):
        steps(phase, done, due)
    steps("a phase of no samples", 1, 2)
    assert [step.whole for step in told] == [(30, 60), (35, 60), (60, 60), (60, 60), (60, 60)]
