"""Costs of passes that several texts share. Standard library only.

They are measured in the loop itself (`replay.joint_probing`). A source under load prices its tokens with them, and
`replay.at_load` predicts what a strategy does at any number of users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

Line = Sequence[tuple[float, float]]  # points, by rising first value


@dataclass(frozen=True)
class JointCosts:
    """Seconds on one machine for one pair."""

    verify: Mapping[int, Line]  # by texts in the pass: (rows, seconds)
    draft: Line  # (texts, seconds of one joint draft step)
    rest: Line  # (texts, seconds of a round without drafts besides its verification)
    prompts: Line = ((0, 0.0),)  # (tokens, seconds in which the draft reads a prompt of one text, while all wait)
    pieces: Line = ()  # (tokens of prompts, seconds that reading them adds to a pass of the target)
    begin: Line = ((0, 0.0),)  # (texts, seconds that drafting adds to a round besides its steps)
    noise: tuple[int, float] = (1, 0.0)  # (tokens, seconds) of a block of a text's random numbers

    def verifying(self, texts: int, rows: int) -> float:
        """Seconds of a verification of so many rows that so many texts share."""
        return on_line([(size, on_line(line, rows)) for size, line in self._near(texts)], texts)

    def passing(self, texts: int, rows: int, readers: int, tokens: int) -> float:
        """Seconds of a pass in which so many texts have rows to verify, and others read so many tokens of prompts."""
        if not self.pieces:
            return self.verifying(texts + readers, rows + tokens)
        reading = on_line(self.pieces, tokens) if tokens else 0.0
        return reading + (self.verifying(texts, rows) if texts else self.verifying(1, 1))

    def row(self, texts: int) -> float:
        """Seconds that one more row adds to a verification that so many texts share."""
        few, many = 2 * texts, 5 * texts
        return max(0.0, (self.verifying(texts, many) - self.verifying(texts, few)) / (many - few))

    def drafting(self, texts: float) -> float:
        """Seconds of one draft step that so many texts share."""
        return on_line(self.draft, texts)

    def beginning(self, texts: float) -> float:
        """Seconds that drafting takes in a round besides its steps, if so many texts draft."""
        return on_line(self.begin, texts) if texts else 0.0

    def drafted(self, texts: float, steps: float) -> float:
        """Seconds in which so many texts draft, in so many steps that all of them share."""
        return self.beginning(texts) + steps * self.drafting(texts) if steps else 0.0

    def chances(self, prompt: int, before: int, after: int) -> float:
        """Seconds for the random numbers of a text after such a prompt, when it grows by so many tokens."""
        tokens, seconds = self.noise
        begun, made = (
            -(-(prompt + length) // tokens) - prompt // tokens if length else 0 for length in (before, after)
        )
        return seconds * (made - begun)

    def with_looks(self, seconds: float) -> JointCosts:
        """Return the same with so many seconds for each look at a drafted token: texts do not share those."""
        return replace(self, draft=[(texts, step + texts * seconds) for texts, step in self.draft])

    def reading(self, tokens: int) -> float:
        """Seconds in which the draft reads a prompt."""
        return on_line(self.prompts, tokens)

    def resting(self, texts: int) -> float:
        return on_line(self.rest, texts)

    def _near(self, texts: int) -> list[tuple[int, Line]]:
        """The measured numbers of texts on both sides."""
        sizes = sorted(self.verify)
        after = next((i for i, size in enumerate(sizes) if size >= texts), len(sizes) - 1)
        return [(size, self.verify[size]) for size in sizes[max(0, after - 1) : after + 1]]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def on_line(line: Line, at: float) -> float:
    """Interpolate, and beyond the ends go on as the nearest two points do, but never below 0."""
    if len(line) == 1:
        return line[0][1]
    right = next((i for i, (x, _) in enumerate(line) if x >= at), len(line) - 1)
    (x1, y1), (x2, y2) = line[max(1, right) - 1], line[max(1, right)]
    return max(0.0, y1 + (y2 - y1) * (at - x1) / (x2 - x1))
