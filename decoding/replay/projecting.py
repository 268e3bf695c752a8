"""Projection of a pair onto another machine: every strategy at the prices of a machine card, and the map "draft price x
acceptance -> best strategy" with the pair as a point on it.

The texts of the map are this pair's, with their acceptance changed. The draft's price is a share of the target's for
one row; the card's draft steps are scaled to it. One text at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

from decoding.backends.misfit import misfit
from decoding.choice import Choice, by_kind, parse_choices, planned
from decoding.core.loop import OnProgress, never, unheard
from decoding.dice import chance
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.disco.copies import judge_if_any
from decoding.drafting.records import Ranked, Record, RecordedText
from decoding.prices.cost_model import CostModel
from decoding.prices.machine_card import Card
from decoding.replay.at_load import play
from decoding.replay.planning import AUTOREGRESSIVE, RecordedSet
from decoding.replay.planning_ahead import spread
from decoding.replay.ssd.simulator import simulate_together
from decoding.replay.workload import lacks
from decoding.ssd.speculator.speculator import plan_of
from decoding.strategies import BASELINE, STRATEGIES

FORMAT = "drafthouse.projection/1"
PRICES = (0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.6)
ACCEPTANCES = (0.3, 0.45, 0.6, 0.7, 0.8, 0.9, 0.96)
TRIED = 6  # settings of a strategy in each field
PROJECTING, MAPPING = "projecting", "drawing the map"
WIDEST = 65  # branches of each text whose price is computed
MOST_TOKENS = 1000  # of all texts that are projected
# settings to try, by kind; a strategy that has none is named with the reason
RANKED = {
    **{slug: list[Choice]() for slug, strategy in STRATEGIES.items() if strategy.role == "ranked"},
    **by_kind(choice for choice in planned() if choice.spec.role == "ranked"),
}


def document(
    material: ProjectionInputs,
    card: Card,
    sampling: Sampling,
    *,
    on_progress: Callable[[str, int, int], None] = lambda phase, done, due: None,
    cancelled: Callable[[], bool] = never,
) -> dict[str, Any]:
    """Project, and draw the map. A pair without a draft has none: the map is of the draft's price and acceptance."""
    fixes, classifier, drawn = sampling.fixes_the_text, material.classifier, None
    rows = project(material, card, fixes, on_progress=partial(on_progress, PROJECTING), cancelled=cancelled)
    if not material.is_undrafted:
        fields = draw_map(material, card, fixes, on_progress=partial(on_progress, MAPPING), cancelled=cancelled)
        price, own = pair_on(material, card)
        drawn = {"fields": fields, "pair": {"price": price, "acceptance": own}}
    return {
        "format": FORMAT,
        "label": "simulated",
        "card": card.to_dict(),
        "context": {**card.costs.about_context, "texts": material.context},
        "settings": rows,
        "left_out": material.left_out(fixes),
        "misfit": misfit("This projection", classifier.card, sampling) if classifier else "",
        "map": drawn,
    }


# Texts ----------------------------------------------------------------------------------------------------------------


def acceptance(texts: Sequence[RecordedText]) -> float:
    """Share of positions at which the draft proposes the text's token."""
    matches = [match for text in texts for match in _matches(text)]
    return sum(matches) / len(matches)


def _matches(text: RecordedText) -> list[bool]:
    return [run > 0 for run in text.record.runs]


def with_acceptance(texts: Sequence[RecordedText], wanted: float) -> list[RecordedText]:
    """The same texts for a better or worse draft: random positions change from refused to accepted, or back.

    What sources see of tokens changes with the chances, so a classifier that was calibrated stays so. Behind a refused
    token, where the draft left the text, the numbers of the text stand for those of the draft's own continuation.
    Where the draft would end at once there is no estimate, so the share of accepted tokens stands for it."""
    own = acceptance(texts)
    is_better = wanted >= own
    share = (wanted - own) / (1 - own) if is_better and own < 1 else wanted / own if own else 0.0
    return [_changed(text, number, own, share, is_better=is_better) for number, text in enumerate(texts)]


