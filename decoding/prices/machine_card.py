"""Machine cards: what passes of a target and a draft cost on some machine, with the source of the figures. Standard
library only.

A card is a small JSON file. Prices are in ms, for each number of texts that are decoded together (`batch`), by the rows
that each text has in the pass. A cost model holds them by the rows of the whole pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from decoding.bounded_json import loads
from decoding.errors import DrafthouseError, meant
from decoding.prices.cost_model import Context, CostModel, Line, Table

FORMAT = "drafthouse.card/1"
FOLDER = Path(__file__).parent / "cards"
GRADES = ("measured", "published", "assumed")  # on that machine; taken or derived from a publication; neither
MOST_MS, LEAST_MS = 600_000.0, 0.0001  # a pass of ten minutes, or of a few cycles, is a slip
MOST_BATCH, MOST_ROWS, MOST_POINTS, MOST_DEVICES = 4096, 4096, 64, 4096
LONGEST_NAME, LONGEST_SOURCE = 120, 1000
MOST_BYTES = 100_000
MOST_CONTEXT = 100_000_000
PER = 1000  # tokens of context that a card prices together


class BadCard(DrafthouseError):
    """`field` is the path to what is wrong; empty: the whole card is."""

    code = "bad-card"

    def __init__(self, field: str, problem: str) -> None:
        what = f"{field} of the machine card" if field else "The machine card"
        super().__init__(f"{what} {problem}{'' if problem.endswith(('?', '.')) else '.'}")
        self.field = field


@dataclass(frozen=True)
class Card:
    name: str
    source: str
    grade: str
    target_devices: int
    draft_devices: int  # 0: the draft shares the target's devices, and takes turns with it even if it had a stream
    costs: CostModel

    @property
    def batches(self) -> list[int]:
        """The numbers of texts that have prices of their own."""
        return sorted(self.costs.target)

    @property
    def _context(self) -> dict[str, Any]:
        known = self.costs.context
        if known is None or known.target is None:
            return {}
        values = (round(known.tokens), round(known.longest), _ms(PER * known.target), _ms(PER * (known.draft or 0.0)))
        return {"context": dict(zip(OF_CONTEXT, values, strict=True))}

    @classmethod
    def from_dict(cls, given: object) -> Card:
        """Read a card, or refuse it by field."""
        fields = _fields(given, "", REQUIRED, OPTIONAL)
        if fields["format"] != FORMAT:
            raise BadCard("format", f"is {_shown(fields['format'])}; this version reads {FORMAT}")
        seconds = {name: _seconds(fields.get(f"{name}_ms", 0), f"{name}_ms", 0.0) for name in ONCE}
        return cls(
            name=_text(fields["name"], "name", LONGEST_NAME),
            source=_text(fields["source"], "source", LONGEST_SOURCE),
            grade=_grade(fields["grade"]),
            target_devices=_whole(fields["target_devices"], "target_devices", 1, MOST_DEVICES),
            draft_devices=_whole(fields["draft_devices"], "draft_devices", 0, MOST_DEVICES),
            costs=CostModel(
                *_tables(fields["batches"]),
                source=fields["source"],
                rest=[(1, seconds["round"])],
                transport=seconds["message"],
                decision=seconds["decision"],
                mixing=seconds["mixing"],
                context=_context(fields.get("context")),
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        costs = self.costs
        once = {"message": costs.transport, "round": costs.fixed(1), "decision": costs.decision, "mixing": costs.mixing}

        def by_rows(batch: int, line: Line) -> dict[str, float]:
            return {f"{rows / batch:.0f}": _ms(seconds) for rows, seconds in line}

        return {
            "format": FORMAT,
            "name": self.name,
            "source": self.source,
            "grade": self.grade,
            "target_devices": self.target_devices,
            "draft_devices": self.draft_devices,
            **{f"{name}_ms": _ms(seconds) for name, seconds in once.items()},
            **self._context,
            "batches": [
                {
                    "batch": batch,
                    "target_ms": by_rows(batch, costs.target[batch]),
                    "draft_ms": by_rows(batch, costs.steps[batch]),
                }
                for batch in self.batches
            ],
        }


REQUIRED = ("format", "name", "source", "grade", "target_devices", "draft_devices", "batches")
ONCE = ("message", "round", "decision", "mixing")
OPTIONAL = (*(f"{name}_ms" for name in ONCE), "context")
OF_CONTEXT = ("tokens", "longest", "target_ms", "draft_ms")
OF_A_BATCH = ("batch", "target_ms", "draft_ms")


def published() -> dict[str, Card]:
    """The cards that come with Drafthouse, by the names of their files."""
    return {path.stem: read_card(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}


def read_card(text: str) -> Card:
    if len(text) > MOST_BYTES:
        raise BadCard("", f"has {len(text):,} characters; it may have {MOST_BYTES:,}")
    try:
        return Card.from_dict(loads(text))
    except ValueError as error:
        why = f"is not valid JSON: {str(error)[:200]}. Give what ./drafthouse bench prices wrote"
        raise BadCard("", why) from None


def card_in_the_box(name: str) -> Card:
    """A card that comes with Drafthouse."""
    known = published()
    if name not in known:
        raise BadCard("name", f"is {name[:80]!r}; there is {', '.join(known)}.{meant(name, known)}")
    return known[name]


def card_called(name: str) -> Card:
    """A card that comes with Drafthouse, by name, or that of a file."""
    if not name.endswith(".json"):
        return card_in_the_box(name)
    try:
        return read_card(Path(name).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadCard("", f"{name[:200]} cannot be read: {error}") from None


# ---- the fields


def _fields(given: object, where: str, required: Sequence[str], optional: Sequence[str] = ()) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise BadCard(where, f"is {_shown(given)}; give an object")
    for name in required:
        if name not in given:
            raise BadCard(_path(where, name), "is missing")
    for name in given:
        if name not in (*required, *optional):
            raise BadCard(_path(where, str(name)[:40]), f"is unknown.{meant(str(name), [*required, *optional])}")
    return given


def _context(given: object) -> Context | None:
    """Read at which length of the texts the prices hold, and what 1,000 tokens more add to a pass of one text."""
    if given is None:
        return None
    fields = _fields(given, "context", OF_CONTEXT)
    tokens, longest = (_whole(fields[name], f"context.{name}", 1, MOST_CONTEXT) for name in OF_CONTEXT[:2])
    return Context(tokens, longest, *(_seconds(fields[name], f"context.{name}", 0.0) / PER for name in OF_CONTEXT[2:]))


def _tables(given: object) -> tuple[dict[int, Line], dict[int, Line]]:
    """Read the prices of the target's passes and of the draft's."""
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_POINTS:
        raise BadCard("batches", f"is {_shown(given)}; give a list of 1 to {MOST_POINTS} batch sizes")
    target, steps, places = dict[int, Line](), dict[int, Line](), dict[int, str]()
    for number, each in enumerate(given):
        where = f"batches[{number}]"
        fields = _fields(each, where, OF_A_BATCH)
        batch = _whole(fields["batch"], f"{where}.batch", 1, MOST_BATCH)
        if batch in places:
            raise BadCard(f"{where}.batch", f"is {batch}, which an entry before it has too")
        target[batch], steps[batch] = (_line(fields[name], f"{where}.{name}", batch) for name in OF_A_BATCH[1:])
        places[batch] = where
    for table, name in ((target, "target_ms"), (steps, "draft_ms")):
        _require_rising(table, places, name)
    return target, steps


def _require_rising(table: Table, places: Mapping[int, str], name: str) -> None:
    """Refuse a pass that takes less time for more texts."""
    for few, many in pairwise(sorted(table)):
        if table[many][0][1] < table[few][0][1]:
            problem = f"is less than the price for {few} text{'s' * (few > 1)}; more texts take no less time"
            raise BadCard(f"{places[many]}.{name}.1", problem)


def _line(given: object, where: str, batch: int) -> Line:
    """Read rows of each text -> ms. A pass of more rows cannot take less time."""
    if not isinstance(given, dict) or not 1 <= len(given) <= MOST_POINTS:
        raise BadCard(where, f'is {_shown(given)}; give ms by rows, such as {{"1": 18.3, "8": 18.9}}')
    points: dict[int, float] = {}
    for name, ms in given.items():
        if not (isinstance(name, str) and name.isascii() and name.isdigit() and len(name) < 6):
            raise BadCard(f"{where}.{str(name)[:40]}", "is not a number of rows")
        points[_whole(int(name), f"{where}.{name}", 1, MOST_ROWS)] = _seconds(ms, f"{where}.{name}", LEAST_MS)
    line = sorted(points.items())
    for (few, cheap), (many, dear) in pairwise(line):
        if dear < cheap:
            raise BadCard(f"{where}.{many}", f"is less than the price of {few} rows; more rows take no less time")
    if line[0][0] != 1:
        raise BadCard(f"{where}.1", "is missing: give the price of 1 row")
    return [(batch * rows, seconds) for rows, seconds in line]


def _seconds(given: object, where: str, least_ms: float) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not least_ms <= given <= MOST_MS:
        raise BadCard(where, f"is {_shown(given)}; give ms, a number from {least_ms:g} to {MOST_MS:,.0f}")
    return given * 1e-3


def _whole(given: object, where: str, least: int, most: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
        raise BadCard(where, f"is {_shown(given)}; give a whole number from {least} to {most}")
    return given


def _text(given: object, where: str, longest: int) -> str:
    if not isinstance(given, str) or not given.strip() or len(given) > longest or not given.isprintable():
        raise BadCard(where, f"is {_shown(given)}; give a line of 1 to {longest} characters")
    return given


def _grade(given: object) -> str:
    if given not in GRADES:
        raise BadCard("grade", f"is {_shown(given)}; give one of {', '.join(GRADES)}")
    return str(given)


def _path(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _shown(given: object) -> str:
    return repr(given)[:80]


def _ms(seconds: float) -> float:
    return float(f"{1e3 * seconds:.6g}")
