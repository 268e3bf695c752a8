"""One fair run over small exact worlds: order, pairing, audit, and the sentences when something is wrong."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from decoding.choice import parse_choices
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt, OutOfMemory
from decoding.measure.measurement import Warmed
from decoding.measure.sample import SampleResult
from decoding.measure.schedule import stints, strategy_order
from decoding.prompts.prompt import PromptItem
from tests.kit import models
from tests.kit.pairs import CHOICES, LETTERS, PROMPTS, comparison, pair
from tests.kit.rehearsal import Rehearsal
from tests.kit.runners import RoundsDifferently
from tests.kit.table import TableRunner
from tests.kit.worlds import state_of, tables


def test_strategies_are_interleaved_prompt_by_prompt_in_changing_order_and_each_repeat_begins_elsewhere() -> None:
    groups = list(comparison(repeats=3).schedule())
    assert [groups[start][0].prompt.id for start in (0, 3, 6)] == [prompt.id for prompt in PROMPTS]
    assert all(len({key.prompt.id for key in group}) == 1 for group in groups)
    orders = ["".join(key.choice.strategy[0] for key in group) for group in groups]
    assert {"".join(sorted(one)) for one in orders} == {"aost"} and len(set(orders[:3])) == 3


@pytest.mark.parametrize("count", range(2, 8))
def test_in_a_period_each_strategy_stands_at_each_place_and_follows_each_other_equally_often(count: int) -> None:
    period = count if count % 2 == 0 else 2 * count
    orders = [strategy_order(count, block) for block in range(period)]
    places = Counter(where for one in orders for where in enumerate(one))
    follows = Counter(beside for one in orders for beside in pairwise(one))
    assert len(places) == count * count and set(places.values()) == {period // count}
    assert len(follows) == count * (count - 1) and set(follows.values()) == {period // count}
    begins = {tuple(strategy_order(count, period * cycle)) for cycle in range(period)}
    assert len(begins) == period, "prompts that come in periods too meet every order"


def test_every_sample_is_there_once_and_audited() -> None:
    told: list[int] = []
    samples = comparison(repeats=2).run(told.append)
    assert len({(s.strategy, s.prompt, s.repeat) for s in samples}) == len(samples) == 24
    assert told == [*range(1, 25)]
    assert {s.audit and s.audit.outcome for s in samples} == {"identical"}
    assert len({(s.prompt, s.text) for s in samples}) == len(PROMPTS)


def test_each_prompt_and_repeat_has_luck_of_its_own_and_a_second_run_the_same() -> None:
    sampling = Sampling(temperature=1.0, max_new_tokens=12)
    same_prompt = [PromptItem(name, "ab") for name in "xyz"]
    runs = [
        {(s.prompt, s.repeat): s.text for s in comparison(sampling, prompts=same_prompt, repeats=2).run()}
        for _ in range(2)
    ]
    assert runs[0] == runs[1]
    assert len(set(runs[0].values())) == 6


@pytest.mark.parametrize(
    ("seconds_each", "round_count"),
    [
        ([0.01] * 40, 16),  # a small model decodes all that it may
        ([5.0, 3.0, 2.9, 3.0, 3.0], 2),  # the prompt, and two rounds that cost alike
        ([9.0, 4.0, 1.0, 1.1, 1.0], 1),  # time is up after the first round
        ([0.1, 2.0, 1.0, 0.4, 0.39, 0.4], 4),
    ],
)
def test_a_choice_is_warm_when_its_rounds_cost_alike(seconds_each: list[float], round_count: int) -> None:
    now = itertools.accumulate([0.0, *seconds_each])
    is_warm = Warmed(never, lambda: next(now))
    asked = sum(1 for _ in itertools.takewhile(lambda done: not done, (is_warm() for _ in range(18))))
    assert min(asked - 1, 16) == round_count


def test_after_a_gpus_warm_up_no_text_of_a_batch_has_to_capture(tmp_path: Path) -> None:
    """Drafts end at different times, so that any number of texts shares a pass, and prompts end in pieces of any
    length."""
    config = models.LLAMA | {"vocab_size": len(LETTERS), "max_position_embeddings": 512}
    folders = [models.save(tmp_path / role, "llama", **config) for role in ("target", "draft")]
    rehearsals = [Rehearsal(), Rehearsal()]
    target, draft = (
        models.fast_runner(folder, static=True, capturing=rehearsal)
        for folder, rehearsal in zip(folders, rehearsals, strict=True)
    )
    ready = dataclasses.replace(pair(), target=target, draft=draft, dtype=torch.float32)
    texts = [PromptItem(str(length), "ab" * length) for length in (110, 2, 36, 34, 50, 5)]
    choices = [choice.at(Load(3)) for choice in parse_choices("autoregressive,threshold:0.1")]
    sampling = Sampling(max_new_tokens=40, ignore_eos=True)
    made = comparison(sampling, pair=ready, prompts=texts, choices=choices)
    made.warm_up(is_thorough=True)
    recorded = [rehearsal.recorded for rehearsal in rehearsals]
    assert made.run()
    assert recorded == [rehearsal.recorded for rehearsal in rehearsals] and all(recorded)


def test_cancelling_stops_at_once_and_keeps_what_is_done() -> None:
    told: list[int] = []
    made = comparison(cancelled=lambda: len(told) >= 6)
    assert (len(made.run(told.append)), len(told)) == (4, 6)


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [(PromptItem("hollow", ""), "Prompt hollow is empty"), (PromptItem("vast", "ab" * 8), "Prompt vast has 16 tokens")],
)
def test_a_prompt_that_cannot_be_decoded_is_named(prompt: PromptItem, sentence: str) -> None:
    made = comparison(
        pair=pair(context=16), prompts=[prompt, PromptItem("good", "ab")], sampling=Sampling(max_new_tokens=4)
    )
    assert sentence in str(made.refusal(prompt)) and made.refusal(made.prompts[1]) is None
    with pytest.raises(BadPrompt, match=sentence):
        made.run()


@pytest.mark.parametrize(("tie", "error", "outcome"), [(1e-15, 1e-14, "tie"), (0.5, 1.0, "divergent")])
def test_a_difference_within_rounding_is_a_tie_and_any_other_is_real(tie: float, error: float, outcome: str) -> None:
    own, _ = tables(len(LETTERS), 7)
    best = own.argmax(-1, keepdim=True)
    own = own.scatter(1, (best + 1) % len(LETTERS), own.gather(1, best) - tie)  # every row's best two lie this close
    made = comparison(pair=pair(RoundsDifferently(own, error)), choices=parse_choices("autoregressive,static:3"))
    audits = [s.audit for s in made.run() if s.strategy == "static:3" and s.audit]
    assert {a.outcome for a in audits} == {outcome}
    for found in audits:
        assert found.position is not None and found.token != found.expected
        assert found.gap is not None and found.gap >= 0


class Hungry(TableRunner):
    def extend(self, tokens: Sequence[int] | Tensor, need: int = 1) -> Tensor:
        if len(self.tokens) > 8:
            torch.empty(1 << 58)
        return super().extend(tokens, need)


def test_memory_that_runs_out_on_one_prompt_costs_the_samples_of_that_prompt_alone() -> None:
    """It used to cost a command all its samples."""
    own, _ = tables(len(LETTERS), 7)
    prompts = [*PROMPTS, PromptItem("long", LETTERS, "x")]
    made = comparison(Sampling(max_new_tokens=4), pair=pair(Hungry(own, 4096, state_of)), prompts=prompts)
    answers = [one for group in made.schedule() for stint in stints(group) for one in made.try_stint(stint)]
    assert len(answers) == 4 * len(CHOICES)
    broken = {key.prompt.id: str(answer) for key, answer in answers if isinstance(answer, OutOfMemory)}
    assert [*broken] == ["long"] and "not enough memory for prompt long under " in broken["long"]
    assert {key.prompt.id for key, answer in answers if isinstance(answer, SampleResult)} == {p.id for p in PROMPTS}


def test_a_sample_says_how_many_passes_were_captured_in_its_time(tmp_path: Path) -> None:
    config = models.LLAMA | {"vocab_size": len(LETTERS)}
    rehearsal = Rehearsal()
    runner = models.fast_runner(models.save(tmp_path, "llama", **config), static=True, capturing=rehearsal)
    ready = dataclasses.replace(pair(), target=runner, dtype=torch.float32)
    made = comparison(pair=ready, prompts=PROMPTS[:2], choices=parse_choices("autoregressive"))
    first, second = made.run()  # without a warm-up
    assert (first.captures, second.captures) == (rehearsal.recorded, 0) and first.captures