def _changed(text: RecordedText, number: int, own: float, share: float, *, is_better: bool) -> RecordedText:
    assert text.written, "a recording of a pair has its tokens"
    lucky = [chance.uniform(number, "draft", place) < share for place in range(text.tokens)]
    pairs = zip(_matches(text), lucky, strict=True)
    matches = [match or luck if is_better else match and luck for match, luck in pairs]

    @cache
    def rows(sees: str) -> list[Sequence[float]]:
        known = [text.seen.row(sees, at) for at in range(text.tokens)]
        longest = max(map(len, known), default=0)
        first = [row[0] if row else own for row in known]
        values = [value + (1 - value) * share if is_better else value * share for value in first]
        return [(*values[at : at + longest], *values[-1:] * (longest - len(values[at : at + longest])))
                for at in range(len(values))]  # fmt: skip

    written = text.written
    known = zip(written.text, text.preferred, matches, strict=True)
    preferred = [_listed(token, listed, match) for token, listed, match in known]
    return replace(
        text,
        record=Record.of(matches, written.room, ended=bool(written.text) and written.text[-1] in written.ends),
        seen=replace(text.seen, row=lambda sees, at: rows(sees)[at]),
        ranked=Ranked.of(written.text, preferred, written.room),
        preferred=preferred,
    )


def _listed(token: int, listed: Sequence[int], is_first: bool) -> Sequence[int]:
    """The draft's best tokens with the text's token first, or not first."""
    if is_first:
        return (token, *(other for other in listed if other != token))
    return (listed[1], listed[0], *listed[2:]) if listed[0] == token and len(listed) > 1 else listed


# Speeds ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProjectionInputs:
    texts: Sequence[RecordedText]
    vocab: int
    classifier: DraftClassifier | None = None
    is_undrafted: bool = False  # no draft was recorded

    @classmethod
    def of(
        cls, study: RecordedSet, vocab: int, classifier: DraftClassifier | None, most: int = MOST_TOKENS
    ) -> ProjectionInputs:
        """Take some texts of every part of the prompts, of about so many tokens: as many as are projected within
        seconds. Their prompts take no time: nobody projects what reading them costs."""
        texts = [replace(text, prompt_tokens=1) for text in study.few(most, classifier)]
        return cls(texts, vocab, classifier, study.is_undrafted)

    @cached_property
    def context(self) -> float:
        """Mean tokens before a pass."""
        tokens = sum(text.tokens for text in self.texts)
        prompts = (len(text.written.prompt) if text.written else 0 for text in self.texts)
        whole = (text.tokens * (prompt + text.tokens / 2) for text, prompt in zip(self.texts, prompts, strict=True))
        return sum(whole) / max(1, tokens)

    def settings(self, fixes_the_text: bool = True) -> dict[str, list[Choice]]:
        """Settings to try, by kind, as far as the texts tell what they draft. Bounds know what no strategy can know,
        and peers are not ours."""
        return {kind: choices for kind, choices in RANKED.items() if not self._lacks(kind, fixes_the_text)}

    def left_out(self, fixes_the_text: bool = True) -> dict[str, str]:
        """Say why, of each kind of choice that is not projected."""
        return {kind: why for kind in RANKED if (why := self._lacks(kind, fixes_the_text))}

    def _lacks(self, kind: str, fixes_the_text: bool) -> str:
        """Say why choices of this kind cannot be played; empty if they can."""
        [usual] = parse_choices(kind)
        if usual.spec.usual_source.blocks:
            return "no recording tells what its blocks would hold"
        if not RANKED[kind]:
            return "a search has no settings of it to try"
        if usual.spec.prepares_ahead and not fixes_the_text:
            return "its simulation needs a fixed text: greedy or shared dice"
        return lacks(usual, self.classifier, is_undrafted=self.is_undrafted)

    def speed(self, choice: Choice, card: Card, batch: int) -> float:
        """Tokens per second of each text. If the choice prepares ahead, each text has as many branches as it says."""
        costs = card.costs.at(self.context)
        if choice.spec.prepares_ahead:
            plan = plan_of(choice, self.vocab, self.classifier and self.classifier.at(costs))
            is_beside, prices = card.draft_devices > 0, prepared_at(costs, batch)
            played = simulate_together(self.texts, plan, prices, batch, is_beside, shares_branches=False)
            return played.tokens_per_s_device / batch
        return play(self.texts, choice.sources(judge_if_any(self.classifier)), costs, batch).tokens_per_s_device / batch


