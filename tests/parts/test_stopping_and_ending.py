import torch

from decoding.core.ending import Ending
from decoding.strategies.threshold import cheapest_threshold


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


def spell(tokens: list[int]) -> str:
    return "".join("abcdefgh"[token] for token in tokens)


def test_a_text_is_cut_before_a_stop_string_that_straddles_tokens_and_rounds() -> None:
    ending = Ending((), ("cde",), spell)  # type: ignore[arg-type]
    assert ending.find([0, 2, 3], fresh=1) is None
    assert ending.find([0, 2, 3, 4, 1], fresh=2) == (4, "stop")
    assert ending.text([0, 2, 3, 4]) == "a"
