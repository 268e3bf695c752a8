"""One comparison: what is missing of it, prompt by prompt, each sample reported as it is finished."""

from __future__ import annotations

import os
import platform
import traceback
from collections.abc import Callable, Iterator, Sequence

import torch
import transformers

from decoding.comparison import Comparison, Key, Pair
from decoding.devices import device_called
from decoding.errors import DrafthouseError
from decoding.spec import Choice
from decoding.summary import Sample
from worker.engine.residents import Residents, Spot
from worker.engine.tracing import Tracing, which
from worker.messages import Audited, Began, Broke, Compare, Decoded, Loaded, Report

Say = Callable[[Report], None]


def compare(order: Compare, residents: Residents, say: Say, cancelled: Callable[[], bool]) -> None:
    pair, loaded = load_pair(order, residents)
    say(loaded)
    with Tracing(say, pair.tokenizer.decode) as tracing:
        comparison = Comparison(
            pair,
            order.prompts,
            order.choices,
            order.sampling,
            order.repeats,
            sink_for=tracing.sink_for,
            cancelled=cancelled,
        )
        comparison.warm_up()
        before = {(sample.strategy, sample.prompt, sample.repeat): sample for sample in order.finished}
        for group in comparison.schedule():
            prompt, repeat = group[0].prompt, group[0].repeat
            if (prompt.id, repeat) in order.settled:
                continue
            samples = [before[which(key)] for key in group if which(key) in before]
            left = [key for key in group if which(key) not in before and which(key) not in order.given_up]
            samples += decode_all(comparison, left, tracing, say)
            if cancelled():
                return
            say(Audited([sample for sample in comparison.audited(prompt, samples) if sample.audit]))


def decode_all(comparison: Comparison, keys: Sequence[Key], tracing: Tracing, say: Say) -> Iterator[Sample]:
    """A sample that breaks costs itself; the rest goes on."""
    for key in keys:
        if comparison.cancelled():
            return
        say(Began(which(key)))
        try:
            sample = comparison.sample(key)
        except DrafthouseError as error:
            say(Broke(which(key), str(error)))
        except Exception as error:
            traceback.print_exc()
            say(Broke(which(key), f"The engine met an error of its own: {type(error).__name__}: {error}"))
        else:
            if sample.reason == "cancelled":
                return
            say(Decoded(sample, tracing.flush()))
            yield sample


def load_pair(order: Compare, residents: Residents) -> tuple[Pair, Loaded]:
    device = device_called(order.device)
    spots = [Spot(folder, str(device), role) for folder, role in ((order.target, "target"), (order.draft, "draft"))]
    target = residents.load(spots[0])
    draft = residents.load(spots[1], keep=spots[0])
    facts = target.runner.facts
    pair = Pair(
        target=target.runner,
        draft=draft.runner,
        tokenizer=target.tokenizer,
        end_tokens=target.end_tokens,
        dtype=getattr(torch, facts.dtype),
        target_folder=target.folder.path,
        draft_folder=draft.folder.path,
    )
    hardware: dict[str, object] = {
        "device": facts.device,
        "device_name": facts.device_name,
        "cores": os.cpu_count(),
        "threads": facts.threads,
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }

    def runner_of(choice: Choice) -> str:
        if choice.spec.role == "peer":
            return "transformers"
        runners = [facts.runner] + ([draft.runner.facts.runner] if choice.spec.role != "baseline" else [])
        return " and ".join(dict.fromkeys(runners))

    return pair, Loaded(hardware, {choice.label: runner_of(choice) for choice in order.choices})
