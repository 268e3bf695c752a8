"""Accounting of SSD from traces: where the time of each round goes, which preparations were hits, and which backup adds
more tokens per second. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from decoding.trace.events import Anticipated, Backup, Drafted, Event, Started, Verified
from decoding.trace.theory import Speculation

HIT = "hit"
MODEL: Backup = "neural"
ENOUGH = 3  # rounds before a mean counts for anything
TOTALS = ("verifying_ns", "preparing_ns", "drafting_ns", "answering_ns", "stepping", "steps")

Phase = TypeVar("Phase", Drafted, Verified, Anticipated)


@dataclass(frozen=True)
class Round:
    free_ns: int  # when the target had finished the round before
    verdict: Verified
    draft: Drafted | None
    before: Anticipated | None  # what was prepared beside the last round
    beside: Anticipated | None  # and beside this one
    unread: int = 1  # committed tokens that the draft model has not read, as far as its own passes tell

    @property
    def drafted(self) -> int:
        return self.draft.verified if self.draft else 0

    @property
    def passes(self) -> int:
        return self.draft.passes if self.draft else 0

    @property
    def is_copied(self) -> bool:
        return self.draft is not None and self.draft.source == "copied"

    @property
    def read(self) -> int:
        """Rows of the draft model's first pass."""
        return self.unread + (self.drafted - self.passes if self.is_copied else 0)

    @property
    def is_behind(self) -> bool:
        """Whether the draft model must read more than one row first."""
        return self.read > 1

    @property
    def leaves_unread(self) -> int:
        """Committed tokens that the draft model has not read after this round."""
        if not self.draft or not self.passes:
            return self.unread + self.verdict.accepted + 1
        has_rows = self.draft is not None and self.draft.rows
        is_trimmed = not has_rows and self.passes > self.drafted  # its last token was read, whatever was accepted
        return 1 + (self.verdict.outcome == "bonus" and not is_trimmed)

    @property
    def took_s(self) -> float:
        """Time since the verdict before."""
        return _seconds_between(self.free_ns, self.verdict.end_ns)

    @property
    def verifying_s(self) -> float:
        return _seconds_between(self.verdict.start_ns, self.verdict.end_ns)

    @property
    def settling_s(self) -> float:
        """Time of the target's own work between a verdict and the next verification."""
        return _seconds_between(self.free_ns, self.verdict.start_ns) - self.asking_s - self.preparing_s

    @property
    def asking_s(self) -> float:
        """Time from the question to the answer."""
        return _seconds_between(self.draft.start_ns, self.draft.end_ns) if self.draft else 0.0

    @property
    def finishing_s(self) -> float:
        """Time that the draft's step under way kept the target waiting: 0 if the target took what was ready."""
        if not self.draft or not self.before or self.before.end_ns > self.draft.end_ns:
            return 0.0
        return _seconds_between(self.draft.start_ns, self.before.end_ns)

    @property
    def preparing_s(self) -> float:
        """Time that the target waited for the preparation, after it had its draft."""
        if not self.draft or not self.beside:
            return 0.0
        return _seconds_between(self.draft.end_ns, min(self.beside.end_ns, self.verdict.start_ns))

    @property
    def working_s(self) -> float:
        """Time that the answer itself took."""
        return self.asking_s - self.finishing_s

    @property
    def was_ready(self) -> bool:
        """Whether the draft was there before the question."""
        return bool(self.draft and self.draft.source == "hit" and not self.draft.passes and not self.finishing_s)

    @property
    def turning_s(self) -> float:
        """Time from the draft, or from the end of the step under way, to the beginning of the next preparation."""
        assert self.draft and self.beside
        busy_until_ns = max(self.draft.end_ns, self.before.end_ns if self.before else 0)
        return _seconds_between(busy_until_ns, self.beside.start_ns)

    @property
    def is_read(self) -> bool:
        """Whether the draft's last token had been read: its branch went further, or was rounded off. The preparation
        beside it then opens without a pass."""
        if not self.draft or not self.before or self.draft.source != "hit" or self.draft.passes:
            return False
        deepest = max((depth for _, _, depth in self.before.branches), default=0)
        tokens = len(self.draft.tokens)
        return tokens < deepest or (tokens == deepest and self.before.passes > 1 + deepest)