def prepared_at(costs: CostModel, batch: int) -> CostModel:
    """Return a card's prices with those of preparing for so many texts: a step of all branches is a pass of the draft,
    and an answer takes two messages."""
    steps = [(rows, costs.draft(batch, rows)) for rows in range(batch, batch * WIDEST + 1, batch)]
    return replace(costs, branches=steps, opening=costs.draft(batch), answer=2 * costs.transport)


def project(
    material: ProjectionInputs,
    card: Card,
    fixes_the_text: bool = True,
    *,
    on_progress: OnProgress = unheard,
    cancelled: Callable[[], bool] = never,
) -> list[dict[str, Any]]:
    """Project the best setting of each strategy at each batch size of the card, fastest first."""
    kinds = [[AUTOREGRESSIVE], *material.settings(fixes_the_text).values()]
    due, done, found = len(card.batches) * len(kinds), 0, list[dict[str, Any]]()
    for batch in card.batches:
        undrafted = material.speed(AUTOREGRESSIVE, card, batch)
        rows = []
        for choices in kinds:
            if cancelled():
                return found
            best, speed = _fastest(material, card, batch, choices)
            rows.append(_row(best, card, batch, speed, undrafted))
            on_progress(done := done + 1, due)
        found += sorted(rows, key=lambda row: -row["tokens_per_s"])
    return found


def _fastest(material: ProjectionInputs, card: Card, batch: int, choices: Iterable[Choice]) -> tuple[Choice, float]:
    """Return the fastest of these choices, and its tokens per second of each text."""
    speeds = ((choice, material.speed(choice, card, batch)) for choice in choices)
    return max(speeds, key=lambda pair: pair[1])


def _row(choice: Choice, card: Card, batch: int, speed: float, undrafted: float) -> dict[str, Any]:
    """One setting for so many texts. The draft has devices of its own only where it works beside the target."""
    devices = card.target_devices + (card.draft_devices if choice.spec.prepares_ahead else 0)
    return {
        "batch": batch,
        "strategy": choice.strategy,
        "params": dict(choice.params),
        "label": choice.label,
        "role": choice.spec.role,
        "tokens_per_s": speed,
        "tokens_per_s_device": batch * speed / devices,
        "speedup": speed / undrafted,
    }


# The map --------------------------------------------------------------------------------------------------------------


def pair_on(material: ProjectionInputs, card: Card) -> tuple[float, float]:
    """Draft price and acceptance of the pair itself on this card."""
    return card.costs.draft(1) / card.costs.verify(1, 1), acceptance(material.texts)


def draw_map(
    material: ProjectionInputs,
    card: Card,
    fixes_the_text: bool,
    *,
    on_progress: OnProgress = unheard,
    cancelled: Callable[[], bool] = never,
) -> list[dict[str, Any]]:
    """Return the fields of the map: the best strategy in each, and each strategy's best speed-up."""
    due, found = len(PRICES) * len(ACCEPTANCES), list[dict[str, Any]]()
    cards = {price: priced(card, price) for price in PRICES}
    for wanted in ACCEPTANCES:
        there = replace(material, texts=with_acceptance(material.texts, wanted))
        kinds = [spread(choices, TRIED) for choices in there.settings(fixes_the_text).values()]
        for price, at_price in cards.items():
            if cancelled():
                return found
            best: dict[str, tuple[Choice, float]] = {}
            for choice, speed in (_fastest(there, at_price, 1, choices) for choices in ([AUTOREGRESSIVE], *kinds)):
                if choice.strategy not in best or speed > best[choice.strategy][1]:
                    best[choice.strategy] = choice, speed
            first, undrafted = max(best.values(), key=lambda pair: pair[1])[0], best[BASELINE][1]
            speedups = {slug: speed / undrafted for slug, (_, speed) in best.items()}
            field = {"price": price, "acceptance": wanted, "best": first.strategy, "label": first.label}
            found.append({**field, "speedups": speedups})
            on_progress(len(found), due)
    return found


def priced(card: Card, share: float) -> Card:
    """The card with a draft whose step of one row costs this share of the target's."""
    return replace(card, costs=card.costs.with_drafting(share * card.costs.verify(1, 1) / card.costs.draft(1)))
