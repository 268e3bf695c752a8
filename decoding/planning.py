"""From a pair and prompts to the settings that suit them: record once, price every setting by replay, name the best."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from torch import Tensor

from decoding.costs import Costs
from decoding.disco import rules
from decoding.disco.classifier import Classifier
from decoding.disco.recording import Recording
from decoding.disco.scribes import Scribes, copies_for
from decoding.disco.texts import Texts
from decoding.loop import never
from decoding.pair import Pair
from decoding.prompts import Prompt
from decoding.replay import ByPlace, Counts, HeuristicPolicy, OraclePolicy, Policy, Record, Static, replay
from decoding.spec import Choice, Sampling, choose

CAP = 20  # the longest draft that is considered
THRESHOLDS = tuple(step / 20 for step in range(1, 20))


@dataclass(frozen=True)
class Study:
    """Recordings of one prompt set, with everything that replays need made once."""

    recordings: Sequence[Recording]

    @cached_property
    def rounds(self) -> list[Tensor]:
        return [rules.rounds_from_everywhere(recording, CAP) for recording in self.recordings]

    @cached_property
    def follows(self) -> float:
        """How likely a token is accepted whose predecessor was."""
        after = [accepted for r in self.recordings for accepted in r.accepted[1:][r.matches[:-1]].tolist()]
        return statistics.mean(after) if after else 1.0

    @cached_property
    def records(self) -> list[Record]:
        return [recording.record for recording in self.recordings]

    def counts(self, policy: Callable[[int], Policy]) -> Counts:
        return replay(self.records, policy)

    def static(self, lookahead: int) -> Counts:
        return self.counts(lambda i: Static(lookahead))

    def heuristic(self, initial: int) -> Counts:
        return self.counts(lambda i: HeuristicPolicy(initial))

    def oracle(self, cap: int) -> Counts:
        return self.counts(lambda i: OraclePolicy(self.records[i], cap))

    def confidence(self, threshold: float, cap: int) -> Counts:
        return self._by_place([rules.confidence_lengths(rounds, threshold) for rounds in self.rounds], cap)

    def estimates(self, classifier: Classifier) -> list[Tensor]:
        return [rules.estimates(classifier, rounds) for rounds in self.rounds]

    def classified(self, estimates: Sequence[Tensor], threshold: float, cap: int) -> Counts:
        return self._by_place([rules.threshold_lengths(said, threshold) for said in estimates], cap)

    def priced(self, estimates: Sequence[Tensor], price: float, cap: int) -> Counts:
        return self._by_place([rules.priced_lengths(said, price) for said in estimates], cap)

    def _by_place(self, lengths: Sequence[Sequence[int]], cap: int) -> Counts:
        return self.counts(lambda i: ByPlace([min(cap, length) for length in lengths[i]]))


@dataclass(frozen=True)
class Prediction:
    """What a setting would give, by replay and measured costs."""

    choice: Choice
    tokens_per_s: float
    speedup: float  # over autoregressive


def study(
    pair: Pair,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    *,
    tails: bool,
    told: Callable[[int], None] = lambda done: None,
    cancelled: Callable[[], bool] = never,
    scribes: Scribes | None = None,
    texts: Texts = MappingProxyType({}),
) -> Study:
    """Write every prompt's text once and record the draft along it. `tails` are wanted for replays of rules that look
    at tokens, not for training. Under ratio dice each strategy has a text of its own; the recorded one is as likely as
    any, so replays count what a run costs on the average. Who has `scribes` already, or `texts`,
    lends them."""
    depth = CAP if tails else 0
    with nullcontext(scribes) if scribes else Scribes(pair, copies_for(pair, len(prompts))) as who:
        return Study(who.record(prompts, sampling, depth, texts=texts, told=told, cancelled=cancelled))


def predict(study: Study, costs: Costs, classifier: Classifier | None = None) -> list[Prediction]:
    """Every setting of every strategy that replay knows."""
    baseline = study.static(0)

    def priced(choice: Choice, counts: Counts, *, decides: bool = False, reads: bool = False) -> Prediction:
        speed = costs.tokens_per_s(counts, decides=decides, reads=reads)
        return Prediction(choice, speed, costs.speedup(counts, baseline, decides=decides, reads=reads))

    found = [priced(choose("static", {"lookahead": n}), study.static(n)) for n in range(1, CAP + 1)]
    found += [priced(choose("heuristic", {"initial": n}), study.heuristic(n)) for n in (2, 5)]
    found.append(priced(choose("oracle", {"cap": CAP}), study.oracle(CAP)))
    found += [
        priced(choose("threshold", {"threshold": t, "cap": cap}), study.confidence(t, cap), reads=True)
        for t in THRESHOLDS
        for cap in (8, CAP)
    ]
    if classifier:
        said = study.estimates(classifier)
        for rule, count in (("threshold", study.classified), ("priced", study.priced)):
            found += [
                priced(choose("disco", {"rule": rule, "threshold": t, "cap": CAP}), count(said, t, CAP), decides=True)
                for t in THRESHOLDS
            ]
    return found


def sweep(study: Study, costs: Costs, classifier: Classifier) -> dict[str, list[dict[str, float]]]:
    """Each of DISCO's rules over its threshold: what moving the threshold would do."""
    baseline, said = study.static(0), study.estimates(classifier)

    def at(threshold: float, counts: Counts) -> dict[str, float]:
        rounds = max(1, counts.target_passes)
        return {
            "threshold": threshold,
            "speedup": costs.speedup(counts, baseline, decides=True),
            "drafted": counts.draft_passes / rounds,
            "accepted": counts.accepted / rounds,
        }

    rules_by_name = {"threshold": study.classified, "priced": study.priced}
    return {name: [at(t, count(said, t, CAP)) for t in THRESHOLDS] for name, count in rules_by_name.items()}


def best(predictions: Sequence[Prediction], strategy: str, **params: object) -> Prediction:
    """The fastest setting of one strategy, among those with these parameters."""
    return max(
        (
            p
            for p in predictions
            if p.choice.strategy == strategy and all(p.choice.params[name] == value for name, value in params.items())
        ),
        key=lambda prediction: prediction.tokens_per_s,
    )


def price_of_a_token(study: Study, costs: Costs, classifier: Classifier) -> float:
    """The priced rule's own price: what a second brings depends on the rule, so it is found by going round."""
    said = study.estimates(classifier)
    price = rules.price(costs, costs.tokens_per_s(study.static(3)), study.follows)
    for _ in range(8):
        speed = costs.tokens_per_s(study.priced(said, price, CAP), decides=True)
        price = rules.price(costs, speed, study.follows)
    return price
