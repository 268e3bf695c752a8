"""Probing: what passes cost that several texts share, measured within seconds in the real loop, with drafts of fixed
lengths; and texts whose drafts are prescribed, for any probe."""

from __future__ import annotations

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING

import torch

from decoding.backends.serving import CachePool, TextCaches
from decoding.core.ending import Ending
from decoding.core.loop import Batch
from decoding.core.sequence import Sequence as Text
from decoding.dice.dice import NOISE_BLOCK, dice_for
from decoding.disco.classifier import DraftClassifier
from decoding.disco.estimating import estimate_of
from decoding.drafting.driver import DraftDriver
from decoding.drafting.source import Chain, Copying, Source, View
from decoding.models.devices import Launched
from decoding.prices.cost_model import CostModel
from decoding.prices.fit import fitted, rising
from decoding.trace.events import Drafted, Recorder, Verified
from decoding.trace.timing import Clock

if TYPE_CHECKING:
    from decoding.backends.pair import ModelPair
    from decoding.dice.dice import Dice
    from decoding.dice.sampling import Sampling
    from decoding.drafting.features import Feature
    from decoding.models.runner import ModelRunner

LOOKAHEADS = (0, 1, 3, 7)
PROMPTS = (2, 32, 128)  # tokens
PIECES = (1, 32, 128)  # tokens of a prompt that the target reads
TURNS = 3  # of all settings
ROUNDS = 4  # of a setting in a turn
COLD = 2  # before them: they find the caches of another setting
LENGTH = 96  # tokens of the texts, as in the middle of a usual answer
GROWTH = 2 * (COLD + ROUNDS) * (1 + max(LOOKAHEADS))  # at most, in a turn: among so many texts, and among all
ROOM = 2 * max(*PROMPTS, *PIECES)  # tokens of a place; `LENGTH` and its growth fit too
NOTHING = CostModel({})
ENDLESS = Ending(frozenset())


class AnyTokens(Copying):
    """Proposes so many tokens in each round. What they are does not change how long their verification takes."""

    lookahead = sys.maxsize

    def __init__(self, lengths: Iterator[int]) -> None:
        self._lengths = lengths

    def follow(self, text: Sequence[int]) -> None:
        self._last = text[-1]

    def copied(self) -> Sequence[int]:
        return [self._last] * next(self._lengths)


def text_of(
    pair: ModelPair,
    place: TextCaches,
    prompt: Sequence[int],
    dice: Dice,
    source: Source,
    clock: Clock,
    *,
    feature: Feature | None = None,
    ending: Ending = ENDLESS,
    most: int = 10**6,
) -> Text:
    """Make a text for which this source drafts, with the pair's draft model unless it copies."""
    view = View(ends=() if source.copies else ending.end_tokens, vocab=dice.vocab, now=clock.now)
    picker = pair.pickers.of(dice.sampling, feature.look if feature else None)
    drafter = DraftDriver(source, view, dice, None if source.copies else place.draft, feature, picker)
    return Text(prompt, most, ending, place.target, drafter, dice, Recorder(), clock)


Rounds = dict[str, list[float]]  # seconds of rounds: "drafting", "verifying", and the "rest"


