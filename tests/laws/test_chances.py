"""The law under ratio dice, where texts differ by strategy: each text is as likely as the target makes it, exactly."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import strategies as st

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.strategies import STRATEGIES
from tests.golden.live import MovedClock
from tests.kit.worlds import World, state_of, tables
from tests.laws.cases import OURS, Case, Run, choices
from tests.laws.chances import chance_of, targets_chance
from tests.laws.drawing import Drawing

LENGTH = 3  # tokens whose joint law is proved
# It knows the verdict when it chooses a source, so under ratio dice its texts are no fair draws. It is a bound.
LAWFUL = [slug for slug in OURS if not (STRATEGIES[slug].role == "bound" and STRATEGIES[slug].usual_source.copies)]


class Ticking(MovedClock):
    """Clock that goes on by 1 µs whenever it is read, so that a run with the same coins takes the same time."""

    def now(self) -> int:
        self.ns += 1000
        return self.ns


@st.composite
def small_cases(draw: st.DrawFn, slug: str) -> Case:
    """A case whose texts are few."""
    choice = draw(choices(slug, most=3, is_timed=False))
    tokenizer = draw(st.sampled_from(["same", "same", "tli"] + ["slem"] * (not choice.spec.needs_scores)))
    vocab = 3 if tokenizer != "same" else draw(st.sampled_from([2, 3]))
    return Case(
        choice.label,
        "ratio",
        temperature=draw(st.sampled_from([1.0, 0.7])),
        penalty=draw(st.sampled_from([1.0, 1.0, 1.4])),
        top_k=draw(st.sampled_from([0, 0, 2])),
        new=LENGTH + draw(st.integers(0, 2)),
        vocab=vocab,
        seed=draw(st.integers(0, 999)),
        noise=1.2,
        sharpness=0.7,
        tokenizer=tokenizer,
        ends=draw(st.sampled_from([(), (), (1,)])),
        users=draw(st.sampled_from([1, 1, 3])),
        prompts=((0, 1, 0, 1), (1,), (1, 0)) if draw(st.booleans()) else ((0,), (1,), (1, 0)),
    )


@pytest.mark.parametrize("slug", LAWFUL)
def test_every_text_is_as_likely_as_the_target_makes_it(request: pytest.FixtureRequest, slug: str) -> None:
    Drawing(request).holds(is_as_likely, small_cases(slug), 12)


def is_as_likely(case: Case) -> None:
    prompt = case.prompts[0]
    target = case.world().target
    text = decoded(case.but(label="autoregressive"))[:LENGTH]
    found = chance_of(text, prompt, case.seed, lambda: decoded(case))
    rows = lambda before: target.table[target.state_of(before)]  # type: ignore[attr-defined]  # noqa: E731
    assert found == pytest.approx(targets_chance(text, prompt, case.sampling, rows, case.world().vocab), abs=1e-7)


def decoded(case: Case) -> list[int]:
    prompts = case.prompts if case.users > 1 else case.prompts[:1]
    return Run(case.but(prompts=prompts), clock=Ticking).decode(case.users)[0].decoded.tokens


def test_the_chances_of_all_texts_add_up_and_those_of_another_model_are_told_apart() -> None:
    world, sampling = World.of_tables(3, 5, sharpness=0.7, noise=1.2), Sampling(temperature=1.0, dice="ratio")
    run = lambda: world.run(choose("static"), [0], replace(sampling, max_new_tokens=3), 1)[0].tokens  # noqa: E731
    chances = {text: chance_of(text, [0], 1, run) for text in product(range(3), repeat=2)}
    assert sum(chances.values()) == pytest.approx(1.0)
    for text, found in chances.items():
        drafts = targets_chance(text, [0], sampling, lambda before: tables(3, 5, 0.7, 1.2)[1][state_of(before)], 3)
        assert found != pytest.approx(drafts, rel=0.01)
