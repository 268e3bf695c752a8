"""A classifier moves between sets of prompts: trained on each, judged on each."""

from __future__ import annotations

import pytest

from decoding.papers import transfer
from decoding.papers.drawing import draw, phases
from decoding.papers.evidence import Evidence
from decoding.papers.figures import FIGURES
from decoding.papers.shelf import Shelf
from decoding.prices.cost_model import CostModel
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import study
from tests.kit.pairs import SHARED, pair, prompts

pytestmark = pytest.mark.slow
COSTS = CostModel.of_one((0.0, *(1.0 + 0.05 * rows for rows in range(24))), 0.2, 0.1, 0.02, 0.02)
FIGURE = FIGURES["disco-transfer"]


def evidence(own: list[PromptItem], further: list[PromptItem]) -> Evidence:
    made = Evidence(pair(), own, SHARED, Shelf(), classifier_name=None)
    made.own_set, made.also_set, made.also = "code", "prose", further
    return made


def test_no_classifier_judges_a_prompt_that_taught_it() -> None:
    """Sets that hold the same prompts have four equal cells: also beside itself, a set judges with its other half."""
    texts = study(pair(), prompts(40, seed=5), SHARED, tails=True)
    [own, *others] = transfer.matrix({"a": texts, "b": texts}, COSTS).values()
    assert all(cell == own for cell in others) and own.low is not None and 0 < own.low <= own.value


def test_with_a_further_set_the_figure_is_as_published_and_needs_no_classifier() -> None:
    made = evidence(prompts(40, seed=1), prompts(41, seed=2))
    assert phases(made, [FIGURE])["recording the other set"] == 41
    [figure] = draw(made, [FIGURE])
    assert figure["x"]["names"] == ["code", "prose"] and not figure["needs"]
    assert [each["name"] for each in figure["series"]] == ["DISCO, trained on code", "DISCO, trained on prose"]
    assert all(len(each["points"]) == 2 for each in figure["series"])


def test_texts_too_short_to_train_on_cost_the_figure_and_not_the_study() -> None:
    [figure] = draw(evidence(prompts(4), prompts(4, seed=3)), [FIGURE])
    assert figure["needs"].startswith("more recorded tokens (The training prompts give") and not figure["series"]


@pytest.mark.parametrize(("own", "further"), [(3, 4), (4, 0)])
def test_too_few_prompts_are_told_and_how_to_get_the_published_form(own: int, further: int) -> None:
    [figure] = draw(evidence(prompts(own), prompts(further, seed=3)), [FIGURE])
    assert "a further set of prompts (--also FILE" in figure["needs"] and not figure["series"]
