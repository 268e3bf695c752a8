"""Write the target's texts, prompt by prompt, and record the draft along them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import torch

from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.core.loop import never
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.recording import Recording, record, undrafted
from decoding.measure.comparison import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prompts.prompt import PromptItem
from decoding.strategies import static, suffix
from decoding.trace.events import Recorder
from decoding.vocabularies.shared import require_scores

# If the dice fix the text, any strategy writes it, and WRITER is fast. Under ratio dice nearly every token must be
# drafted and judged, so DEEP_WRITER drafts long.
WRITER, DEEP_WRITER = (choose(static.STRATEGY.slug, {"lookahead": lookahead}) for lookahead in (3, 20))
COPIER = choose(suffix.STRATEGY.slug)  # writes the texts of a target alone: fast where they repeat


def record_texts(
    pair: ModelPair,
    prompts: Sequence[PromptItem],
    sampling: Sampling,
    tail_depth: int = 0,
    *,
    texts: Mapping[str, Sequence[int]] = MappingProxyType({}),
    on_progress: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
) -> list[Recording]:
    """Return one recording per prompt, in their order; fewer after a cancellation. An unusable prompt is refused before
    any text is written. `texts`, by prompt, are of a run with the same settings. A `tail_depth` of 0 records
    no tails. A target alone has no draft to record along the texts."""
    if pair.bridge:
        require_scores(pair.bridge.method, "A recording")
    writer = (WRITER if sampling.fixes_the_text else DEEP_WRITER) if pair.draft else COPIER
    comparison = Measurement(pair, prompts, [writer], sampling, cancelled=cancelled)
    for prompt in prompts:
        comparison.tokens(prompt)
    found: list[Recording] = []
    for prompt in prompts:
        text = texts.get(prompt.id) or comparison.decode(SampleKey(writer, prompt, 0), Recorder()).tokens
        if cancelled():
            break  # the text is incomplete
        found.append(_recorded(comparison, prompt, text, tail_depth))
        on_progress(len(found))
    return found


@torch.inference_mode()
def _recorded(comparison: Measurement, prompt: PromptItem, text: Sequence[int], depth: int) -> Recording:
    pair, sampling, tokens = comparison.models, comparison.sampling, comparison.tokens(prompt)
    end_tokens = frozenset[int]() if sampling.ignore_eos else pair.end_tokens
    if pair.draft is None:
        return undrafted(prompt.id, tokens, text, sampling.max_new_tokens, end_tokens)
    return record(
        prompt.id,
        tokens,
        text,
        draft=pair.draft,
        dice=dice_for(sampling, pair.vocab, comparison.seed(prompt, 0)),
        end_tokens=end_tokens,
        max_new_tokens=sampling.max_new_tokens,
        tail_depth=depth,
        judge=None if sampling.fixes_the_text else pair.target,
    )