@dataclass
class Probing:
    """Prices of passes that 1, 2, 4, … texts share, up to `most` of them, in places for `room` tokens. With a
    classifier, a draft step includes its looks.

    All settings take turns, so that a busy moment falls on a few rounds of each. What runs between two turns meets the
    machine that they meet."""

    pair: ModelPair
    most: int
    sampling: Sampling
    places: CachePool
    classifier: DraftClassifier | None = None
    room: int = ROOM
    _rounds: dict[tuple[int, int], Rounds] = field(default_factory=dict)  # by texts and lookahead
    _prompts: dict[int, list[float]] = field(default_factory=lambda: {length: [] for length in PROMPTS})
    _pieces: dict[int, list[float]] = field(default_factory=lambda: {length: [] for length in PIECES})
    _noise: list[float] = field(default_factory=list)

    def measured(self, like: CostModel = NOTHING) -> CostModel:
        """Take all turns. What is not measured here costs as in `like`, for whose texts these prices are."""
        for _ in range(TURNS):
            self.take_turn()
        return self.costs(like)

    def take_turn(self) -> None:
        taken = [place for _ in range(self.most) if (place := self.places.take(self.most, self.room))]
        try:
            with torch.inference_mode():
                for lookahead in LOOKAHEADS:
                    self._play_all(taken, lookahead)
                for length, found in self._prompts.items():
                    text = self._text(taken[0], 1, length, Clock())
                    found += self._each_of(partial(text.drafter.prepare, self._tokens(taken[0], length)))
                for length, found in self._pieces.items():
                    found += self._each_of(partial(_read_again, taken[0].target, self._tokens(taken[0], length)))
        finally:
            for place in taken:
                self.places.give_back(place)
        self._time_noise()

    def costs(self, like: CostModel = NOTHING) -> CostModel:
        """Return the medians of all turns."""
        sizes = sorted({size for size, _ in self._rounds})
        rest = {size: self._usual("rest", size, 0) for size in sizes}
        drafting = {size: fitted({k: [self._drafting(size, k) - rest[size]] for k in LOOKAHEADS[1:]}) for size in sizes}
        pieces = [(length, statistics.median(seconds)) for length, seconds in self._pieces.items()]
        found = replace(
            like,
            target={
                size: rising({size * (k + 1): self._rounds[size, k]["verifying"] for k in LOOKAHEADS}) for size in sizes
            },
            steps={size: [(size, step)] for size, (step, _) in drafting.items()},
            begin=[(size, besides) for size, (_, besides) in drafting.items()],
            rest=[*rest.items()],
            prompts=[(length, statistics.median(seconds)) for length, seconds in self._prompts.items()],
            pieces=[(length, max(0.0, seconds - pieces[0][1])) for length, seconds in pieces],
            noise=(NOISE_BLOCK, max(0.0, statistics.median(self._noise))),
            context=like.context and like.context._replace(tokens=LENGTH + GROWTH / 2),
        )
        return found.at(like.context.tokens) if like.context else found

    def _drafting(self, size: int, lookahead: int) -> float:
        """Seconds of a round besides its verification."""
        return self._usual("drafting", size, lookahead) + self._usual("rest", size, lookahead)

    def _usual(self, part: str, size: int, lookahead: int) -> float:
        return statistics.median(self._rounds[size, lookahead][part])

    def _play_all(self, places: Sequence[TextCaches], lookahead: int) -> None:
        """Play a few rounds of every number of texts, with texts as they are in the middle of a usual answer."""
        clock = Clock()  # one, so that the texts' times can be compared
        texts = [self._text(place, lookahead, number, clock) for number, place in enumerate(places)]
        batch, first = Batch(), 0
        for text in texts:
            batch.admit(text)
        while any(text.is_reading for text in texts):
            batch.play_round()
        for size in [*(2**power for power in range(9) if 2**power < len(texts)), len(texts)]:
            found = self._rounds.setdefault((size, lookahead), defaultdict(list))
            start = first % (len(texts) - size + 1)
            batch.sequences = [text for text in texts[start : start + size] if not text.has_ended]  # by a short context
            first += size  # so that all texts grow alike
            for _ in range(COLD):
                batch.play_round()
            for _ in range(ROUNDS):
                _play(batch, found)

    def _text(self, place: TextCaches, lookahead: int, number: int, clock: Clock) -> Text:
        """Make a text that does not end. What it says does not matter: a pass takes the same time."""
        contexts = [runner.context for runner in (place.target, place.draft) if runner]
        length = max(1, min(LENGTH, min(contexts) - GROWTH))
        prompt = [(7 * number + 3 * at) % self.pair.vocab for at in range(length)]
        dice = dice_for(self.sampling, self.pair.vocab, number)
        source = Chain(lookahead) if place.draft else AnyTokens(repeat(lookahead))
        feature = estimate_of(self.classifier) if self.classifier else None
        return text_of(self.pair, place, prompt, dice, source, clock, feature=feature)

    def _tokens(self, place: TextCaches, length: int) -> list[int]:
        return [(5 * at) % self.pair.vocab for at in range(min(length, place.target.context // 2))]

    def _time_noise(self) -> None:
        """Time a block of a text's random numbers: the first look at a position makes it."""
        dice = dice_for(self.sampling, self.pair.vocab, 0)
        scores = torch.zeros(1, self.pair.vocab, device=self.pair.target.device)
        for block in range(ROUNDS):
            look = partial(dice.preferences, scores, [[0] * (block * NOISE_BLOCK)])
            first, again = (self._seconds(look) for _ in range(2))
            self._noise.append(first - again)

    def _each_of(self, work: Callable[[], object]) -> list[float]:
        """Seconds of every time but the first ones."""
        return [self._seconds(work) for _ in range(COLD + ROUNDS)][COLD:]

    def _seconds(self, work: Callable[[], object]) -> float:
        began = time.perf_counter()
        work()
        Launched(self.pair.target.device).wait()
        return time.perf_counter() - began


def _play(batch: Batch, found: Rounds) -> None:
    sinks = [text.sink.events for text in batch.sequences]  # type: ignore[attr-defined]
    before = [len(events) for events in sinks]
    began = time.perf_counter()
    batch.play_round()
    whole = time.perf_counter() - began
    events = [event for own, count in zip(sinks, before, strict=True) for event in own[count:]]
    drafting = _span(event for event in events if isinstance(event, Drafted))
    verifying = _span(event for event in events if isinstance(event, Verified))
    found["drafting"].append(drafting)
    found["verifying"].append(verifying)
    found["rest"].append(max(0.0, whole - drafting - verifying))


def _span(events: Iterable[Drafted | Verified]) -> float:
    times = [(event.start_ns, event.end_ns) for event in events]
    return (max(end for _, end in times) - min(start for start, _ in times)) * 1e-9 if times else 0.0


def _read_again(target: ModelRunner, tokens: Sequence[int]) -> None:
    target.rewind(0)
    target.extend(tokens)
