"""Which backup answers a miss, if the settings leave it open: the one that the report of the run would call better.
Standard library only."""

from __future__ import annotations

from collections import Counter

from decoding.trace.answers import MODEL, Answers
from decoding.trace.events import Backup

NGRAM: Backup = "ngram"
LEAST = 8  # misses that each backup answers in turn, before they are compared
AGAIN = 16  # after so many misses, the slower backup answers one
MOST = 2048  # rounds, from which on the older ones count half


class Misses:
    """Rounds of all texts of a run, by what answered the verdict before each. Backups answer in turn at first: if one
    answered only where it looked better, the texts there would speak for it."""

    def __init__(self) -> None:
        self._rounds, self._tokens = Counter[str](), Counter[str]()
        self._verifying_ns = self._drafting_ns = 0.0
        self._asked = 0

    def note_round(self, answer: str, tokens: int, took_ns: float, drafting_ns: float = 0.0) -> None:
        """Note a round: the tokens that it added, its time from the draft to the next question, and before that the
        time in which the target waited for the model's draft."""
        if self._rounds.total() >= MOST:
            self._forget()
        self._rounds[answer] += 1
        self._tokens[answer] += tokens
        self._verifying_ns += took_ns
        self._drafting_ns += drafting_ns

    def choose(self, texts: int = 1) -> Backup:
        """Return the backup for a miss of one of so many texts that wait for one another."""
        self._asked += 1
        fewer: Backup = NGRAM if self._rounds[NGRAM] < self._rounds[MODEL] else "neural"
        if self._rounds[fewer] < LEAST:
            return fewer
        faster = self.answers.faster(NGRAM, texts)
        return faster if self._asked % AGAIN else ("neural" if faster == NGRAM else NGRAM)

    @property
    def answers(self) -> Answers:
        """The rounds as a report counts them."""
        verifying_ns, drafting_ns = round(self._verifying_ns), round(self._drafting_ns)
        return Answers(self._rounds, self._tokens, verifying_ns=verifying_ns, drafting_ns=drafting_ns)

    def _forget(self) -> None:
        for counts in (self._rounds, self._tokens):
            for name in counts:
                counts[name] = round(counts[name] / 2)
        self._verifying_ns, self._drafting_ns = self._verifying_ns / 2, self._drafting_ns / 2
