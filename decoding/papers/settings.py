"""Settings that all figures share, and what some of them need. Standard library only."""

from __future__ import annotations

from typing import Literal

from decoding.choice import choose
from decoding.drafting.strategy import LONGEST
from decoding.replay.workload import StudyRecipe, samples_of_probe
from decoding.strategies import BASELINE, oracle, static

AUTOREGRESSIVE = choose(BASELINE)
STATICS = [choose(static.STRATEGY.slug, {"lookahead": n}) for n in range(1, LONGEST + 1)]
ORACLE = choose(oracle.STRATEGY.slug, {"cap": LONGEST})
TEMPERATURES = (0.0, 0.3, 0.7, 1.0)  # of the SSD paper's figures
CONSTANTS = (1.0, 0.5, 0.25, 0.08, 0.04, 0.01, 1e-4)  # of Saguaro sampling
HELD_BACK = 3  # branches for each accepted count there: the reference code's usual fan-out
LOOKAHEADS = (2, 4, 6)  # that run
BRANCHES_EACH = 3  # for each accepted count, as the reference code's commands
BATCHES = (1, 2, 4, 8, 16)
TABLE = 5  # choices of DISCO's speed-up table, autoregressive among them; more by each rule of DISCO
LONGEST_TOGETHER = 64  # new tokens of a text that runs in a batch: all batch sizes have to end within two minutes
OF_PAPERS = 54  # samples of each prompt, if no figure lacks anything
CAP = 20  # of a threshold's draft, as in transformers

Origin = Literal["published", "measured", "replayed", "computed", "simulated", "theory"]
NEEDS = {
    "a classifier": "a DISCO classifier of this pair: make one with ./drafthouse train-disco, or Train on its page",
    "a second core": "a second core or device for the draft: this machine has none free",
    "several categories": "prompts of at least two categories: name them in the prompt set's category column",
}


def of_papers(recipe: StudyRecipe) -> int:
    """Samples of a study of the papers at most."""
    probe = samples_of_probe(recipe.prompts, classifiers=1)
    return OF_PAPERS * recipe.prompts + probe + len(BATCHES)