def rounds(trace: Sequence[Event]) -> Iterator[Round]:
    """Read the rounds of a trace in order. The last has no preparation: nobody asked for its branches."""
    drafts, prepared = _by_round(trace, Drafted), _by_round(trace, Anticipated)
    free_ns, unread = next((event.prefill_ns for event in trace if isinstance(event, Started)), 0), 1
    for verdict in trace:
        if isinstance(verdict, Verified):
            before, beside = prepared.get(verdict.round - 1), prepared.get(verdict.round)
            yield (one := Round(free_ns, verdict, drafts.get(verdict.round), before, beside, unread))
            free_ns, unread = verdict.end_ns, one.leaves_unread


def _by_round(trace: Iterable[Event], kind: type[Phase]) -> dict[int, Phase]:
    return {event.round: event for event in trace if isinstance(event, kind)}


def _seconds_between(began_ns: int, ended_ns: int) -> float:
    return max(0, ended_ns - began_ns) * 1e-9


# Answers to verdicts --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """Counts of one sample or of many: plain numbers."""

    rounds: Counter[str] = field(default_factory=Counter)  # by what answered: hit, neural, ngram, random
    tokens: Counter[str] = field(default_factory=Counter)  # that these rounds added to the text
    verifying_ns: int = 0
    preparing_ns: int = 0  # not hidden by a verification
    drafting_ns: int = 0  # by the model, while the target waited
    answering_ns: int = 0  # from all questions to their answers, less what was left of a step of preparing
    stepping: int = 0  # answers for which the model ran: after misses, and where a hit was not long enough yet
    steps: int = 0  # of the model for these

    @classmethod
    def added(cls, samples: Sequence[Mapping[str, Any]]) -> Answers:
        """Add up those of samples, read from JSON."""
        found = cls()
        totals: Counter[str] = Counter()
        for one in samples:
            found.rounds.update(one["rounds"])
            found.tokens.update(one["tokens"])
            totals.update({name: one.get(name, 0) for name in TOTALS})  # older samples have fewer
        more: dict[str, Any] = {name: totals[name] for name in TOTALS}
        return replace(found, **more)

    def speculation(self, backup: str) -> Speculation | None:
        """The terms of Corollary 16 with one backup, in units of one verification; None if they are not known. Random
        tokens are hardly ever accepted, so a round with them adds one token, whether or not they were tried."""
        if self.rounds[MODEL] < ENOUGH or not self.verifying_ns:
            return None
        rounds, verifying = self.rounds.total(), self.verifying_ns / self.rounds.total()
        waiting = self.preparing_ns / rounds / verifying  # after a miss too
        return Speculation(
            hit_rate=self.rounds[HIT] / rounds,
            tokens_on_hit=self._tokens_after(HIT),
            tokens_on_miss=self._tokens_after(backup),
            preparing=1 + waiting,
            backup=waiting + (self.drafting_ns / self.rounds[MODEL] / verifying if backup == MODEL else 0.0),
        )

    def faster(self, free: Backup, texts: int) -> Backup:
        """Return the backup with which rounds of so many texts add more tokens per second: the model, or this one,
        which takes no time."""
        neural, fast = self.speculation(MODEL), self.speculation(free)
        return free if neural and fast and fast.speedup(texts) >= neural.speedup(texts) else MODEL

    def _tokens_after(self, answer: str) -> float:
        return self.tokens[answer] / self.rounds[answer] if self.rounds[answer] else 1.0


# Hits -----------------------------------------------------------------------------------------------------------------


Counted = Mapping[str, Any]  # the counts of a sample: plain data that survives JSON


