"""Cost model: what the passes of a pair cost on one machine, for one text and for many. Standard library only.

`decoding.prices.fit` reads it from traces, probes measure what it reads, and a machine card states it. One text is a
batch of one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple

Line = Sequence[tuple[float, float]]  # points, by rising first value
Table = Mapping[int, Line]  # by texts that share a pass: (rows of all of them, seconds)

LATE = 8  # rows of a draft pass from which the price of one more is taken


@dataclass
class Counts:
    """How often each kind of pass would run."""

    tokens: int = 0
    rounds: Counter[int] = field(default_factory=Counter)  # drafted tokens that the target judged -> number of rounds
    accepted: int = 0
    drafts: int = 0  # rounds in which the draft model ran
    draft_passes: int = 0
    catch_ups: int = 0  # first draft passes with two rows: the draft had not seen the last accepted token
    late_rows: int = 0  # further rows of first draft passes, after rounds without one or a copy
    mixed: int = 0  # rounds that weighed a copy against the draft model
    trees: int = 0  # rounds whose draft was a tree
    in_trees: int = 0  # drafted tokens of trees
    parts: list[Counts] = field(default_factory=list, compare=False, repr=False)  # the counts of each record

    @property
    def target_passes(self) -> int:
        return self.rounds.total()

    @property
    def drafted(self) -> int:
        """Tokens drafted or copied, and judged."""
        return sum(drafted * rounds for drafted, rounds in self.rounds.items())

    def note(
        self, drafted: int, accepted: int, passes: int, read: int, *, is_tree: bool, is_mixed: bool = False
    ) -> None:
        """Count a round. The first pass of the draft model read so many rows."""
        self.rounds[drafted] += 1
        self.accepted += accepted
        self.mixed += is_mixed
        if passes:
            self.drafts += 1
            self.draft_passes += passes
            self.catch_ups += read > 1
            self.late_rows += max(0, read - 2)
        if is_tree:
            self.trees += 1
            self.in_trees += drafted

    def add(self, part: Counts) -> None:
        for name in vars(part).keys() - {"parts"}:
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self.parts.append(part)


class Context(NamedTuple):
    """Tokens of the texts before a pass, when it was measured, and what one more adds to it, for each text."""

    tokens: float  # mean
    longest: float
    target: float | None  # None: unknown
    draft: float | None


@dataclass(frozen=True)
class CostModel:
    """Seconds on one machine for one pair. What nobody measured costs nothing."""

    target: Table  # verifications, with their choices
    steps: Table = field(default_factory=lambda: {1: ((1, 0.0),)})  # passes of the draft model, with their choices
    begin: Line = ((1, 0.0),)  # by texts: what drafting adds to a round besides its steps
    rest: Line = ((1, 0.0),)  # by texts: a round without drafts, besides its verification
    source: str = "measured here"

    # Of one text
    catch_up: float = 0.0  # extra for a draft whose first pass has two rows
    late: float | None = None  # extra for each further row of it; None: as passes of more rows say
    token: float = 0.0  # of each generated token: noise that is made in blocks, a sample's cold start
    reading: float = 0.0  # a look at the draft's own probability, of each drafted token
    decision: float = 0.0  # a classifier's decision, of each drafted token
    tree: float = 0.0  # extra for a tree: its passes are not those of a chain
    in_tree: float = 0.0  # and for each of its drafted tokens: its row in the draft's passes, its mask and list
    mixing: float = 0.0  # extra for a round that looks for a copy and weighs it against the draft model

    # Of prompts
    prompts: Line = ((0, 0.0),)  # (tokens, seconds in which the draft reads a prompt of one text, while all wait)
    pieces: Line = ()  # (tokens of prompts, seconds that reading them adds to a pass of the target)
    noise: tuple[int, float] = (1, 0.0)  # (tokens, seconds) of a block of a text's random numbers

    # Of drafts that are prepared ahead
    branches: Line = ()  # (branches, seconds of one step of all of them); without any, it is a pass of as many rows
    opening: float = 0.0  # before the first step: the winner's cache, the row after its last token, the forks
    opening_read: float = 0.0  # the same if that row had been read before
    taking: float = 0.0  # taking a draft that is ready: from the target's verdict to the draft in its hands
    answer: float = 0.0  # any other answer without the model: from the verdict read to the draft sent
    transport: float = 0.0  # one message, one way
    turning: float = 0.0  # from a draft sent to the beginning of the preparation beside it
    start: float = 0.0  # what the first round of a text takes on top: it finds cold caches
    slower: float = 1.0  # how many times as long a verification beside the draft takes at most: they share the memory
    delay: float = 1.0  # seconds that it takes longer for each second in which the draft works meanwhile

    context: Context | None = None  # of the texts that were measured; None: nobody noted it

    # Passes --------------------------------------------------------------------------------------------------------

    def verify(self, texts: int, rows: float) -> float:
        """Seconds of a verification of so many rows that so many texts share."""
        return _on_table(self.target, self._target_sizes, texts, rows)

    def draft(self, texts: float, rows: float | None = None) -> float:
        """Seconds of one pass of the draft model that so many texts share: with a row of each, if nothing is said."""
        return _on_table(self.steps, self._step_sizes, texts, texts if rows is None else rows)

    def prepare(self, rows: float) -> float:
        """Seconds of one step of so many branches."""
        return on_line(self.branches, rows) if self.branches else self.draft(1, rows)

    def read(self, tokens: int) -> float:
        """Seconds in which the draft reads a prompt."""
        return on_line(self.prompts, tokens)

    def look(self, feature: str) -> float:
        """Seconds of one look at a drafted token."""
        if feature == "estimate":
            return self.decision
        return self.reading if feature in ("confidence", "peak") else 0.0

    def fixed(self, texts: int) -> float:
        """Seconds of a round without drafts besides its verification."""
        return on_line(self.rest, texts)

    # Parts of rounds -----------------------------------------------------------------------------------------------

    def beginning(self, texts: float) -> float:
        """Seconds that drafting takes in a round besides its steps, if so many texts draft."""
        return on_line(self.begin, texts) if texts else 0.0

    def drafted(self, texts: float, steps: float) -> float:
        """Seconds in which so many texts draft, in so many steps that all of them share."""
        return self.beginning(texts) + steps * self.draft(texts) if steps else 0.0

    def passing(self, texts: int, rows: int, readers: int, tokens: int) -> float:
        """Seconds of a pass in which so many texts have rows to verify, and others read so many tokens of prompts."""
        if not self.pieces:
            return self.verify(texts + readers, rows + tokens)
        reading = on_line(self.pieces, tokens) if tokens else 0.0
        return reading + (self.verify(texts, rows) if texts else self.verify(1, 1))

    def beside(self, verifying: float, drafting: float) -> float:
        """Seconds of a verification that takes so long alone, while the draft has work for so long."""
        return min(self.slower * verifying, verifying + self.delay * drafting)

    def row(self, texts: int = 1, few: int = 1, many: int = 8) -> float:
        """Mean seconds that one more row adds to a verification that has so few to so many rows of each text."""
        added = self.verify(texts, many * texts) - self.verify(texts, few * texts)
        return max(0.0, added / (many - few) / texts)

    def late_row(self, texts: int = 1) -> float:
        """Seconds that each row of a text adds to a draft pass from the third on."""
        if self.late is not None:
            return self.late
        return (self.draft(texts, (LATE + 1) * texts) - self.draft(texts)) / LATE / texts

    def chances(self, prompt: int, before: int, after: int) -> float:
        """Seconds for the random numbers of a text after such a prompt, when it grows by so many tokens."""
        tokens, seconds = self.noise
        begun, made = (
            -(-(prompt + length) // tokens) - prompt // tokens if length else 0 for length in (before, after)
        )
        return seconds * (made - begun)

    # Texts alone ---------------------------------------------------------------------------------------------------

    def seconds(self, counts: Counts, sees: str = "nothing") -> float:
        """Predicted seconds. `sees` is what the stop rule looks at after each drafted token."""
        return (
            sum(rounds * self.verify(1, drafted + 1) for drafted, rounds in counts.rounds.items())
            + counts.target_passes * self.fixed(1)
            + counts.draft_passes * (self.draft(1) + self.look(sees))
            + counts.drafts * self.beginning(1)
            + counts.catch_ups * self.catch_up
            + counts.late_rows * self.late_row()
            + counts.trees * self.tree
            + counts.in_trees * self.in_tree
            + counts.mixed * self.mixing
            + counts.tokens * self.token
        )

    def tokens_per_s(self, counts: Counts, sees: str = "nothing") -> float:
        return counts.tokens / self.seconds(counts, sees)

    def speedup(self, counts: Counts, baseline: Counts, sees: str = "nothing") -> float:
        """Predicted speed-up, computed as in a comparison: the baseline's total time over the strategy's."""
        return sum(map(self.seconds, baseline.parts)) / sum(self.seconds(part, sees) for part in counts.parts)

    # The same with other prices ------------------------------------------------------------------------------------

    def at(self, tokens: float) -> CostModel:
        """Return the prices for texts with so many tokens before a pass; the same if nobody knows what they cost."""
        known = self.context
        if known is None or known.target is None or known.tokens == tokens:
            return self

        def further(table: Table, each: float | None) -> Table:
            added = (tokens - known.tokens) * (each or 0.0)
            return {n: [(rows, max(s / 2, s + n * added)) for rows, s in line] for n, line in table.items()}

        target, steps = further(self.target, known.target), further(self.steps, known.draft)
        return replace(self, target=target, steps=steps, context=known._replace(tokens=tokens))

    @property
    def knows_context(self) -> bool:
        """Whether anybody knows what a longer text costs."""
        return self.context is not None and self.context.target is not None

    def with_looks(self, seconds: float) -> CostModel:
        """Return the same with so many seconds for each look at a drafted token: texts do not share those."""
        return replace(self, steps=_mapped(self.steps, lambda rows, step: step + rows * seconds))

    def with_late_rows(self) -> CostModel:
        """Return the same with rows of the draft that add the same share of a pass as those of the target."""
        return replace(self, late=self.draft(1) * self.row() / (self.verify(1, 1) or 1.0))

    def with_drafting(self, by: float) -> CostModel:
        """Return the same with all drafting so many times as dear."""
        begin, branches = ([(at, by * seconds) for at, seconds in line] for line in (self.begin, self.branches))
        steps, catch_up = _mapped(self.steps, lambda rows, step: by * step), by * self.catch_up
        late = self.late and by * self.late
        return replace(self, steps=steps, begin=begin, branches=branches, catch_up=catch_up, late=late)

    # Documents -----------------------------------------------------------------------------------------------------

    @property
    def about_context(self) -> dict[str, Any]:
        """Say at which length of the texts these prices hold, as plain data."""
        known = self.context
        held = f"texts of about {known.tokens:,.0f} tokens" if known else "texts as long as those measured"
        sentence = f"Prices hold for {held}. What longer ones cost is not known."
        if known and known.target is not None:
            sentence = (
                f"Prices hold for {held}. 1,000 tokens more add {1e6 * known.target:.2f} ms to a verification, as far "
                f"as texts of up to {known.longest:,.0f} show."
            )
        return {"tokens": known and known.tokens, "is_known": self.knows_context, "sentence": sentence}

    @property
    def widest(self) -> int:
        """Rows of the widest verification of one text that is known."""
        return int(self.target[1][-1][0])

    @classmethod
    def of_one(
        cls,
        target: Sequence[float],
        draft: float = 0.0,
        draft_round: float = 0.0,
        catch_up: float = 0.0,
        round: float = 0.0,
        context: Mapping[str, Any] | None = None,
        **others: float,
    ) -> CostModel:
        """Make the prices of one text. Entry n of `target` is a verification of n rows. If only one row is known, each
        further one costs as much: nobody knows better."""
        return cls(
            {1: list(enumerate(target))[len(target) > 2 :]},
            {1: ((1, draft),)},
            ((1, draft_round),),
            ((1, round),),
            catch_up=catch_up,
            context=Context(**context) if context else None,
            **others,  # type: ignore[arg-type]
        ).with_late_rows()

    def for_one(self) -> dict[str, Any]:
        """Return the prices of one text as documents show them: plain data that `from_dict` reads."""
        return dict(
            target=[0.0, *(self.verify(1, rows) for rows in range(1, self.widest + 1))],
            draft=self.draft(1),
            draft_round=self.beginning(1),
            catch_up=self.catch_up,
            round=self.fixed(1),
            decision=self.decision,
            reading=self.reading,
            token=self.token,
            tree=self.tree,
            in_tree=self.in_tree,
            mixing=self.mixing,
            **({"context": self.context._asdict()} if self.context else {}),
        )

    def to_dict(self) -> dict[str, Any]:
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> CostModel:
        """Read what `to_dict` or `for_one` wrote."""
        if "draft" in stored:
            return cls.of_one(**stored)
        tables = {name: _table(stored[name]) for name in ("target", "steps")}
        return cls(**{**stored, **tables, "context": stored.get("context") and Context(*stored["context"])})

    @cached_property
    def _target_sizes(self) -> list[int]:
        return sorted(self.target)

    @cached_property
    def _step_sizes(self) -> list[int]:
        return sorted(self.steps)


def on_line(line: Line, at: float) -> float:
    """Interpolate. Beyond the last point the slope of the last half goes on, but never falls: noise makes the last two
    points too uncertain. Before the first point the first slope goes on, down to half of the first price."""
    if len(line) == 1:
        return line[0][1]
    right = bisect_left(line, at, key=itemgetter(0))
    if right == len(line):
        end, last = line[-1]
        half = max(line[0][0], end // 2)
        return last + max(0.0, (last - on_line(line, half)) / (end - half)) * (at - end)
    (x1, y1), (x2, y2) = line[max(1, right) - 1], line[max(1, right)]
    found = y1 + (y2 - y1) * (at - x1) / (x2 - x1)
    return found if right else max(y1 / 2, found)


def _on_table(table: Table, sizes: Sequence[int], texts: float, rows: float) -> float:
    """Interpolate between the known numbers of texts, each with as many rows in all: what a row costs depends on how
    many there are, whichever texts they belong to."""
    if texts in table:
        return on_line(table[texts], rows)  # type: ignore[index]
    after = min(bisect_left(sizes, texts), len(sizes) - 1)
    near = sizes[max(0, after - 1) : after + 1]
    return on_line([(size, on_line(table[size], rows)) for size in near], texts)


def _mapped(table: Table, change: Callable[[float, float], float]) -> Table:
    return {size: [(rows, change(rows, seconds)) for rows, seconds in line] for size, line in table.items()}


def _table(stored: Mapping[Any, Line]) -> Table:
    """Read a table whose keys JSON has made strings."""
    return {int(texts): line for texts, line in stored.items()}
