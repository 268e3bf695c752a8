"""Target passes of a run, and what one costs by the number of texts that share it. Standard library only.

Prompts of new requests are read in the same passes. A pass that read some is compared with the usual pass of as many
texts that read none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from decoding.measure.sample import SampleResult
from decoding.measure.spent import Passes, added
from decoding.trace.events import Verified

Line = Sequence[tuple[int, float]]  # (texts, ns of the usual pass), by rising number of texts


def of(samples: Iterable[SampleResult]) -> Passes:
    """Add up the passes of samples. Those of an earlier version did not keep who shared them."""
    kept = ((one.spent and one.spent.passes) or _unshared(one) for one in samples)
    return added(entry for passes in kept for entry in passes)


def _unshared(one: SampleResult) -> Passes:
    return ((1, False, one.num_target_passes, one.verify_ns),) if one.num_target_passes else ()


def usual(passes: Passes) -> Line:
    """Mean time of a pass that read no prompts, by the number of texts in it. Every pass, if all read some."""
    apart = [(texts, ns / count) for texts, read_prompts, count, ns in passes if not read_prompts]
    return apart or [(texts, ns / count) for texts, _, count, ns in passes]


def at(line: Line, texts: int) -> float:
    """Interpolate. Beyond its ends a line stays level: a few passes there say little about its slope."""
    after = next((number for number, (size, _) in enumerate(line) if size >= texts), len(line))
    if after in (0, len(line)):
        return line[min(after, len(line) - 1)][1]
    (few, low), (many, high) = line[after - 1], line[after]
    return low + (high - low) * (texts - few) / (many - few)


def price_of_row(own: Passes, plain: Passes) -> float:
    """Nanoseconds of a pass of one row for each text: autoregressive's, for as many texts as share the passes of this
    run. 0 if nothing was measured."""
    line, count = usual(plain), sum(count for _, _, count, _ in own)
    return sum(count * at(line, texts) for texts, _, count, _ in own) / count if line and count else 0.0


def of_prompts(passes: Passes, line: Line) -> float:
    """Nanoseconds that prompts of other texts add to these passes."""
    return sum(ns - count * at(line, texts) for texts, read_prompts, count, ns in passes if read_prompts)


def by_prompts(verdict: Verified, line: Line) -> float:
    """Nanoseconds that prompts of other texts add to the pass of one round."""
    return verdict.end_ns - verdict.start_ns - at(line, verdict.texts) if verdict.prompt_rows else 0.0
