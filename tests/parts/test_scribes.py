"""Texts are written and recorded prompt by prompt, and those of earlier runs are taken as they are."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
import torch

from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.disco.recording import Recording
from decoding.disco.texts import texts_of
from decoding.errors import BadPrompts
from decoding.measure.comparison import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prompts.prompt import PromptItem
from decoding.replay.writing import record_texts
from decoding.trace.events import Recorder
from tests.kit.pairs import pair
from worker.jobs.comparison.messages import Audited, Grew, SampleId, TracesGrown
from worker.jobs.comparison.tracing import which
from worker.terminal.hearing import TraceFile

pytestmark = pytest.mark.slow
SHARED = Sampling(temperature=1.0, max_new_tokens=20)
PROMPTS = [PromptItem(f"p{i}", "abcdefgh"[i % 8] * 3) for i in range(12)]


def same(one: Recording, other: Recording) -> bool:
    return one.record == other.record and torch.equal(one.static, other.static) and torch.equal(one.tails, other.tails)


def test_a_cancelled_recording_leaves_no_half_text() -> None:
    told: list[int] = []
    found = record_texts(pair(), PROMPTS, SHARED, on_progress=told.append, cancelled=lambda: len(told) >= 3)
    assert len(found) == len(told) == 3
    assert all(len(recording.matches) == 20 for recording in found)


def trace_of(sampling: Sampling, strategies: str) -> list[str]:
    """Return the trace that compare --trace writes."""
    file = StringIO()
    trace, recorders = TraceFile(file), dict[SampleId, Recorder]()

    def sink_for(key: SampleKey) -> Recorder:
        return recorders.setdefault(which(key), Recorder())

    Measurement(pair(), PROMPTS, parse_choices(strategies), sampling, 2, sink_for).run()
    trace.hear(TracesGrown([Grew(sample, 1, one.events, {}, 0) for sample, one in recorders.items()]))
    trace.hear(Audited([]))
    return file.getvalue().splitlines()


def test_recorded_runs_teach_what_texts_written_for_it_do() -> None:
    texts = texts_of(trace_of(SHARED, "static:3,threshold:0.4"), "trace")
    assert set(texts) == {prompt.id for prompt in PROMPTS}
    with_them = record_texts(pair(), PROMPTS, SHARED, 5, texts=texts)
    assert all(map(same, with_them, record_texts(pair(), PROMPTS, SHARED, 5)))


@pytest.mark.parametrize(
    "other", [Sampling(temperature=1.0, max_new_tokens=20, seed=1), replace(SHARED, dice="ratio")], ids=["seed", "dice"]
)
def test_a_text_of_other_settings_is_refused_in_words(other: Sampling) -> None:
    texts = texts_of(trace_of(SHARED, "static:3"), "trace")
    with pytest.raises(BadPrompts, match="text of prompt p0 is not what this target says with these settings"):
        record_texts(pair(), PROMPTS, other, texts=texts)


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"prompt": "p0"}', '{"strategy":"s","prompt":"p","repeat":0,"event":"x"}']
)
def test_what_is_no_trace_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(BadPrompts, match="Line 2 of trace is not an event of a trace"):
        texts_of([trace_of(SHARED, "static:3")[0], line], "trace")
