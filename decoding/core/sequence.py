"""Sequence: one text that is being decoded, with all state that it shares with no other text, and its drafter.

While `is_reading`, the loop feeds each `prompt_piece` to the target and calls `note_prompt_read`. Then it plays rounds:
`propose`, `begin_verification`, `launch_verdict` and `commit_verdict`. On a CPU `_queued` and `_early` stay None.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import abc
from dataclasses import dataclass

import torch
from torch import Tensor

from decoding.core.batch_state import BatchState
from decoding.core.early_passes import EarlyPasses, early_passes_of, judging_of
from decoding.core.ending import Decoded, Ending
from decoding.dice.dice import Dice, PendingVerdict, launch_together
from decoding.dice.verify import EMPTY, Draft, QueuedDraft, Verdict
from decoding.errors import BadPrompt, BrokenModel
from decoding.models.devices import Launched, sent_to
from decoding.models.fast.runner import FastRunner, UnreadDrafts
from decoding.models.runner import Feed, Feeds, ModelRunner, TreeReading, rewind_to
from decoding.trace.events import Anticipated, Drafted, EventSink, Finished, FinishReason, Started, Verified
from decoding.trace.timing import Clock


@dataclass(frozen=True, slots=True)
class SharedPass:
    """Facts of the target's pass that several texts share."""

    texts: int  # that verify in its pass
    prompt_rows: int  # tokens of prompts that the pass reads for others
    prompts_ns: int  # time, after the previous pass, that drafts spent reading the prompts of other texts


class Drafter(ABC):
    """Proposes tokens for one sample: the loop asks for a draft each round, and tells the verdict. Only `draft_steps`
    must be written; the other methods do nothing by default."""

    drafts = True  # whether it ever proposes a token

    @abstractmethod
    def draft_steps(self, text: abc.Sequence[int], limit: int) -> Feeds[Draft | QueuedDraft]:
        """Propose up to `limit` tokens to follow the text, in steps, each a pass of a model that other texts may share;
        in no step if it runs no model, or runs one by itself. The tokens may depend on anything except the random
        numbers that the target's verdict will use."""

    def join(self, batch: BatchState) -> None:  # noqa: B027
        """Learn which texts are decoded together with this one."""

    def prepare(self, text: abc.Sequence[int]) -> None:  # noqa: B027
        """Read the prompt, so that rounds begin warm."""

    def anticipate(self, text: abc.Sequence[int], draft: Draft) -> None:  # noqa: B027
        """Prepare the next draft before the target judges this one, or start work that can run meanwhile."""

    def meanwhile(self, is_done: abc.Callable[[], bool]) -> None:  # noqa: B027
        """Work in this thread until the target's verdict is done. The verdict has been launched already."""

    def observe(self, draft: Draft, verdict: Verdict) -> None:  # noqa: B027
        """Learn from the verdict on a draft."""

    def leave(self) -> None:  # noqa: B027
        """Forget the text, which has ended."""

    def anticipated(self, number: int) -> Anticipated | None:
        """Describe what was prepared during the verification of round `number`. The loop asks after the next draft."""
        return None


