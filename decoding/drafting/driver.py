"""The driver: it gives a source what it asks for, with a model or without, and makes a draft of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from decoding.core.batch_state import BatchState
from decoding.core.sequence import Drafter
from decoding.dice.choosing import LaunchedToken, Picker, PickingPass
from decoding.dice.dice import Dice, broken
from decoding.dice.verify import EMPTY, Draft, QueuedDraft, Verdict
from decoding.drafting.features import DraftStep, Fate, Feature
from decoding.drafting.source import (
    STEP,
    Ask,
    Asking,
    Block,
    Copy,
    Foresee,
    Judgement,
    Source,
    Step,
    View,
    next_of,
    until_refused,
)
from decoding.drafting.tree import GrownTree, listing
from decoding.errors import BadStrategy
from decoding.models.fast.runner import FastRunner
from decoding.models.runner import BlockPass, Feeds, ModelRunner, ReadsBlocks, read_prompt, rewind_to
from decoding.trace.events import StopReason


@dataclass
class DraftDriver(Drafter):
    """Drafts what a source asks for, until the source has enough, an end token comes, or no room is left."""

    source: Source
    view: View
    dice: Dice
    model: ModelRunner | None = None
    feature: Feature | None = None  # what the source sees of each drafted token
    picker: Picker | None = None  # if a GPU chooses the tokens
    _grown: GrownTree | None = field(default=None, init=False)  # this round's tree
    _copied: int = field(default=0, init=False)  # tokens of this round's draft that were copied
    _began: int = field(default=0, init=False)  # when drafting began, in ns
    _ready: int = field(default=0, init=False)  # when the draft was complete

    def __post_init__(self) -> None:
        self.drafts = self.model is not None or self.source.copies

    def join(self, batch: BatchState) -> None:
        self.source.batch = batch

    def prepare(self, text: Sequence[int]) -> None:
        self.source.follow(text)
        model = self.model
        if model and self.source.rests:
            model.rewind(0)
        elif model and len(text) <= model.context:  # if the prompt is longer, the target decodes alone
            read_prompt(model, text)

    def draft_steps(self, text: Sequence[int], limit: int) -> Feeds[Draft | QueuedDraft]:
        view = self.view
        view.text, view.room, self._grown = text, limit, None
        self._began = view.now()
        draft = yield from self._draft(self.source.propose(view), text)
        if self.source.weighs and isinstance(draft, QueuedDraft):
            draft = draft.draft  # it learns how long drafting took
        self._ready = view.now()
        return draft

    def observe(self, draft: Draft, verdict: Verdict) -> None:
        took = self.view.now() - self._ready
        ranks: Sequence[int] = ()
        if self._grown:
            self._grown.adopt(verdict.path)
            ranks = self._grown.ranks(verdict)
        tokens, drafting = len(draft.tokens), self._ready - self._began
        self.source.judged(Judgement(tokens, verdict.accepted, self._copied, draft.passes, took, drafting, ranks))

    def _draft(self, asking: Asking, text: Sequence[int]) -> Feeds[Draft | QueuedDraft]:
        ask = next_of(asking)
        if isinstance(ask, Foresee):
            ask = next_of(asking, (yield from self._foreseen(ask, text)))
        copied: tuple[int, ...] = ()
        if isinstance(ask, Copy):
            copied, ask = tuple(self.view.usable(ask.tokens)), next_of(asking)
        self._copied = len(copied)
        if isinstance(ask, str):
            return self._copy(copied, self.source.lookahead, ask)
        if ask == STEP:
            return (yield from self._chain(asking, text, copied))
        if copied or not isinstance(ask, Step | Block):
            raise BadStrategy("A source's draft begins with at most one copy, and only single steps follow it.")
        if isinstance(ask, Block):
            return (yield from self._block(ask, text))
        return (yield from self._tree_of(asking, ask, text))

    def _copy(self, tokens: tuple[int, ...], lookahead: int, stop: StopReason) -> Draft:
        if not tokens:
            return EMPTY
        return Draft(tokens, None, lookahead, stop, "copied", 0, tuple(self.source.estimates[: len(tokens)]))

    def _foreseen(self, ask: Foresee, text: Sequence[int]) -> Feeds[tuple[int, int]]:
        """Tell a bound how far the model and how far a copy would get."""
        fate = self.feature
        assert isinstance(fate, Fate), "only bounds foresee"
        with fate.clock.stopped():
            asking = until_refused(self.source.lookahead)
            next(asking)
            drafted = yield from self._chain(asking, text, ())
            assert isinstance(drafted, Draft), "what is seen is read"
            run = len(drafted.tokens) - (drafted.stop == "rule")
            return run, fate.accepted(text, ask.copy) if ask.copy else 0

    def _chain(self, asking: Asking, text: Sequence[int], copied: tuple[int, ...]) -> Feeds[Draft | QueuedDraft]:
        """Let the model draft after copied tokens. The source has asked for the first step."""
        room = min(self.view.room, self._model.context - len(text)) - len(copied)
        if room <= 0:
            return self._copy(copied, len(copied), "rule")
        picker = None if copied else self.picker  # it counts from the committed text
        picking = picker.begin(self._model, self.dice) if picker else None
        if picking and not self.feature:  # seeing a token would wait for the device
            return (yield from self._queue_chain(asking, text, room, picking))
        return (yield from self._step_by_step(asking, text, copied, room, picking))

    def _step_by_step(
        self, asking: Asking, text: Sequence[int], copied: tuple[int, ...], room: int, picking: PickingPass | None
    ) -> Feeds[Draft]:
        source, feature, model, ends = self.source, self.feature, self._model, self.view.ends
        tokens = [*copied]
        steps: list[DraftStep] = []
        seen: list[float] = []
        fed = rewind_to(model, [*text, *copied] if copied else text)
        stop: StopReason | None = None
        while stop is None:
            logits = yield picking or model, fed, 1
            step = self._read(text, tokens, picking) if picking else self._draw(text, tokens, logits, len(copied))
            tokens.append(step.token)
            steps.append(step)
            fed = [step.token]
            is_end = step.token in ends
            if feature and (source.trims or not is_end):
                seen.append(feature.of(step))
            if not is_end or source.trims:
                stop = self._stop(next_of(asking, seen[-1] if feature else None), len(steps), room)
            if is_end:
                stop = "eos"
        passes = len(steps)
        kept = source.keeps(passes)
        estimates = tuple(seen[:kept]) if source.sees == "estimate" else ()
        drafted = tuple(tokens[len(copied) :][:kept])
        if picking:
            chances = tuple(step.confidence for step in steps[:kept])
            return Draft(drafted, None, source.lookahead, stop, "fresh", passes, estimates, chances=chances)
        scores = torch.cat([step.scores for step in steps[:kept]]) if kept else None
        if not copied:
            return Draft(drafted, scores, source.lookahead, stop, "fresh", passes, estimates)
        whole = (*copied, *drafted)
        estimates = tuple(source.estimates[: len(whole)])
        return Draft(whole, self._scores(copied, scores), len(whole), stop, "copied", passes, estimates)

    @staticmethod
    def _stop(ask: Ask | StopReason, drafted: int, room: int) -> StopReason | None:
        if isinstance(ask, str):
            return ask
        assert ask == STEP, "after its first token a draft grows token by token"
        return "length" if drafted == room else None

    def _draw(self, text: Sequence[int], tokens: Sequence[int], logits: Tensor, copied: int = 0) -> DraftStep:
        """Draft the token that follows these, of which the first may be copied."""
        chosen = self.dice.choose(logits, [tokens])
        token = int(chosen.ids)
        if token < 0:
            raise broken()
        return DraftStep(text, tuple(tokens), token, chosen.scores, chosen.preferences, (), copied)

    def _read(self, text: Sequence[int], tokens: Sequence[int], picking: PickingPass) -> DraftStep:
        """Wait for the token that the last pass has chosen to follow these."""
        launched = picking.last
        token, chance, seen = launched.read()
        if token < 0:
            raise broken()
        step = DraftStep(text, tuple(tokens), token, launched.scores, launched.preferences, seen)
        step.confidence = chance
        return step

    def _scores(self, copied: Sequence[int], drafted: Tensor | None) -> Tensor | None:
        """Scores for a verdict that asks what each token was drawn from: a copied one was certain."""
        if drafted is None or self.dice.sampling.fixes_the_text:
            return None
        certain = drafted.new_full((len(copied), drafted.shape[1]), -torch.inf)
        certain.scatter_(1, torch.tensor(copied, device=drafted.device)[:, None], 0.0)
        return torch.cat((certain, drafted))

    def _queue_chain(self, asking: Asking, text: Sequence[int], room: int, picking: PickingPass) -> Feeds[QueuedDraft]:
        """Launch the whole draft before its first token is known."""
        launched = list[LaunchedToken]()
        fed: Sequence[int] | Tensor = rewind_to(self._model, text)
        stop: StopReason | None = None
        while stop is None:
            yield picking, fed, 1
            launched.append(picking.last)
            fed = picking.last.next
            stop = self._stop(next_of(asking), len(launched), room)
        ids = [each.next for each in launched]
        return QueuedDraft(ids, launched[-1].launched, partial(self._read_chain, launched, stop))

    def _read_chain(self, launched: Sequence[LaunchedToken], stop: StopReason) -> Draft:
        """Read a launched draft, and cut what follows an end token, where the text would end."""
        model, read = self._model, [each.read() for each in launched]
        tokens = [token for token, _, _ in read]
        if min(tokens) < 0:
            raise broken()
        if isinstance(model, FastRunner):
            model.tell(tokens[:-1])
        end = next((i for i, token in enumerate(tokens) if token in self.view.ends), None)
        kept = len(tokens) if end is None else end + 1
        stop = stop if end is None else "eos"
        chances = tuple(chance for _, chance, _ in read[:kept])
        return Draft(tuple(tokens[:kept]), None, self.source.lookahead, stop, "fresh", len(tokens), chances=chances)

    def _block(self, ask: Block, text: Sequence[int]) -> Feeds[Draft]:
        """Draw a token for each position of one pass. The model has seen none of them, so each is drawn by itself."""
        model = self._model
        room = min(ask.length, self.view.room, model.context - len(text))
        if room <= 0:
            return EMPTY
        if not self.source.blocks:
            raise BadStrategy("A source that drafts blocks, which no recording can tell, says so: `blocks = True`.")
        if not isinstance(model, ReadsBlocks):
            raise BadStrategy("This strategy drafts several tokens in a pass, and this draft model foretells only one.")
        tokens: list[int] = []
        rows: list[Tensor] = []
        logits = yield BlockPass(model), rewind_to(model, text), room
        for number in range(room):
            step = self._draw(text, tokens, logits[number : number + 1])
            tokens.append(step.token)
            rows.append(step.scores)
            if step.token in self.view.ends:
                return Draft(tuple(tokens), torch.cat(rows), ask.length, "eos", "fresh", 1)
        stop: StopReason = "limit" if room == ask.length else "length"
        return Draft(tuple(tokens), torch.cat(rows), ask.length, stop, "fresh", 1)

    def _tree_of(self, asking: Asking, step: Step, text: Sequence[int]) -> Feeds[Draft]:
        """Draft level by level. Candidates are not drawn, so the target's own choice decides which path is followed,
        under any dice."""
        model = self._model
        if self.source.lookahead < 1:
            raise BadStrategy("A source that asks for a tree sets `lookahead` to its number of levels before.")
        depth = min(self.source.lookahead, self.view.room, model.context - len(text))
        if depth <= 0:
            return EMPTY
        logits = yield model, rewind_to(model, text), 1
        self._grown = grown = GrownTree(model.grow(), 0 if step.paths else step.listed)
        passes = 1
        ask = next_of(asking, self._level(grown, step, logits))
        while isinstance(ask, Step) and passes < depth:
            opened = [*dict.fromkeys(ask.parents)]
            logits = yield grown.reading(opened), [grown.tokens[number] for number in opened], len(opened)
            ask = next_of(asking, self._level(grown, ask, logits))
            passes += 1
        return Draft(tuple(grown.tokens), None, depth, "limit", "fresh", passes, parents=tuple(grown.parents))

    def _level(self, grown: GrownTree, step: Step, logits: Tensor) -> Sequence[int] | None:
        """Add the level that a source asks for. Return those of its likeliest tokens that may have followers."""
        opened = [*dict.fromkeys(step.parents)]
        found = listing(step, self.dice, logits, [grown.path(number) for number in opened])
        added = grown.add_level(step, dict(zip(opened, found, strict=True)), self.view.ends)
        return added if step.paths else None

    @property
    def _model(self) -> ModelRunner:
        if self.model is None:
            raise BadStrategy("A strategy says needs_draft=False and asks the draft model. Remove that from its file.")
        return self.model
