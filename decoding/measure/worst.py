"""Worst: prompts ranked by what a strategy loses on them, and those prompts as a file that our readers take.

Such a file is data to train a draft or a classifier on. Standard library only.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.core.load import ONE
from decoding.measure.sample import SampleResult
from decoding.measure.speedups import judged_speed
from decoding.prompts.chat.messages import Chat
from decoding.prompts.prompt import PromptItem, messages_to, turns_to

MOST = 10_000  # prompts in one file
USUAL = 50
SPLITS = {"train", "validation", "test"}  # that training needs


@dataclass(frozen=True, slots=True)
class Loss:
    """Loss of a strategy on one prompt: the median over repeats."""

    prompt: str
    speedup: float
    lost_ms: float  # longer than the baseline took; negative if it was faster
    draft_acceptance_rate: float | None


def ranked_by_loss(samples: Iterable[SampleResult], baseline: Iterable[SampleResult]) -> list[Loss]:
    """Rank the prompts of a strategy's samples, the lowest speed-up first."""
    base = {(sample.prompt, sample.repeat): sample for sample in baseline}
    found: dict[str, list[tuple[SampleResult, SampleResult]]] = {}
    for sample in samples:
        beside = base.get((sample.prompt, sample.repeat))
        speed = judged_speed(sample.load)
        if beside and speed(beside) and speed(sample):
            found.setdefault(sample.prompt, []).append((sample, beside))
    return sorted((_loss(prompt, pairs) for prompt, pairs in found.items()), key=lambda loss: loss.speedup)


def lines(losses: Iterable[Loss], prompts: Iterable[PromptItem], baseline: Iterable[SampleResult]) -> Iterator[str]:
    """Yield each prompt as a line of JSON, the worst first. A later turn is written with the turns and answers before
    it, so that it stands alone. Splits are written only if each has a prompt: training refuses a file that lacks one,
    and deals out prompts without splits."""
    by_id = {prompt.id: prompt for prompt in prompts}
    losses = list(losses)
    keeps_splits = {by_id[loss.prompt].split for loss in losses} >= SPLITS
    answers: dict[str, str] = {}
    for sample in sorted(baseline, key=lambda sample: sample.repeat):
        answers.setdefault(sample.prompt, sample.answer or sample.text)
    for loss in losses:
        yield json.dumps(_row(loss, by_id, answers, keeps_splits), ensure_ascii=False) + "\n"


def _row(loss: Loss, by_id: Mapping[str, PromptItem], answers: Mapping[str, str], keeps_splits: bool) -> dict[str, Any]:
    prompt = by_id[loss.prompt]
    split = prompt.split if keeps_splits else ""
    kept = {"category": prompt.category, "split": split, "reference": prompt.reference}
    return {
        "id": prompt.id,
        **(_chat(prompt, prompt.chat, by_id, answers) if prompt.chat else {"text": prompt.text}),
        **{name: value for name, value in kept.items() if value},
        "answer": answers.get(prompt.id, ""),
        "speedup": round(loss.speedup, 4),
        "lost_ms": round(loss.lost_ms, 3),
        "draft_acceptance_rate": loss.draft_acceptance_rate,
    }


def _chat(
    prompt: PromptItem, chat: Chat, by_id: Mapping[str, PromptItem], answers: Mapping[str, str]
) -> dict[str, Any]:
    messages = messages_to(turns_to(prompt, by_id), lambda turn: answers.get(turn.id, ""))
    sent = {"tools": list(chat.tools), "max_tokens": prompt.max_tokens}
    return {"messages": messages, **{name: value for name, value in sent.items() if value}}


def _loss(prompt: str, pairs: Sequence[tuple[SampleResult, SampleResult]]) -> Loss:
    drafted, speed = sum(sample.num_draft_tokens or 0 for sample, _ in pairs), judged_speed(pairs[0][0].load)
    return Loss(
        prompt,
        statistics.median(speed(sample) / speed(beside) for sample, beside in pairs),
        statistics.median(_judged_ns(sample) - _judged_ns(beside) for sample, beside in pairs) / 1e6,
        sum(sample.num_accepted_draft_tokens or 0 for sample, _ in pairs) / drafted if drafted else None,
    )


def _judged_ns(sample: SampleResult) -> int:
    return sample.decode_ns if sample.load == ONE else sample.request_ns
