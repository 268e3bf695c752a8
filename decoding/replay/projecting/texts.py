"""Recorded texts as strategies see them, and the same texts with another acceptance. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from decoding.dice import chance
from decoding.drafting.records import Ranked, Record, RecordedText
from decoding.drafting.source import Sight
from decoding.replay.ssd.playing import Track

Row = Sequence[float]


@dataclass(frozen=True)
class ProjectedText:
    track: Track
    rows: Mapping[Sight, Sequence[Row]]  # by sight: for each position, of each token of a round that starts there

    @property
    def record(self) -> Record:
        return self.track.record

    @property
    def matches(self) -> list[bool]:
        return [run > 0 for run in self.record.runs]

    def shown(self, sees: Sight) -> RecordedText:
        """Return the text as a source with this sight sees it."""
        rows = self.track.estimates if sees == "estimate" else self.rows.get(sees)
        return replace(self.track, seen=replace(self.track.seen, row=rows.__getitem__)) if rows else self.track


def acceptance(texts: Sequence[ProjectedText]) -> float:
    """Share of positions at which the draft proposes the text's token."""
    matches = [match for text in texts for match in text.matches]
    return sum(matches) / len(matches)


def with_acceptance(texts: Sequence[ProjectedText], wanted: float) -> list[ProjectedText]:
    """The same texts for a better or worse draft: random positions change from refused to accepted, or back.

    What sources see of tokens changes with the chances, so a classifier that was calibrated stays so. Behind a refused
    token, where the draft left the text, the numbers of the text stand for those of the draft's own continuation.
    Where the draft would end at once there is no estimate, so the share of accepted tokens stands for it. Which paths
    are likeliest is not known, so trees of these are left out."""
    own = acceptance(texts)
    is_better = wanted >= own
    share = (wanted - own) / (1 - own) if is_better and own < 1 else wanted / own if own else 0.0
    return [_changed(text, number, own, share, is_better=is_better) for number, text in enumerate(texts)]


def _changed(text: ProjectedText, number: int, own: float, share: float, *, is_better: bool) -> ProjectedText:
    lucky = [chance.uniform(number, "draft", place) < share for place in range(len(text.record))]
    if is_better:
        matches = [match or luck for match, luck in zip(text.matches, lucky, strict=True)]
    else:
        matches = [match and luck for match, luck in zip(text.matches, lucky, strict=True)]

    def rows(known: Sequence[Row]) -> list[Row]:
        longest = max(map(len, known), default=0)
        first = [row[0] if row else own for row in known]
        values = [value + (1 - value) * share if is_better else value * share for value in first]
        return [(*values[at : at + longest], *values[-1:] * (longest - len(values[at : at + longest])))
                for at in range(len(values))]  # fmt: skip

    track, written = text.track, text.track.written
    known = zip(written.text, track.preferred, matches, strict=True)
    preferred = [_listed(token, listed, match) for token, listed, match in known]
    changed = replace(
        track,
        record=Record.of(matches, written.room, ended=bool(written.text) and written.text[-1] in written.ends),
        ranked=Ranked.of(written.text, preferred, written.room),
        preferred=preferred,
        estimates=rows(track.estimates),
    )
    return replace(text, track=changed, rows={sees: rows(known) for sees, known in text.rows.items()})


def _listed(token: int, listed: Sequence[int], is_first: bool) -> Sequence[int]:
    """The draft's best tokens with the text's token first, or not first."""
    if is_first:
        return (token, *(other for other in listed if other != token))
    return (listed[1], listed[0], *listed[2:]) if listed[0] == token and len(listed) > 1 else listed
