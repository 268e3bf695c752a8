"""A branch on the board is the one that a request would return, and taking it is as good as asking."""

from __future__ import annotations

import os
import signal
from typing import cast

import pytest

from decoding.choice import choose
from decoding.core.drafter import Draft
from decoding.dice.sampling import Sampling
from decoding.drafting.ssd_settings import SpeculatorSettings
from decoding.models.runner import ModelRunner
from decoding.ssd.speculator.speculator import Question, Ready, SpeculatorRecipe
from decoding.ssd.speculator.speculators import Speculators
from decoding.ssd.transport import messages
from decoding.ssd.transport.draft_process import Cores, DraftProcess
from decoding.trace.events import Drafted, Verified
from tests.kit.linux import LINUX
from tests.kit.patient import Patient
from tests.kit.table import TableRunner
from tests.kit.worlds import Solo, World, some_classifier, state_of, tables

pytestmark = pytest.mark.slow
VOCAB, PROMPT, NEW = 14, [3, 1], 40
SAMPLINGS = {
    "greedy": Sampling(max_new_tokens=NEW),
    "shared": Sampling(temperature=1.0, dice="shared", max_new_tokens=NEW, repetition_penalty=1.2),
}


def test_what_was_written_is_found_by_its_verdict_alone() -> None:
    ready = [Ready(0, 7, (1,), "eos"), Ready(2, 7, (4, 5, 0, 7, 2), "early"), Ready(2, 8, (0, 7), "limit")]
    written = bytearray(messages.pack_board(ready))
    for each in ready:
        assert messages.find_on_board(written, each.accepted, each.token) == each
    for accepted, token in [(0, 8), (1, 7), (4, 5), (7, 1), (0, 2)]:
        assert messages.find_on_board(written, accepted, token) is None


class Pairs:
    """Two speculators over the same text: one is asked; ready branches of the other are taken."""

    def __init__(self, world: World, sampling: Sampling, seed: int, with_classifier: bool) -> None:
        self._limit = NEW - 1
        classifier = some_classifier() if with_classifier else None
        draft = tables(VOCAB, seed, noise=0.9)[1]
        recipe = SpeculatorRecipe(
            SpeculatorSettings(lookahead=4, branches=9, backup="neural"), sampling, VOCAB, seed, (), classifier
        )
        self._asked, self._taken = (Solo(TableRunner(draft, state_of=state_of), recipe) for _ in range(2))

    def begin(self) -> Draft:
        drafts = [each.begin(PROMPT, self._limit) for each in (self._asked, self._taken)]
        return self._same(*drafts)

    def go_on(self, accepted: int, token: int) -> tuple[Draft, bool]:
        """Return the next draft, and whether it could be taken."""
        self._limit -= accepted + 1
        while self._asked.step() | self._taken.step():
            pass
        ready = {(each.accepted, each.token): each for each in self._taken.ready()}
        found = ready.get((accepted, token))
        asked = self._asked.answer(accepted, token, self._limit)
        if found is None:
            return self._same(asked, self._taken.answer(accepted, token, self._limit)), False
        assert (asked.source, asked.passes) == ("hit", 0)
        assert (tuple(found.tokens), found.stop) == (asked.tokens, asked.stop)
        taken = self._taken.answer(accepted, token, self._limit, taken=len(found.tokens))
        return self._same(asked, taken), True

    def _same(self, asked: Draft, taken: Draft) -> Draft:
        assert (asked.tokens, asked.confidence, asked.source) == (taken.tokens, taken.confidence, taken.source)
        assert self._asked.estimate() == self._taken.estimate()
        return asked


