"""SSD is refused with a sentence, before anything starts, if a machine cannot run it."""

from __future__ import annotations

from functools import partial

import pytest
import torch

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.errors import BadDevice, OutOfMemory
from decoding.ssd.memory import GIB, check_branches
from decoding.ssd.transport.draft_process import Cores, DraftProcess
from tests.kit.table import TableRunner

MANY = choose("ssd", {"lookahead": 64, "branches": 512})


def test_more_branches_than_memory_holds_are_refused_with_both_figures() -> None:
    """2 x 4 bytes x 512 branches x 64 tokens x 131,072 scores are 32 GiB."""
    with pytest.raises(OutOfMemory, match=r"ssd:64,branches=512 needs at least 32\.0 GiB .* 31\.0 GiB are free"):
        check_branches(MANY, vocab=1 << 17, free=31 * GIB)
    check_branches(MANY, vocab=1 << 17, free=32 * GIB)
    check_branches(choose("static"), vocab=1 << 17, free=0)


def test_the_cap_of_ssd_disco_counts_as_its_depth() -> None:
    with pytest.raises(OutOfMemory, match="512 branches of 64 tokens"):
        check_branches(choose("ssd-disco", {"cap": 64, "branches": 512}), vocab=1 << 17, free=31 * GIB)


class Vast(TableRunner):
    """A draft with a vocabulary that no machine has room for 32,768 rows of."""

    def __init__(self) -> None:
        super().__init__(torch.zeros(3, 3))
        self.vocab_size = 1 << 40


def test_nothing_is_started_where_one_of_the_strategies_cannot_run() -> None:
    with DraftProcess(partial(TableRunner, torch.zeros(3, 3)), Cores(2)) as process:
        pair = ModelPair(Vast(), Vast(), None, frozenset(), torch.float32, draft_process=process)  # type: ignore[arg-type]
        with pytest.raises(OutOfMemory, match="Use fewer branches"):
            pair.begin([choose("ssd", {"placement": "in-turn", "branches": 1, "lookahead": 1}), MANY])
        assert process.pid is None


def test_a_placement_that_the_machine_has_not_is_refused_before_another_strategy_has_its_process() -> None:
    table = TableRunner(torch.zeros(3, 3))
    pair = ModelPair(table, table, None, frozenset(), torch.float32)  # type: ignore[arg-type]
    with pytest.raises(BadDevice, match="two processor cores"):
        pair.begin([choose("ssd"), choose("ssd", {"placement": "beside"})])
