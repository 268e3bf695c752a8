"""Projection: what every strategy would give on another machine, for the texts of this pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from decoding.choice import Choice, by_kind, parse_choices, planned
from decoding.core.loop import never
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.disco.judging import CopyJudge
from decoding.drafting.records import Seen
from decoding.prices.cost_model import CostModel
from decoding.prices.machine_card import Card
from decoding.replay.at_load import play
from decoding.replay.planning import AUTOREGRESSIVE, LOOKS, RecordedSet, ungrown
from decoding.replay.projecting.texts import ProjectedText
from decoding.replay.ssd.playing import ANYTIME, IN_TURN, Track
from decoding.replay.ssd.recording import plan_of, track_of
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.workload import lacks
from decoding.strategies import BASELINE, STRATEGIES

WIDEST = 65  # branches of each text whose price is computed
MOST_TOKENS = 1000  # of all texts that are projected
# settings to try, by kind; a strategy that has none is named with the reason
RANKED = {
    **{slug: list[Choice]() for slug, strategy in STRATEGIES.items() if strategy.role == "ranked"},
    **by_kind(choice for choice in planned() if choice.spec.role == "ranked"),
}


@dataclass(frozen=True)
class Projected:
    """One setting on the card's machine, for so many texts that are decoded together."""

    choice: Choice
    batch: int
    tokens_per_s: float  # of each text
    speedup: float  # over autoregressive on the same machine, at the same batch
    devices: int

    @property
    def tokens_per_s_device(self) -> float:
        return self.batch * self.tokens_per_s / self.devices


@dataclass(frozen=True)
class ProjectionInputs:
    texts: Sequence[ProjectedText]
    vocab: int
    classifier: DraftClassifier | None = None
    is_undrafted: bool = False  # no draft was recorded

    @cached_property
    def judge(self) -> CopyJudge | None:
        """The classifier's judge of copies; None if it knows nothing about them."""
        return judge_if_any(self.classifier)

    @cached_property
    def context(self) -> float:
        """Mean tokens before a pass."""
        tokens = sum(len(text.record) for text in self.texts)
        whole = (len(text.record) * (len(text.track.written.prompt) + len(text.record) / 2) for text in self.texts)
        return sum(whole) / max(1, tokens)

    @classmethod
    def of(
        cls, study: RecordedSet, vocab: int, classifier: DraftClassifier | None, most: int = MOST_TOKENS
    ) -> ProjectionInputs:
        """Take some texts of every part of the prompts, of about so many tokens: as many as are projected within
        seconds."""
        recordings = study.recordings
        stride = max(1, round(sum(len(recording.matches) for recording in recordings) / most))
        said = study.estimates(classifier)
        shown = {} if study.is_undrafted else {sees: study.shown(sees) for sees in LOOKS}
        texts = [
            ProjectedText(_unread(track_of(each, said[i]), study, i), {sees: rows[i] for sees, rows in shown.items()})
            for i, each in enumerate(recordings)
            if i % stride == 0
        ]
        return cls(texts, vocab, classifier, study.is_undrafted)

    def settings(self, fixes_the_text: bool = True) -> dict[str, list[Choice]]:
        """Settings to try, by kind. Bounds know what no strategy can know, and peers are not ours."""
        return {
            kind: [choice for choice in choices if self._plays(choice)]
            for kind, choices in RANKED.items()
            if not self._lacks(kind, fixes_the_text)
        }

    def _plays(self, choice: Choice) -> bool:
        """Whether the texts tell what it drafts."""
        return self._has_grown or not choice.needs_likelihoods

    def left_out(self, fixes_the_text: bool = True) -> dict[str, str]:
        """Say why, of each kind of choice that is not projected."""
        missing = {kind: why for kind in RANKED if (why := self._lacks(kind, fixes_the_text))}
        return missing if self.is_undrafted or self._has_grown else {**missing, **ungrown()}

    @property
    def _has_grown(self) -> bool:
        """Whether trees of likeliest paths were grown along the texts."""
        return all(text.track.ranked and text.track.ranked.grown for text in self.texts)

    def _lacks(self, kind: str, fixes_the_text: bool) -> str:
        """Say why choices of this kind cannot be played; empty if they can."""
        [usual] = parse_choices(kind)
        if usual.spec.blocks:
            return "no recording tells what its blocks would hold"
        if not RANKED[kind]:
            return "a search has no settings of it to try"
        if usual.spec.prepares_ahead and not fixes_the_text:
            return "its simulation needs a fixed text: greedy or shared dice"
        return lacks(
            usual,
            has_classifier=self.classifier is not None,
            judges_copies=self.judge is not None,
            is_undrafted=self.is_undrafted,
        )

    def on(self, card: Card) -> Card:
        """Return the card with its prices for texts as long as these."""
        return replace(card, costs=card.costs.at(self.context))

    def speed(self, choice: Choice, card: Card, batch: int) -> float:
        """Tokens per second of each text."""
        costs = self.on(card).costs
        if choice.spec.prepares_ahead:
            return self._prepared(choice, card, costs, batch)
        texts = [text.shown(choice.sees) for text in self.texts]
        return play(texts, choice.sources(self.judge), costs, batch).tokens_per_s_device / batch

    def _prepared(self, choice: Choice, card: Card, costs: CostModel, batch: int) -> float:
        """The same of a choice that prepares ahead. Each text has as many branches as it says."""
        plan = plan_of(choice, self.vocab, self.classifier and self.classifier.at(costs))
        placement = ANYTIME if card.draft_devices else IN_TURN
        tracks = [text.track for text in self.texts]
        prices = prepared_at(costs, batch)
        played = simulate_together(tracks, plan, prices, batch, placement, shares_branches=False)
        return played.tokens_per_s_device / batch


