"""The papers' figures from the queue: drawn by a real engine, kept one by one, and taken up again after a kill."""

from __future__ import annotations

import os
import signal

import pytest

from decoding.papers.figures import FIGURES
from tests.machines.worker.conftest import prompts
from webapp.registry.models import LanguageModel
from webapp.studies import services as studies
from webapp.studies.kinds import PAPERS
from webapp.studies.models import Study
from worker.engine.steps import PhaseProgress
from worker.jobs.papers import PieceFinished, made_of
from worker.messages import LocalPair

SHORT = {"max_new_tokens": 12, "ignore_eos": True}
NEED_A_CLASSIFIER = {"disco-classifier"}
NEED_A_SECOND_CORE = {"ssd-speedups", "ssd-7-engines"}
NEED_CATEGORIES = {"disco-5", "disco-transfer"}


@pytest.fixture
def study(team, pair) -> Study:
    words = prompts(team, [f"w{n + 1} w{n + 2} w{n + 3}" for n in range(2)])
    return studies.launch(kind=PAPERS, pair=pair, dataset=words, by=team, sampling=SHORT)


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