@pytest.mark.parametrize(("name", "with_classifier"), [("greedy", False), ("shared", True)], ids=["ssd", "ssd-disco"])
def test_taking_is_as_good_as_asking(name: str, with_classifier: bool) -> None:
    """Round by round: the same drafts, and so the same outcomes prepared for, as long as there is room."""
    taken = 0
    for seed in range(6):
        sampling, world = SAMPLINGS[name], World.of_tables(VOCAB, seed, noise=0.9)
        text = world.run(choose("autoregressive"), PROMPT, sampling, seed)[0].tokens
        pairs, at = Pairs(world, sampling, seed, with_classifier), 0
        draft = pairs.begin()
        while True:
            kept = next((i for i, (a, b) in enumerate(zip(draft.tokens, text[at:], strict=False)) if a != b), None)
            accepted = len(draft.tokens) if kept is None else kept
            if at + accepted + 1 >= len(text):
                break
            draft, was_ready = pairs.go_on(accepted, text[at + accepted])
            at, taken = at + accepted + 1, taken + was_ready
    assert taken > 10


def test_what_is_ready_is_told_once_for_every_depth_and_never_where_a_verdict_needs_scores() -> None:
    ratio = Sampling(temperature=1.0, dice="ratio", max_new_tokens=NEW)
    for sampling, count in ((SAMPLINGS["greedy"], 5), (ratio, 0)):
        world = World.of_tables(VOCAB, 1, noise=0.9)
        settings = SpeculatorSettings(lookahead=3, branches=5)
        draft = Solo(world.draft, SpeculatorRecipe(settings, sampling, VOCAB, 1, ()))
        draft.begin(PROMPT, 20)
        assert not draft.ready()
        while draft.step():
            pass
        assert len(draft.ready()) == count
        assert not draft.ready()


def test_only_a_single_text_has_drafts_ready() -> None:
    """When the others have ended, the last one has them."""
    side, model = Speculators(), World.of_tables(VOCAB, 1, noise=0.9).draft.model
    recipe = SpeculatorRecipe(SpeculatorSettings(3, 5, backup="neural"), SAMPLINGS["greedy"], VOCAB, 1, ())
    for number in range(2):
        side.read(number, recipe, [3, number], model.new_runner())
    verdict: int | None = None
    for texts in ([0, 1], [1]):
        side.answer([Question(number, verdict, 0, 20) for number in texts], 0)
        while side.step():
            pass
        assert bool(side.ready()) == (texts == [1])
        verdict = 0


def table_draft() -> TableRunner:
    return TableRunner(tables(VOCAB, 3, noise=0.9)[1], state_of=state_of)


class Killing(Patient):
    """Kills its draft, once that has prepared all it can, as soon as one of its own passes is done."""

    def __init__(self, target: ModelRunner, process: DraftProcess, moment: int) -> None:
        super().__init__(target, process)
        self._passes, self._moment = 0, moment

    def extend(self, tokens: object, need: int = 1) -> object:  # type: ignore[override]
        self._passes += 1
        if self._passes > self._moment:
            return self._target.extend(tokens, need)  # type: ignore[arg-type]
        logits = super().extend(tokens, need)  # type: ignore[arg-type]
        if self._passes == self._moment and self._process.pid:
            os.kill(self._process.pid, signal.SIGKILL)
        return logits


@LINUX
def test_a_hit_needs_nobody_to_answer() -> None:
    """A dead draft cannot answer. The branches that it had ready are taken all the same; then the target goes on
    alone."""
    world, sampling = World.of_tables(VOCAB, 3, noise=0.9), SAMPLINGS["shared"]
    alone, _ = world.run(choose("autoregressive"), PROMPT, sampling, seed=3)
    _, in_turn = world.run(choose("ssd", {"placement": "in-turn"}), PROMPT, sampling, seed=3)
    first_hit = next(e.round for e in in_turn.events if isinstance(e, Drafted) and e.source == "hit")
    with DraftProcess(table_draft, Cores(2)) as process:
        process.begin()
        # The prompt is a pass too, so the draft is gone from that round on.
        target = cast(ModelRunner, Killing(world.target, process, first_hit))
        here = World(target, world.draft, draft_process=process)
        decoded, recorder = here.run(choose("ssd", {"placement": "beside"}), PROMPT, sampling, seed=3)
    assert decoded == alone
    later = [e for e in recorder.events if isinstance(e, Drafted) and e.round >= first_hit]
    assert [(e.round, e.source, e.passes) for e in later] == [(first_hit, "hit", 0)]
    assert [e.round for e in recorder.events if isinstance(e, Verified) and e.lost] == [first_hit + 1]