@dataclass(eq=False)
class Sequence:
    prompt: abc.Sequence[int]
    max_new_tokens: int
    ending: Ending
    target: ModelRunner  # the target's weights, with a cache for this text alone
    drafter: Drafter
    dice: Dice
    sink: EventSink
    clock: Clock
    arrived_ns: int = 0  # when the request arrived, since the load began
    queued_ns: int = 0  # time that it has waited since

    def __post_init__(self) -> None:
        self.text = list(self.prompt)
        self.reason: FinishReason | None = None  # why the text is complete; None while it grows
        self.error: BrokenModel | None = None  # why this text cannot go on
        self._start = len(self.text)
        self._end = _end(self._start, self.max_new_tokens, self.target.context)
        self._round = 0
        self._draft = EMPTY
        self._queued: QueuedDraft | None = None  # if the target is to judge what nobody has read
        self._judging: UnreadDrafts | None = None  # if it can
        self._catch_up: abc.Sequence[int] = ()  # tokens that the target reads before these
        self._pending: PendingVerdict
        self._early: EarlyPasses | None = None  # if passes begin before the last choice has been read
        self._tree: TreeReading
        self._free_since = 0  # when the target last finished
        self._began = self._drafted = self._asked = 0  # when this round began, had its draft, and asked the target

    @property
    def decoded(self) -> Decoded:
        if self.error:
            raise self.error
        assert self.reason is not None, "the text still grows"
        return Decoded(self.text[self._start :], self.reason)

    @property
    def has_ended(self) -> bool:
        return self.reason is not None or self.error is not None

    @property
    def draft_passes(self) -> int:
        """How many passes its last draft took."""
        return self._draft.passes

    def begin(self) -> None:
        """Forget what an earlier sample left in the cache: it must not make this one look faster."""
        self.dice.commit(self.text)
        self.target.rewind(0)
        self._early = None if self.drafter.drafts else early_passes_of(self.target, self.dice, self._end)
        self._unread = self._start - 1  # the first verification reads the prompt's last token
        if not self._unread:
            self._start_rounds()

    @property
    def is_reading(self) -> bool:
        return self._unread > 0

    def prompt_piece(self, most: int) -> Feed:
        """Return the next piece of the prompt, for the target to read."""
        at = self._start - 1 - self._unread
        tokens = self.text[at : at + min(most, self._unread)]
        return self.target, tokens, 1

    def note_prompt_read(self, count: int, logits: Tensor) -> None:
        """Note that the target reads so many more tokens of the prompt, and gives these logits."""
        self._unread -= count
        if not self._unread:
            Launched(logits.device).wait()  # the prompt's time ends when it has been read
            self._start_rounds()

    def _start_rounds(self) -> None:
        self.drafter.prepare(self.text)
        self._free_since = self.clock.now()
        self.sink.emit(Started(self._start, self._free_since, self.arrived_ns, self.queued_ns))

    def propose(self) -> Feeds[None]:
        """Have the drafter make this round's draft, pass by pass."""
        self._round += 1
        self._began = self.clock.now()
        self._draft, self._queued, self._judging = EMPTY, None, None
        try:
            drafted = yield from self.drafter.draft_steps(self.text, self._end - len(self.text) - 1)
            if isinstance(drafted, Draft):
                self._draft = drafted
            elif (judging := judging_of(self.target, drafted)) and judging.takes_unread(len(drafted.ids)):
                self._queued, self._judging = drafted, judging
            else:
                self._draft, self._judging = drafted.draft, judging
        except BrokenModel as error:
            self.error = error
        self._drafted = self.clock.now()

    def begin_verification(self) -> Feed:
        """Return what the target must read to judge the draft, and how many rows of logits that takes."""
        text, draft, target, queued = self.text, self._draft, self.target, self._queued
        if queued:
            self._catch_up = rewind_to(target, text)
            return target, torch.cat([sent_to(target.device, self._catch_up), *queued.ids]), len(queued.ids) + 1
        self.drafter.anticipate(text, draft)
        self._asked = self.clock.now()
        need = len(draft.tokens) + 1
        if self._early:
            return self._early, text[-1:], need
        if draft.parents:
            catch_up = rewind_to(target, text)
            self._tree = TreeReading(target, catch_up, draft.parents)
            return self._tree, [*catch_up, *draft.tokens], need
        return target, rewind_to(target, [*text, *draft.tokens] if draft.tokens else text, need), need

    def launch_verdict(self, logits: Tensor) -> None:
        """Launch the verdict on the draft."""
        self._pending = (self._early or self.dice).launch_verdict(logits, self._queued or self._draft)

    @staticmethod
    def launch_verdicts(sequences: abc.Sequence[Sequence], logits: abc.Sequence[Tensor]) -> None:
        """Launch the verdicts on the drafts of several texts."""
        asked = [(each.dice, rows, each._draft) for each, rows in zip(sequences, logits, strict=True)]
        for sequence, pending in zip(sequences, launch_together(asked), strict=True):
            sequence._pending = pending

    def shares_choice(self, logits: Tensor) -> bool:
        """Whether its verdict can be launched with those of others. A CPU chooses faster for one text at a time."""
        return logits.device.type != "cpu" and not (self._early or self._queued) and self.dice.sampling.fixes_the_text

    def commit_verdict(self, shared: SharedPass) -> None:
        """Wait for the verdict, emit the round's events, and append its tokens to the text."""
        pending = self._pending
        self.drafter.meanwhile(pending.is_done)
        try:
            verdict = pending.verdict()
        except BrokenModel as error:
            self.error = error
            return
        verified = self.clock.now()
        if self._queued:
            self._take(self._queued, verified - pending.launched.took_since(self._queued.launched))
        draft = self._draft
        if self._judging:
            self._judging.note(draft.passes, self._queued is not None, verified - self._began)
        self._tell(draft, verdict, verified, shared)
        self._free_since = verified
        self.drafter.observe(draft, verdict)
        if draft.parents:
            self._tree.adopt(verdict.path)
        self._append([*draft.accepted(verdict), verdict.token])

    def _take(self, queued: QueuedDraft, drafted_ns: int) -> None:
        """Take up a draft that has been read, and was complete at this time."""
        self._draft = queued.draft
        self._drafted = self._asked = max(self._began, drafted_ns)
        if isinstance(self.target, FastRunner):
            self.target.tell([*self._catch_up, *self._draft.tokens])

    def finish(self, reason: FinishReason) -> None:
        self.reason = reason
        self.sink.emit(Finished(reason, len(self.text) - self._start, self.clock.now()))

    def _append(self, fresh: list[int]) -> None:
        self.text += fresh
        ended = self.ending.find(self.text, len(fresh), self._start)
        if ended:
            kept, reason = ended
            del self.text[self._start + kept :]
            self.finish(reason)
            return
        self.dice.commit(fresh)
        if len(self.text) >= self._end:
            self.finish("length" if self._end == self._start + self.max_new_tokens else "context")

    def _tell(self, draft: Draft, verdict: Verdict, verified: int, shared: SharedPass) -> None:
        emit = self.sink.emit
        anticipated = self.drafter.anticipated(self._round - 1)
        if anticipated:
            emit(anticipated)
        if draft.tokens:
            emit(self._drafted_event(draft, verdict))
        emit(
            Verified(
                round=self._round,
                accepted=verdict.accepted,
                token=verdict.token,
                outcome=verdict.outcome,
                wait_ns=self._asked - self._free_since,
                start_ns=self._asked,
                end_ns=verified,
                lost=draft.lost,
                texts=shared.texts,
                prompt_rows=shared.prompt_rows,
                held_ns=self._asked - self._drafted,
                prompts_ns=shared.prompts_ns if self._round > 1 else 0,
            )
        )

    def _drafted_event(self, draft: Draft, verdict: Verdict) -> Drafted:
        confidence, estimates = draft.details()
        return Drafted(
            round=self._round,
            position=len(self.text),
            lookahead=draft.lookahead,
            tokens=draft.best_path(verdict),
            confidence=confidence,
            estimate=estimates,
            stop=draft.stop,
            source=draft.origin,
            passes=draft.passes,
            start_ns=self._began,
            end_ns=self._drafted,
            backup=draft.backup,
            rows=len(draft.tokens) if draft.parents else 0,
            ranks=draft.ranks(verdict),
        )


def _end(length: int, max_new_tokens: int, context: int) -> int:
    """Return the length at which the text is full. Refuse a prompt that leaves no room for even one token."""
    if length == 0:
        raise BadPrompt("The prompt is empty, so there is nothing to continue; give it at least one token.")
    if length >= context:
        raise BadPrompt(
            f"The prompt has {length} tokens and the target holds {context}, which leaves no room for an "
            "answer; shorten the prompt or take a model with a longer context."
        )
    return min(length + max_new_tokens, context)
