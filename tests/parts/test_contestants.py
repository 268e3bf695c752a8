"""A contestant is a module of `decoding.backends.contestants`: adding one file is enough to compare it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from decoding.backends import contestants
from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement
from decoding.measure.summary import report
from decoding.strategies import STRATEGIES
from tests.kit.pairs import PROMPTS, pair

ROOT = Path(__file__).parents[2]
PARROT = '''
from decoding.backends.contestants.base import Contestant
from decoding.core.ending import Decoded
from decoding.trace.events import Finished, Started
from decoding.drafting.strategy import Looks, Strategy
from decoding.trace.timing import Clock

LOOKS = Looks("♪", "M0,0H9Z", "#000")
SPECS = (Strategy("parrot", "Parrot", "Repeats the prompt, and knows no rounds.", "peer", LOOKS),)


def contestant(pair):
    return Parrot()


class Parrot(Contestant):
    """Takes all requests at once, and ends the last one first."""

    def run(self, requests, sink_for, cancelled, load=None):
        clock = Clock()
        begun = [(request, sink_for(request)) for request in requests]
        for request, sink in begun:
            sink.emit(Started(len(request.prompt), clock.now()))
        for request, sink in reversed(begun):
            room = request.sampling.max_new_tokens
            tokens = [*request.prompt, *request.prompt][:room]
            sink.emit(Finished("length", len(tokens), clock.now()))
            yield request, Decoded(tokens, "length")

    def runner(self, choice):
        return "bird"

    def hardware(self, choice, longest=0):
        return "a perch"
'''


@pytest.fixture
def parrot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add the module, as a file in the package would."""
    (tmp_path / "parrot.py").write_text(PARROT)
    monkeypatch.setattr(contestants, "__path__", [*contestants.__path__, str(tmp_path)])
    contestants.modules.cache_clear()
    for spec in contestants.specs():
        monkeypatch.setitem(STRATEGIES, spec.slug, spec)
    yield
    contestants.modules.cache_clear()
    sys.modules.pop("decoding.backends.contestants.parrot", None)


@pytest.mark.parametrize(("temperature", "outcome"), [(0.0, "divergent"), (1.0, "not_compared")])
@pytest.mark.usefixtures("parrot")
def test_a_new_file_is_a_contestant_with_samples_audits_of_greedy_texts_and_a_row(
    temperature: float, outcome: str
) -> None:
    choices = parse_choices("autoregressive,static:3,parrot")
    run = Measurement(pair(), PROMPTS, choices, Sampling(temperature=temperature, max_new_tokens=12))
    run.pair.begin(choices)
    run.warm_up()
    samples = run.run()
    assert {s.text for s in samples if s.strategy == "parrot"} == {"abab", "cc", "dddd"}
    outcomes = {s.strategy: s.audit.outcome for s in samples if s.audit}
    assert outcomes == {"autoregressive": "identical", "static:3": "identical", "parrot": outcome}
    row = report(choices, {choice.label: run.pair.contestant(choice).runner(choice) for choice in choices}, samples)[-1]
    assert (row["label"], row["role"], row["runner"]) == ("parrot", "peer", "bird")
    assert row["speedup"]["prompts"] == 3 and row["tokens_per_s"] > 0
    assert run.pair.contestant(choices[-1]).hardware(choices[-1]) == "a perch"
    run.pair.close()


def test_a_module_that_lacks_a_part_is_refused_at_start_with_the_parts_name(tmp_path: Path) -> None:
    (tmp_path / "parrot.py").write_text(f"{PARROT}\ndel SPECS\n")
    start = f"import decoding.backends.contestants as c; c.__path__.append({str(tmp_path)!r}); import decoding.choice"
    ended = subprocess.run([sys.executable, "-c", start], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode
    assert f"decoding.backends.contestants.parrot lacks SPECS, {contestants.PARTS['SPECS']}" in ended.stderr