def count(events: Sequence[Event]) -> Counted | None:
    """Count one sample. None if nothing was prepared."""
    drafts, verdicts, prepared = _by_round(events, Drafted), _by_round(events, Verified), _by_round(events, Anticipated)
    by_source: dict[str, list[int]] = {}
    predicted = 0.0
    for number, draft in drafts.items():
        if draft.source in ("hit", "miss") and number - 1 in drafts:
            before = drafts[number - 1]
            pair = by_source.setdefault(before.backup or before.source, [0, 0])
            pair[0] += draft.source == "hit"
            pair[1] += 1
            predicted += prepared[number - 1].predicted_hit if number - 1 in prepared else 0.0
    if not by_source:
        return None
    return {
        "by_source": by_source,  # where the judged draft came from -> hits, outcomes
        "predicted": predicted,
        "rows": sum(event.pass_rows for event in prepared.values()),
        "preparations": sum(event.pass_rows > 0 for event in prepared.values()),
        "passes": sum(event.passes for event in prepared.values()) - _opened_without_a_pass(events),
        "busy_ns": sum(event.busy_ns for event in prepared.values()),
        "hidden_ns": sum(_within_ns(event, verdicts[event.round]) for event in prepared.values()),
        "waited_ns": sum(
            _within_ns(event, drafts[number])
            for event in prepared.values()
            for number in (event.round, event.round + 1)  # its own draft is on its way, or the next one asked for
            if number in drafts
        ),
        "alone_ns": sum(draft.end_ns - draft.start_ns for draft in drafts.values() if draft.passes),
        "answers": vars(_answers_in(rounds(events), _unhidden_ns(prepared.values(), verdicts))),
    }


def _answers_in(rounds: Iterable[Round], preparing_ns: int) -> Answers:
    answered = [(each, draft, answer) for each in rounds if (draft := each.draft) and (answer := _answer(draft))]
    found = Answers(
        verifying_ns=sum(each.verdict.end_ns - each.verdict.start_ns for each, _, _ in answered),
        preparing_ns=preparing_ns,
        drafting_ns=sum(draft.end_ns - draft.start_ns for _, draft, answer in answered if answer == MODEL),
        answering_ns=round(sum(each.working_s for each, _, _ in answered) * 1e9),
        stepping=sum(draft.passes > 0 for _, draft, _ in answered),
        steps=sum(draft.passes for _, draft, _ in answered),
    )
    for each, _, answer in answered:
        found.rounds[answer] += 1
        found.tokens[answer] += each.verdict.accepted + 1
    return found


def _answer(draft: Drafted) -> str:
    """Return what answered the verdict before this draft; empty for a draft that answers none."""
    return {"hit": HIT, "miss": str(draft.backup)}.get(draft.source, "")


def rates(samples: Sequence[Counted]) -> dict[str, Any]:
    """Rates over samples. All are None if nothing was prepared."""
    hits, outcomes = (sum(pair[i] for sample in samples for pair in sample["by_source"].values()) for i in (0, 1))
    drafting = sum(sample["busy_ns"] + sample["alone_ns"] for sample in samples)
    return {
        "hit_rate": hits / outcomes if outcomes else None,
        "predicted_hit_rate": sum(sample["predicted"] for sample in samples) / outcomes if outcomes else None,
        "prepared_branches": _branches(samples),
        "hidden_share": sum(sample["hidden_ns"] for sample in samples) / drafting if drafting else None,
    }


def answers_of(samples: Sequence[Counted]) -> Answers:
    return Answers.added([sample["answers"] for sample in samples if "answers" in sample])  # older samples have none


def _branches(samples: Sequence[Counted]) -> float | None:
    """Mean number of branches in a preparation, over all texts that shared its passes. None if samples are older."""
    preparations = sum(sample.get("preparations", 0) for sample in samples)
    return sum(sample["rows"] for sample in samples if "rows" in sample) / preparations if preparations else None


def _unhidden_ns(prepared: Iterable[Anticipated], verdicts: Mapping[int, Verified]) -> int:
    return sum(event.busy_ns - _within_ns(event, verdicts[event.round]) for event in prepared)


def _opened_without_a_pass(events: Sequence[Event]) -> int:
    return sum(each.is_read for each in rounds(events) if each.beside)


def _within_ns(ahead: Anticipated, span: Drafted | Verified) -> int:
    """Time of work on a preparation within a verification, or while the target waited for a draft. If the draft paused,
    its work counts as spread evenly."""
    within_ns = min(ahead.end_ns, span.end_ns) - max(ahead.start_ns, span.start_ns)
    return round(ahead.busy_ns * max(0, within_ns) / max(1, ahead.end_ns - ahead.start_ns))
