"""Texts of a target alone, as replays read them: there is no draft to record along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.disco import features
from decoding.disco.recording import Recording
from decoding.measure.comparison import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prompts.prompt import PromptItem
from decoding.strategies import suffix
from decoding.trace.events import Recorder

WRITER = choose(suffix.STRATEGY.slug)  # fast on texts that repeat


def undrafted_texts(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    *,
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> list[Recording]:
    """Return one recording per prompt, in their order; fewer after a cancellation. An unusable prompt is refused before
    any text is written."""
    comparison = Measurement(pair, prompts, [WRITER], sampling, cancelled=cancelled)
    tokens = [comparison.tokens(prompt) for prompt in prompts]
    ends = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    found: list[Recording] = []
    for prompt, read in zip(prompts, tokens, strict=True):
        text = comparison.decode(SampleKey(WRITER, prompt, 0), Recorder()).tokens
        if cancelled():
            break  # the text is incomplete
        found.append(_recording(prompt.id, read, text, sampling.max_new_tokens, ends))
        on_progress(len(found))
    return found


def _recording(
    prompt: str, tokens: Sequence[int], text: Sequence[int], room: int, end_tokens: frozenset[int]
) -> Recording:
    count = len(text)
    return Recording(
        prompt=prompt,
        tokens=[*tokens, *text],
        prompt_tokens=len(tokens),
        matches=torch.zeros(count, dtype=torch.bool),
        accepted=torch.zeros(count),
        static=torch.empty(count, 0),
        tails=torch.empty(0, 0, features.STATIC),
        tail_room={},
        max_new_tokens=room,
        ended=bool(text) and text[-1] in end_tokens,
        end_tokens=end_tokens,
        preferred=torch.empty(count, 0, dtype=torch.long),
    )