def prepared_at(costs: CostModel, batch: int) -> CostModel:
    """Return a card's prices with those of preparing for so many texts: a step of all branches is a pass of the draft,
    and an answer takes two messages."""
    steps = [(rows, costs.draft(batch, rows)) for rows in range(batch, batch * WIDEST + 1, batch)]
    return replace(costs, branches=steps, opening=costs.draft(batch), answer=2 * costs.transport)


def _unread(track: Track, study: RecordedSet, i: int) -> Track:
    """Show sources all of a text. Its prompt takes no time: nobody projects what reading it costs."""
    return replace(track, prompt_tokens=1, seen=Seen(words=study.seen(i, ()).words), ranked=study.ranked[i])


def project(
    material: ProjectionInputs,
    card: Card,
    *,
    fixes_the_text: bool = True,
    on_progress: Callable[[int, int], None] = lambda done, due: None,
    cancelled: Callable[[], bool] = never,
) -> list[Projected]:
    """Project the best setting of each strategy at each batch size of the card, fastest first."""
    settings, card = {BASELINE: [AUTOREGRESSIVE], **material.settings(fixes_the_text)}, material.on(card)
    due, found = len(card.batches) * sum(map(len, settings.values())), list[Projected]()
    done = 0
    for batch in card.batches:
        undrafted = material.speed(AUTOREGRESSIVE, card, batch)
        rows = []
        for choices in settings.values():
            speeds: dict[str, tuple[float, Choice]] = {}
            for choice in choices:
                if cancelled():
                    return found
                speeds[choice.label] = material.speed(choice, card, batch), choice
                on_progress(done := done + 1, due)
            if speeds:
                speed, best = max(speeds.values(), key=lambda pair: pair[0])
                rows.append(Projected(best, batch, speed, speed / undrafted, _devices(best, card)))
        found += sorted(rows, key=lambda row: -row.tokens_per_s)
    return found


def _devices(choice: Choice, card: Card) -> int:
    """Devices that the choice has to itself: the draft's own only where it works beside the target."""
    return card.target_devices + (card.draft_devices if choice.spec.prepares_ahead else 0)


def by_batch(rows: Sequence[Projected]) -> Iterator[tuple[int, list[Projected]]]:
    for batch in dict.fromkeys(row.batch for row in rows):
        yield batch, [row for row in rows if row.batch == batch]


def as_dict(row: Projected) -> Mapping[str, object]:
    return {
        "batch": row.batch,
        "strategy": row.choice.strategy,
        "params": dict(row.choice.params),
        "label": row.choice.label,
        "role": row.choice.spec.role,
        "tokens_per_s": row.tokens_per_s,
        "tokens_per_s_device": row.tokens_per_s_device,
        "speedup": row.speedup,
    }
