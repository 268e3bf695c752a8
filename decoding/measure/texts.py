"""Texts that several strategies wrote, and what each would have proposed along them. Standard library only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from decoding.measure.sample import SampleResult
from decoding.measure.spent import ACCEPTED, BOUND, EMPTY, ENDS, REFUSED, REPLACED


class Texts:
    """Texts of a comparison: would the draft have proposed the token at which a round ended? Another strategy that
    drafted there along the same text knows."""

    def __init__(self, samples: Iterable[SampleResult]) -> None:
        self._places: dict[tuple[object, ...], list[str]] = defaultdict(list)
        for sample in samples:
            if sample.spent and sample.spent.drafted:
                self._places[_text(sample)].append(sample.spent.places)

    def ends(self, sample: SampleResult) -> Iterator[str]:
        """Yield for each round what became of it: `bound` if the oracle verifies there too, else the cause of this
        verification, with `?` if nobody knows what the draft would have proposed."""
        assert sample.spent
        places, others = sample.spent.places, self._places.get(_text(sample), [])
        ends = [at for at, letter in enumerate(places) if letter in ENDS]
        for at in ends[:-1]:
            yield self._end(places[at], [other[at] for other in others if at < len(other)])
        yield from [BOUND] * bool(ends)

    def _end(self, letter: str, others: Sequence[str]) -> str:
        cause = "misses" if letter == REPLACED else "early"
        if letter in (REFUSED, EMPTY):
            return BOUND
        if ACCEPTED in others:
            return cause
        return BOUND if REFUSED in others else f"{cause}?"


def _text(sample: SampleResult) -> tuple[object, ...]:
    assert sample.spent
    return sample.prompt, sample.repeat, sample.spent.drafter, tuple(sample.tokens)
