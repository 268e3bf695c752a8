"""Times of the sample so far, as the draft side sees them: what it costs to wait for the draft, and when the next
verdict is due."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Protocol

from decoding.prices.running import ENOUGH, RunningMean
from decoding.trace.events import Backup, Origin

OVERDUE = 1.5  # times the mean: a verdict that has not come by then may take any time


class JudgedDraft(Protocol):
    """A draft as policies see it, live or simulated."""

    @property
    def tokens(self) -> Sequence[int]: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def backup(self) -> Backup: ...


class Pace:
    def __init__(self, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        """`clock_ns` returns the time; a simulation brings its own."""
        self._clock_ns = clock_ns
        self._token_ns = RunningMean()  # one token drafted while the target waits
        self._step_ns = RunningMean()  # one step of all branches
        self._round_ns = RunningMean()  # from a draft to the next question
        self._round_ns_of: dict[int, RunningMean] = defaultdict(RunningMean)  # the same by number of drafted tokens
        self._tokens_after_hit = RunningMean()  # tokens that a round after a hit adds to the text
        self._tokens_after_model = RunningMean()
        self._hit_rate = RunningMean()
        self._given_at_ns = 0

    def note_draft(self, at_ns: int | None = None) -> None:
        """Note that the target got a draft: now, or at `at_ns` if the target took the draft from the board."""
        self._given_at_ns = self._clock_ns() if at_ns is None else at_ns

    def note_drafting(self, tokens: int, took_ns: int) -> None:
        self._token_ns.add(took_ns / tokens)

    def note_step(self, took_ns: int) -> None:
        self._step_ns.add(took_ns)

    def elapsed_ns(self, asked_at_ns: int | None = None) -> int:
        """Time from the last draft to the next question: until now, unless the time of the question is known."""
        return (self._clock_ns() if asked_at_ns is None else asked_at_ns) - self._given_at_ns

    def note_round(self, draft: JudgedDraft, accepted: int, took_ns: int) -> None:
        """Note a verdict, and the time from its draft to the next question."""
        self._round_ns.add(took_ns)
        self._round_ns_of[len(draft.tokens)].add(took_ns)
        if draft.origin == "hit":
            self._tokens_after_hit.add(accepted + 1)
        elif draft.backup in ("", "neural"):
            self._tokens_after_model.add(accepted + 1)
        if draft.origin != "fresh":
            self._hit_rate.add(draft.origin == "hit")

    @property
    def token_ns(self) -> float:
        """Time of one token drafted while the target waits."""
        return self._token_ns.value

    @property
    def token_price(self) -> float:
        """Price of one token drafted while the target waits, in tokens of the text."""
        return self._token_ns.value * self._tokens_per_ns

    def would_delay(self, tokens: int, saved_ns: float) -> bool:
        """Whether one more step would probably still run when the verdict on a draft of so many tokens comes, and make
        the target wait for longer than the step saves. False while the times are unknown."""
        usual = self._round_ns_of[tokens]
        if min(usual.count, self._step_ns.count) < ENOUGH:
            return False
        elapsed_ns = self.elapsed_ns()
        return elapsed_ns < OVERDUE * usual.value and elapsed_ns + self._step_ns.value - usual.value > saved_ns

    def saved_ns(self, chance: float) -> float:
        """Expected time that one more prepared token saves: after a hit the draft need not draft it while the target
        waits. `chance` is the probability that the token is accepted. A token saves no more than it is worth."""
        worth_ns = chance / self._tokens_per_ns if self._tokens_per_ns else 0.0
        return self._hit_rate.value * min(self._token_ns.value, worth_ns)

    @property
    def _tokens_per_ns(self) -> float:
        """Tokens that a round adds per ns, over rounds in which the model drafted."""
        after_hit, after_model = self._tokens_after_hit, self._tokens_after_model
        rounds = after_hit.count + after_model.count
        if not rounds or not self._round_ns.value:
            return 0.0
        return (
            (after_hit.count * after_hit.value + after_model.count * after_model.value) / rounds / self._round_ns.value
        )
