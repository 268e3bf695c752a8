"""The two rules of acceptance, in closed form: no sampling, every branch of the algebra summed up."""

import itertools

import torch
from hypothesis import given
from hypothesis import strategies as st

from decoding.dice.verify import by_equality, by_ratio, choose_each

VOCAB = 5


def distribution(seed: int) -> torch.Tensor:
    return torch.softmax(2 * torch.randn(VOCAB, generator=torch.Generator().manual_seed(seed), dtype=torch.float64), -1)


def steps(weights: torch.Tensor) -> list[tuple[int, float]]:
    """Every token `choose_each` can give, with the length of the interval of numbers that give it."""
    total = weights.sum()
    edges = [0.0, *(weights.cumsum(-1) / total).tolist()]
    return [
        (int(choose_each(weights[None], [(low + high) / 2])), high - low)
        for low, high in itertools.pairwise(edges)
        if high > low
    ]


def test_one_drafted_token_leaves_the_targets_distribution_as_it_is() -> None:
    for seed in range(20):
        p, q = distribution(seed), distribution(seed + 100)
        tables = torch.stack([p, p])
        law = torch.zeros(VOCAB, dtype=torch.float64)
        for x in range(VOCAB):
            kept = min(1.0, (p[x] / q[x]).item())
            accepted = by_ratio(tables, q[None], [x], [kept - 1e-9], [0.5, 0.5])
            assert (accepted.accepted, accepted.outcome) == (1, "bonus")
            law[x] += q[x] * kept
            if kept < 1.0:
                refused = by_ratio(tables, q[None], [x], [kept + 1e-9], [0.5, 0.5])
                assert (refused.accepted, refused.outcome) == (0, "correction")
                for token, share in steps((p - q).clamp(min=0)):
                    law[token] += q[x] * (1 - kept) * share
        torch.testing.assert_close(law, p)


def test_a_correction_comes_from_what_the_target_has_in_excess() -> None:
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.2, 0.0, 0.8])
    corrections = {
        by_ratio(torch.stack([p, p]), q[None], [2], [0.5], [unit, 0.0]).token for unit in (0.0, 0.3, 0.4, 0.9, 0.999)
    }
    assert corrections == {0, 1}
    shares = [by_ratio(torch.stack([p, p]), q[None], [2], [0.5], [u / 80, 0.0]).token for u in range(80)]
    assert shares.count(0) == 30  # 0.3 of 0.8


@given(own=st.lists(st.integers(0, 3), min_size=1, max_size=6), data=st.data())
def test_equality_keeps_the_common_beginning(own: list[int], data: st.DataObject) -> None:
    draft = data.draw(st.lists(st.integers(0, 3), min_size=len(own) - 1, max_size=len(own) - 1))
    verdict = by_equality(own, draft)
    assert draft[: verdict.accepted] == own[: verdict.accepted]
    assert verdict.token == own[verdict.accepted]
    assert (verdict.outcome == "bonus") == (verdict.accepted == len(draft))
    if verdict.outcome == "correction":
        assert draft[verdict.accepted] != verdict.token
