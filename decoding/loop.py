"""The one decode loop: propose, verify, commit, until the text is complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.dice import Dice
from decoding.drafters.base import Draft, Drafter
from decoding.ending import Decoded, Ending
from decoding.errors import BadPrompt
from decoding.events import Drafted, EventSink, Finished, FinishReason, Started, Verified
from decoding.runner import ModelRunner, align, read_prompt
from decoding.timing import Clock
from decoding.verify import Verdict


@dataclass(frozen=True)
class Request:
    prompt: Sequence[int]
    max_new_tokens: int
    ending: Ending


def never() -> bool:
    return False


def decode(
    request: Request,
    target: ModelRunner,
    drafter: Drafter,
    dice: Dice,
    sink: EventSink,
    clock: Clock,
    cancelled: Callable[[], bool] = never,
) -> Decoded:
    text = list(request.prompt)
    start = len(text)
    end = _end(request, target)
    dice.commit(text)
    read_prompt(target, text)
    drafter.prepare(text)
    rounds = _Rounds(target, drafter, dice, sink, clock, free_since=clock.now())
    sink.emit(Started(start, rounds.free_since))

    reason: FinishReason = "length" if end == start + request.max_new_tokens else "context"
    while len(text) < end:
        if cancelled():
            reason = "cancelled"
            break
        fresh = rounds.play(text, limit=end - len(text) - 1)
        text += fresh
        ended = request.ending.find(text[start:], len(fresh))
        if ended:
            kept, reason = ended
            del text[start + kept :]
            break
        dice.commit(fresh)
    sink.emit(Finished(reason, len(text) - start, clock.now()))
    return Decoded(text[start:], reason)


@dataclass
class _Rounds:
    target: ModelRunner
    drafter: Drafter
    dice: Dice
    sink: EventSink
    clock: Clock
    free_since: int  # when the target last finished
    number: int = 0

    def play(self, text: Sequence[int], limit: int) -> list[int]:
        """One round: the tokens it adds to the text."""
        self.number += 1
        began = self.clock.now()
        draft = self.drafter.propose(text, limit)
        drafted = self.clock.now()
        self.drafter.anticipate(text, draft)
        asked = self.clock.now()
        verdict = self._judge(text, draft)
        verified = self.clock.now()
        anticipated = self.drafter.anticipated(self.number - 1)
        if anticipated:
            self.sink.emit(anticipated)
        if draft.tokens:
            self.sink.emit(_drafted(self.number, len(text), draft, began, drafted))
        self.sink.emit(
            Verified(
                round=self.number,
                accepted=verdict.accepted,
                token=verdict.token,
                outcome=verdict.outcome,
                wait_ns=asked - self.free_since,
                start_ns=asked,
                end_ns=verified,
                lost=draft.lost,
            )
        )
        self.free_since = verified
        self.drafter.observe(draft, verdict)
        return [*draft.tokens[: verdict.accepted], verdict.token]

    def _judge(self, text: Sequence[int], draft: Draft) -> Verdict:
        need = len(draft.tokens) + 1
        logits = self.target.extend(align(self.target, [*text, *draft.tokens], need), need)
        weighing = self.dice.weigh(logits, draft)
        self.drafter.meanwhile(weighing.is_done)
        return weighing.verdict()


def _end(request: Request, target: ModelRunner) -> int:
    """The length at which the text is full. Refuses a prompt that leaves no room for even one token."""
    length = len(request.prompt)
    if length == 0:
        raise BadPrompt("The prompt is empty, so there is nothing to continue; give it at least one token.")
    if length >= target.context:
        raise BadPrompt(
            f"The prompt has {length} tokens and the target holds {target.context}, which leaves no room for an "
            "answer; shorten the prompt or take a model with a longer context."
        )
    return min(length + request.max_new_tokens, target.context)


def _drafted(number: int, position: int, draft: Draft, began: int, ended: int) -> Drafted:
    confidence, estimates = draft.details()
    return Drafted(
        round=number,
        position=position,
        lookahead=draft.lookahead,
        tokens=draft.tokens,
        confidence=confidence,
        estimate=estimates,
        stop=draft.stop,
        source=draft.source,
        passes=draft.passes,
        start_ns=began,
        end_ns=ended,
        backup=draft.backup,
    )
