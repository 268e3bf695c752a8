"""Figures of the DISCO paper about the oracle: its lookahead in each round, and the passes that it saves."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from decoding.drafting.source import Chain
from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import NOT_READ, NOT_SEEN
from decoding.prices.cost_model import Counts
from decoding.replay.oracle import BINS, lookaheads
from decoding.strategies.oracle import UntilRefused

STATIC, UNLIMITED = 5, 1 << 30
LONGEST = 20  # all that is longer counts as this
MOST = 6  # categories, the largest first
PASSES = ("target", "draft, accepted tokens", "draft, with the refused")

Rounds = Sequence[Sequence[int]]
Part = tuple[Counts, Counts]  # of the oracle and of static, on one prompt
COUNTED: Sequence[Callable[[Counts], int]] = (
    lambda counts: counts.target_passes,
    lambda counts: counts.accepted,
    lambda counts: counts.draft_passes,
)


def rounds_of(evidence: Evidence) -> Rounds:
    """Return the oracle's lookahead in each round of each text."""
    return [lookaheads(record) for record in evidence.study.records]


def in_one_text(evidence: Evidence) -> FigurePart:
    rounds = rounds_of(evidence)
    typical = sorted(range(len(rounds)), key=lambda i: statistics.pstdev(rounds[i]))[len(rounds) // 2]
    shown, name = rounds[typical], evidence.study.recordings[typical].prompt
    points = [(number, Estimate(float(length))) for number, length in enumerate(shown, 1)]
    level = [(number, Estimate(float(STATIC))) for number in (1, len(shown))]
    return FigurePart(
        [series(f"oracle, prompt {name}", "computed", points), series(f"static, {STATIC} tokens", "computed", level)],
        f"The prompt with the median variation is shown: {min(shown)} to {max(shown)} tokens in {len(shown)} rounds. "
        "One text of another pair cannot agree round by round; the paper's point is the variation.",
    )


def over_texts(evidence: Evidence) -> FigurePart:
    rounds = rounds_of(evidence)
    points = [*by_progress(rounds)]
    means = [found.value for _, found in points]
    return FigurePart(
        [series("this pair", "computed", points)],
        f"The mean of a twentieth of the text lies between {min(means):.1f} and {max(means):.1f} tokens here. The "
        f"paper averages over Alpaca, and we over {len(rounds)} other prompts.",
    )


def by_progress(rounds: Rounds) -> Iterator[tuple[float, Estimate]]:
    """Mean lookahead in each twentieth of the rounds, over the prompts that have rounds there."""
    for number in range(BINS):
        inside = [found for one in rounds if (found := _within([one], number))]
        if inside:
            yield (number + 0.5) / BINS, estimate(inside, _mean)


def _within(rounds: Rounds, number: int) -> list[int]:
    return [n for one in rounds for at, n in enumerate(one) if BINS * at // len(one) == number]


def _mean(part: Rounds) -> float:
    return statistics.fmean(length for one in part for length in one)


def shares(evidence: Evidence) -> FigurePart:
    rounds = rounds_of(evidence)
    points = [(n, estimate(rounds, lambda part, n=n: share_of(part, n))) for n in range(LONGEST + 1)]  # type: ignore[misc]
    none = points[0][1].value
    return FigurePart(
        [series("this pair", "computed", points)],
        "The shape depends on how well the draft fits: here the target refuses the first drafted token in "
        f"{100 * none:.0f} % of rounds. The paper's pairs and prompts are others.",
    )


def share_of(rounds: Rounds, length: int) -> float:
    counted = Counter(min(n, LONGEST) for one in rounds for n in one)
    return counted[length] / max(1, counted.total())


def by_category(evidence: Evidence) -> FigurePart:
    rounds = rounds_of(evidence)
    largest = sorted(evidence.categories.items(), key=lambda item: -len(item[1]))[:MOST]
    shown = [series(name, "computed", [*by_progress([rounds[i] for i in places])]) for name, places in largest]
    counts = ", ".join(f"{name} {len(places)}" for name, places in largest)
    return FigurePart(
        shown,
        f"The paper has four data sets; we compare categories of one prompt set ({counts} prompts). Fewer than four "
        "prompts of a category have no interval.",
    )


def passes(evidence: Evidence) -> FigurePart:
    study = evidence.study
    oracle = study.count(lambda: UntilRefused(UNLIMITED)).parts
    static = study.count(lambda: Chain(STATIC)).parts
    parts = [*zip(oracle, static, strict=True)]
    found = [(number, _ratio(parts, number)) for number in range(len(PASSES))]
    return FigurePart(
        [series("this pair", "computed", found, is_line=False)],
        f"The oracle needs {100 * (1 - found[0][1].value):.0f} % fewer target passes here and 29 % fewer in the "
        "authors' example, which is one text. They do not say whether the refused token counts, so both counts of "
        "ours are shown.",
    )


def _ratio(parts: Sequence[Part], number: int) -> Estimate:
    above, below = COUNTED[number], COUNTED[2 if number else 0]  # what static drafts is the same in both counts
    return estimate(
        parts, lambda part: sum(above(oracle) for oracle, _ in part) / sum(below(static) for _, static in part)
    )


FIGURES = (
    Figure(
        slug="disco-2",
        paper=DISCO,
        number="Figure 2",
        title="Oracle's lookahead in each round of one text",
        x=Axis("round"),
        y=Axis("tokens"),
        draw=in_one_text,
        uses=("study",),
        unpublished=NOT_READ,
    ),
    Figure(
        slug="disco-3",
        paper=DISCO,
        number="Figure 3",
        title="Oracle's mean lookahead over the normalised round index",
        x=Axis("progress through the text", "share"),
        y=Axis("tokens"),
        draw=over_texts,
        uses=("study",),
        unpublished=NOT_READ,
    ),
    Figure(
        slug="disco-4",
        paper=DISCO,
        number="Figure 4",
        title="Rounds by the oracle's lookahead",
        x=Axis(f"oracle's lookahead, tokens ({LONGEST}: or more)"),
        y=Axis("share of rounds", "share"),
        draw=shares,
        uses=("study",),
        unpublished=f"{NOT_SEEN} The paper reports a high variance across rounds.",
    ),
    Figure(
        slug="disco-5",
        paper=DISCO,
        number="Figure 5",
        title="Oracle's mean lookahead on different kinds of prompts",
        x=Axis("progress through the text", "share"),
        y=Axis("tokens"),
        draw=by_category,
        needs=("several categories",),
        uses=("study",),
        unpublished=NOT_SEEN,
    ),
    Figure(
        slug="disco-passes",
        paper=DISCO,
        number="Example",
        title="Passes of an oracle over those of a static lookahead of 5",
        x=Axis("", names=PASSES),
        y=Axis("oracle / static, 5 tokens", "share"),
        draw=passes,
        uses=("study",),
        published=(
            published(
                "one MBPP sample",
                [(0, 27 / 38), (1, 129 / 192), (2, 129 / 192)],
                "A",
                "the authors' post on dynamic speculation: 27 of 38 target and 129 of 192 draft passes, either count",
                is_line=False,
            ),
        ),
    ),
)
