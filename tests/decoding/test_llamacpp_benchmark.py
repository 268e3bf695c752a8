"""How `bench llamacpp` counts: the least of several turns, without the prompt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks._llamacpp import Contestant, Figure, show, timed


class Steady:
    """Takes 3 s of CPU time for a prompt and so many for a token; each turn but the third is slowed down."""

    def __init__(self, seconds: float, token: int = 7) -> None:
        self.seconds, self.token = seconds, token
        self.clock = 0.0
        self.calls = 0

    def decode(self, text: tuple[str, list[int]], count: int) -> Sequence[int]:
        self.calls += 1
        turn = (self.calls - 1) // 2
        self.clock += 3 + self.seconds * count * (1 if turn == 2 else 4)
        return [self.token] * count

    def named(self, name: str) -> Contestant:
        return Contestant(name, self.decode, lambda: self.clock, 100)


def test_the_least_time_of_the_turns_counts_and_the_prompt_does_not() -> None:
    one, two = Steady(0.5), Steady(0.25)
    contestants = [one.named("ours"), two.named("theirs")]
    figures = timed(contestants, [("a", [1])], 1, 10, 3, clock=lambda: one.clock + two.clock)
    assert [figure.steady for figure in figures] == pytest.approx([2.0, 4.0])
    assert [figure.agrees for figure in figures] == [True, True]


def test_with_several_threads_wall_time_counts_since_one_may_leave_a_core_idle_and_other_text_is_noticed() -> None:
    one, two = Steady(0.5), Steady(0.5, token=8)
    contestants = [one.named("ours"), two.named("theirs")]
    figures = timed(contestants, [("a", [1])], 2, 10, 3, clock=lambda: one.clock + two.clock)
    assert figures[0].steady == pytest.approx(2.0)
    assert [figure.agrees for figure in figures] == [True, False]


def test_each_is_compared_with_our_best_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        Figure("ours, autoregressive", 10.0, 10.0, 100, True),
        Figure("ours, static:2", 30.0, 30.0, 100, True),
        Figure("ours, static:4", 24.0, 24.0, 100, True),
        Figure("llama-server, autoregressive", 2.0, 20.0, 100, True),
        Figure("llama-server, -md, 4 tokens", 20.0, 20.0, 100, False),
    ]
    show("starter", rows, stream=4000.0)
    told = capsys.readouterr().out.splitlines()
    assert told[-2].split()[-5:] == ["20.0", "0.0", "50%", "0.50", "same"]
    assert "busy" in told[-2]
    assert told[-1].split()[-2:] == ["1.50", "differs"]
