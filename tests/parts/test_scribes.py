"""Texts are written and recorded prompt by prompt."""

from __future__ import annotations

import pytest

from decoding.dice.sampling import Sampling
from decoding.errors import BadPrompt
from decoding.prompts.prompt import PromptItem
from decoding.replay.planning import study
from tests.kit.pairs import pair

pytestmark = pytest.mark.slow
SHARED = Sampling(temperature=1.0, max_new_tokens=20)
PROMPTS = [PromptItem(f"p{i}", "abcdefgh"[i % 8] * 3) for i in range(12)]


def test_a_cancelled_recording_leaves_no_half_text() -> None:
    told: list[int] = []
    found = study(
        pair(), PROMPTS, SHARED, tails=False, on_progress=told.append, cancelled=lambda: len(told) >= 3
    ).recordings
    assert len(found) == len(told) == 3
    assert all(len(recording.matches) == 20 for recording in found)


def test_a_prompt_that_leaves_no_room_is_refused_before_any_is_written() -> None:
    told: list[int] = []
    with pytest.raises(BadPrompt, match="Prompt long has 5000 tokens"):
        study(pair(), [*PROMPTS, PromptItem("long", "a" * 5000)], SHARED, tails=False, on_progress=told.append)
    assert not told
