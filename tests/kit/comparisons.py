"""Comparisons decoded at given speeds, and tables read back from downloads."""

from __future__ import annotations

from decoding.choice import parse_choices
from decoding.measure.sample import sample_from_dict
from tests.kit import make
from tests.kit.teams import World
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample


def decoded_at(world: World, speeds: dict[str, float]) -> Comparison:
    """A comparison whose strategies decode so many tokens a second, and a little more from text to text."""
    by = world.actor(world.bob)
    strategies = [{"strategy": choice.strategy, "params": choice.params} for choice in parse_choices(",".join(speeds))]
    comparison = make.comparison(by, dataset=make.dataset(by, count=6), strategies=strategies)
    make.decode_all(comparison)
    for number, sample in enumerate(Sample.objects.filter(run__comparison=comparison).order_by("created")):
        sample.numbers["decode_ns"] = round(sample.numbers["timed_tokens"] * 1e9 / (speeds[sample.run.label] + number))
        sample.tokens_per_s = sample_from_dict(sample.numbers).tokens_per_s
        sample.save()
    return comparison


def state(comparison: Comparison) -> str:
    """State of its job as it is now."""
    comparison.job.refresh_from_db()
    return comparison.job.state


def is_whole(sample: Sample) -> bool:
    """Every event is there, in order, and every token of it has its text."""
    part = trace.read(sample=sample, after=0, limit=100_000)
    tokens = {str(token) for event in part.events for token in event.get("tokens", [])}
    seqs = [event["seq"] for event in part.events]
    return seqs == list(range(1, (sample.last_seq or 0) + 1)) and tokens <= set(part.words)
