"""Doubts about servers: another text than the target's, figures that contradict the answer, prompts from a cache.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from decoding.measure.sample import SampleResult


def doubts(samples: Sequence[SampleResult]) -> list[str]:
    """One sentence for each server and kind of doubt."""
    by_label: dict[str, list[SampleResult]] = {}
    for sample in samples:
        if sample.reported:
            by_label.setdefault(sample.strategy, []).append(sample)
    return [sentence for label, own in by_label.items() for sentence in _of_server(label, own)]


def _of_server(label: str, samples: Sequence[SampleResult]) -> Iterable[str]:
    other = [s.audit for s in samples if s.audit and s.audit.outcome == "divergent"]
    if other:
        yield (
            f"{label} does not write the target's text on {len(other)} of {len(samples)} samples (first difference at "
            f"token {other[0].position}): it serves another model, or decodes with errors. Do not rely on its speed."
        )
    lied = [s.reported.doubt for s in samples if s.reported and s.reported.doubt]
    if lied:
        yield (
            f"{label} contradicts itself on {len(lied)} of {len(samples)} samples: {lied[0]}. Take its counts and "
            "rates as unknown."
        )
    cached = [s.reported.cached_tokens for s in samples if s.reported and s.reported.cached_tokens]
    if cached:
        yield (
            f"{label} took prompt tokens from its prefix cache on {len(cached)} of {len(samples)} samples, so its "
            "times to the first token are too good. Switch its prefix cache off."
        )
