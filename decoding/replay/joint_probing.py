"""Measure what passes cost that several texts share, within seconds: the real loop, with drafts of fixed lengths."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import torch

from decoding.dice import NOISE_BLOCK, dice_for
from decoding.disco.classifier import Classifier
from decoding.disco.stops import estimating
from decoding.drafters.model import ModelDrafter
from decoding.drafters.rule import StopRule
from decoding.ending import Ending
from decoding.events import Drafted, Recorder, Verified
from decoding.loop import Batch
from decoding.models.devices import Launched
from decoding.replay.joint_costs import JointCosts
from decoding.sequence import Sequence as Text
from decoding.stopping import no_words
from decoding.strategy import Policy
from decoding.timing import Clock

if TYPE_CHECKING:
    from decoding.pair import Pair
    from decoding.serving import Place, Places
    from decoding.spec import Sampling

LOOKAHEADS = (0, 1, 3, 7)
PROMPTS = (2, 32, 128)  # tokens
ROUNDS = 6  # of each lookahead, after one that finds cold caches
LENGTH = 96  # tokens of the texts, as in the middle of a usual answer


class Fixed(StopRule):
    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead


class Looking(Policy):
    """Looks at the estimate of each token, and drafts so many all the same."""

    sees = "estimate"

    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead

    def stops(self, seen: float) -> bool:
        return False


Rule = Callable[[int], StopRule]


def measure(
    pair: Pair, places: Places, most: int, sampling: Sampling, classifier: Classifier | None = None
) -> JointCosts:
    """Measure 1, 2, 4, … texts, up to `most` of them. With a classifier, a draft step includes its looks."""
    rule = partial(_looking, classifier) if classifier else Fixed
    taken = [place for _ in range(most) if (place := places.take(most))]
    most = len(taken)
    sizes = [size for size in (2**power for power in range(9)) if size < most] + [most]
    try:
        with torch.inference_mode():
            found = {size: [_measured(pair, taken[:size], rule, k, sampling) for k in LOOKAHEADS] for size in sizes}
            prompts = [(length, _reading(pair, taken[0], length, sampling)) for length in PROMPTS]
    finally:
        for place in taken:
            places.give_back(place)
    drafting = {
        size: _line([(k, drafted) for k, (drafted, _, _) in zip(LOOKAHEADS, of, strict=True) if k])
        for size, of in found.items()
    }
    return JointCosts(
        verify={
            size: [(size * (k + 1), verify) for k, (_, verify, _) in zip(LOOKAHEADS, of, strict=True)]
            for size, of in found.items()
        },
        draft=[(size, step) for size, (step, _) in drafting.items()],
        begin=[(size, besides) for size, (_, besides) in drafting.items()],
        rest=[(size, statistics.median(rest for _, _, rest in of)) for size, of in found.items()],
        prompts=prompts,
        noise=(NOISE_BLOCK, _noise(pair, sampling)),
    )


def _line(points: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Fit seconds of a step, and of a draft besides its steps."""
    step, besides = statistics.linear_regression(*zip(*points, strict=True))
    if step > 0 and besides > 0:
        return step, besides
    return statistics.median(seconds / steps for steps, seconds in points), 0.0


def _noise(pair: Pair, sampling: Sampling) -> float:
    """Seconds of a block of a text's random numbers: the first look at a position makes it."""
    dice = dice_for(sampling, pair.vocab, 0)
    scores = torch.zeros(1, pair.vocab, device=pair.target.device)
    extra = []
    for block in range(ROUNDS):
        look = partial(dice.preferences, scores, [[0] * (block * NOISE_BLOCK)])
        first, again = (_seconds(look, pair) for _ in range(2))
        extra.append(first - again)
    return max(0.0, statistics.median(extra))


def _seconds(work: Callable[[], object], pair: Pair) -> float:
    began = time.perf_counter()
    work()
    Launched(pair.target.device).wait()
    return time.perf_counter() - began


def _looking(classifier: Classifier, lookahead: int) -> StopRule:
    return estimating(Looking(lookahead), classifier, no_words)


def _measured(
    pair: Pair, places: Sequence[Place], rule: Rule, lookahead: int, sampling: Sampling
) -> tuple[float, float, float]:
    """Median seconds of a round's drafting, of its verification, and of its rest."""
    batch, clock = Batch(), Clock()  # one clock, so that the texts' times can be compared
    texts = [_text(pair, place, rule(lookahead), number, sampling, clock) for number, place in enumerate(places)]
    for text in texts:
        batch.admit(text)
    while any(text.is_reading for text in texts):
        batch.step()
    rounds = []
    for _ in range(ROUNDS + 1):
        began = time.perf_counter()
        batch.step()
        rounds.append(time.perf_counter() - began)
    parts = list(_parts(texts))[1:]
    rest = [whole - drafting - verifying for whole, (drafting, verifying) in zip(rounds[1:], parts, strict=True)]
    drafting, verifying = (statistics.median(column) for column in zip(*parts, strict=True))
    return drafting, verifying, max(0.0, statistics.median(rest))


def _reading(pair: Pair, place: Place, length: int, sampling: Sampling) -> float:
    """Median seconds in which the draft reads a prompt."""
    text = _text(pair, place, Fixed(1), length, sampling, Clock())
    prompt = [(5 * at) % pair.vocab for at in range(min(length, place.target.context // 2))]
    times = []
    for _ in range(ROUNDS + 1):
        times.append(_seconds(lambda: text.drafter.prepare(prompt), pair))
    return statistics.median(times[1:])


def _parts(texts: Sequence[Text]) -> Iterator[tuple[float, float]]:
    """Seconds of drafting and of verifying, for each round: from the first text that began to the last that ended."""
    for number in range(1, ROUNDS + 2):
        events = [e for text in texts for e in text.sink.events if getattr(e, "round", 0) == number]  # type: ignore[attr-defined]
        yield _span(e for e in events if isinstance(e, Drafted)), _span(e for e in events if isinstance(e, Verified))


def _span(events: Iterator[Drafted] | Iterator[Verified]) -> float:
    times = [(event.start_ns, event.end_ns) for event in events]
    return (max(end for _, end in times) - min(start for start, _ in times)) * 1e-9 if times else 0.0


def _text(pair: Pair, place: Place, rule: StopRule, number: int, sampling: Sampling, clock: Clock) -> Text:
    """A text that does not end. What it says does not matter: a pass takes the same time."""
    assert place.draft, "a batch of drafts is measured with a draft"
    length = max(1, min(LENGTH, pair.target.context // 2, place.draft.context // 2))
    prompt = [(7 * number + 3 * at) % pair.vocab for at in range(length)]
    dice = dice_for(sampling, pair.vocab, number)
    drafter = ModelDrafter(place.draft, rule, dice, (), pair.choosings.of(sampling, None))
    return Text(prompt, 10**6, Ending(frozenset()), place.target, drafter, dice, Recorder(), clock)
