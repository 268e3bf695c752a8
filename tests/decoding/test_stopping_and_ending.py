import torch

from decoding.drafters.base import Draft
from decoding.ending import Ending
from decoding.stopping import AdaptiveThreshold, Heuristic, cheapest_threshold
from decoding.verify import Verdict


def draft(confidences: list[float]) -> Draft:
    made = Draft(tuple(range(len(confidences))), torch.empty(0), len(confidences), "limit", "fresh", len(confidences))
    made.__dict__["confidence"] = tuple(confidences)  # what the cached property would hold
    return made


def test_the_heuristic_adds_two_after_full_acceptance_and_takes_one_otherwise() -> None:
    rule = Heuristic(2)
    lookaheads = []
    for accepted, outcome in [(2, "bonus"), (1, "correction"), (0, "correction"), (0, "correction"), (0, "correction")]:
        rule.observe(draft([0.5] * rule.lookahead), Verdict(accepted, 7, outcome))  # type: ignore[arg-type]
        lookaheads.append(rule.lookahead)
    assert lookaheads == [4, 3, 2, 1, 1]


def test_a_round_without_a_draft_teaches_the_heuristic_nothing() -> None:
    rule = Heuristic(3)
    rule.observe(draft([]), Verdict(0, 7, "bonus"))
    assert rule.lookahead == 3


def roc_choice(judged: list[tuple[float, bool]]) -> float:
    """The rule as transformers computes it, by brute force over all thresholds."""
    good, bad = [c for c, a in judged if a], [c for c, a in judged if not a]

    def cost(threshold: float) -> float:
        return sum(c >= threshold for c in bad) / len(bad) + 3 * sum(c < threshold for c in good) / len(good)

    return min(sorted({c for c, _ in judged}, reverse=True), key=cost)


def test_the_adaptive_threshold_minimises_false_alarms_and_three_times_the_misses() -> None:
    dice = torch.Generator().manual_seed(0)
    for _ in range(50):
        confidences = torch.rand(30, generator=dice)
        judged = [(round(c, 2), bool(torch.rand(1, generator=dice) < c)) for c in confidences.tolist()]
        assert cheapest_threshold(judged, 0.4) == roc_choice(judged)


def test_one_class_alone_moves_no_threshold() -> None:
    assert cheapest_threshold([(0.9, True)] * 8, 0.4) == 0.4


def test_the_adapted_threshold_governs_the_very_next_round() -> None:
    rule = AdaptiveThreshold(20, 0.4)
    rule.observe(draft([0.9, 0.8, 0.7, 0.6, 0.2]), Verdict(3, 1, "correction"))
    assert rule.threshold == 0.4  # four tokens judged: too few
    rule.observe(draft([0.9, 0.8, 0.5]), Verdict(2, 1, "correction"))
    assert rule.threshold == 0.7


def test_tokens_after_the_first_refusal_teach_nothing() -> None:
    one, other = AdaptiveThreshold(20, 0.4), AdaptiveThreshold(20, 0.4)
    verdict = Verdict(5, 1, "correction")
    one.observe(draft([0.9, 0.8, 0.7, 0.9, 0.8, 0.3]), verdict)
    other.observe(draft([0.9, 0.8, 0.7, 0.9, 0.8, 0.3, 0.99, 0.01]), verdict)
    assert one == other


def spell(tokens: list[int]) -> str:
    return "".join("abcdefgh"[token] for token in tokens)


def test_the_text_ends_with_its_first_end_token() -> None:
    assert Ending({3, 4}).find([0, 1, 4, 2, 3], fresh=5) == (3, "eos")
    assert Ending({3}).find([3, 0, 1], fresh=2) is None  # only what is new is asked about


def test_a_stop_string_may_straddle_tokens_and_rounds() -> None:
    ending = Ending((), ("cde",), spell)  # type: ignore[arg-type]
    assert ending.find([0, 2, 3], fresh=1) is None
    assert ending.find([0, 2, 3, 4, 1], fresh=2) == (4, "stop")
    assert ending.text([0, 2, 3, 4]) == "a"


def test_whichever_end_comes_first_counts() -> None:
    ending = Ending({7}, ("c",), spell)  # type: ignore[arg-type]
    assert ending.find([0, 2, 7], fresh=3) == (2, "stop")
    assert ending.find([0, 7, 2], fresh=3) == (2, "eos")
