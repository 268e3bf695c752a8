import math
import weakref
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from decoding.dice import chance
from decoding.dice.dice import NOISE_BLOCK, Dice, dice_for, launch_together
from decoding.dice.sampling import Sampling
from decoding.dice.verify import Draft
from decoding.errors import BrokenModel
from tests.kit.rehearsal import on_a_gpu
from tests.kit.waiting import refusing_waits

CPU = torch.device("cpu")


def dice(text: list[int] | None = None, vocab: int = 8, seed: int = 1, **settings: Any) -> Dice:
    made = dice_for(Sampling(**settings), vocab, seed)
    made.commit(text or [])
    return made


def test_the_splitmix_finaliser_is_the_published_one() -> None:
    """The first outputs of splitmix64 seeded with 1234567, as its author lists them."""
    state, outputs = 1234567, []
    for _ in range(3):
        state += 0x9E3779B97F4A7C15
        outputs.append(chance.mix(state))
    assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_uniform_numbers_are_uniform_and_roles_do_not_share_them() -> None:
    numbers = {
        role: torch.tensor([chance.uniform(7, role, chance.digest([i])) for i in range(20_000)])
        for role in ("draft", "accept", "resample")
    }
    for values in numbers.values():
        counts = torch.histc(values, bins=20, min=0, max=1)
        assert ((counts - 1000) ** 2 / 1000).sum() < 43.8  # chi-square, 19 degrees of freedom, 99.9 %
    assert abs(torch.corrcoef(torch.stack([numbers["draft"], numbers["accept"]]))[0, 1]) < 0.025


def test_noise_of_a_long_text_takes_no_more_memory_than_that_of_a_short_one() -> None:
    """A caller that comes back to a block that is gone gets the same numbers again."""
    made = dice(temperature=1.0, vocab=6)
    first = made.noise([3], CPU).clone()  # type: ignore[attr-defined]
    held = [weakref.ref(made.noise(range(at, at + 32), CPU)._base) for at in range(0, 320, 32)]  # type: ignore[attr-defined]
    assert sum(block() is not None for block in held) == 3
    assert torch.equal(made.noise([3], CPU), first)  # type: ignore[attr-defined]


@pytest.mark.parametrize("vocab", [1, 513])
@pytest.mark.parametrize("penalty", [1.0, 0.8])
@pytest.mark.parametrize("temperature", [0.0, 1.3])
def test_a_choice_in_one_call_is_torchs_to_the_last_bit(
    vocab: int, penalty: float, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = torch.Generator().manual_seed(vocab)
    text = torch.randint(vocab, (40,), generator=random).tolist()
    made = dice(text[:30], vocab, temperature=temperature, repetition_penalty=penalty)
    aheads = [text[30 : 30 + count] for count in range(6)]
    kernels, calls = chance.compiled(), list[object]()
    monkeypatch.setattr(kernels, "choose", lambda *given, choose=kernels.choose: calls.append(choose(*given)))
    for logits in logits_of_all_kinds(vocab, random):
        scores = made.scores(logits, aheads)
        preferences = made.preferences(scores, aheads)
        chosen = made.choose(logits, aheads)
        torch.testing.assert_close(chosen.scores, scores, rtol=0, atol=0, equal_nan=True)
        torch.testing.assert_close(chosen.preferences, preferences, rtol=0, atol=0, equal_nan=True)
        assert chosen.ids.tolist() == made.pick(preferences, aheads).tolist()
    assert len(calls) == 9, "no kernel was compiled, or was asked"


def logits_of_all_kinds(vocab: int, random: torch.Generator) -> Iterator[torch.Tensor]:
    """Six rows, each a little longer than the vocabulary."""
    rows = torch.randn(6, vocab + 3, generator=random)
    yield from (rows, 20 * rows, torch.zeros_like(rows), -torch.zeros_like(rows), -rows.abs())
    for number in (math.nan, -math.nan, math.inf, -math.inf):
        broken = rows.clone()
        broken[2, vocab // 2] = number
        broken[4] = number
        yield broken


def test_compiled_noise_is_torchs_noise() -> None:
    golden = 0x9E3779B97F4A7C15
    starts = [chance.mix(chance.mix(5) ^ (position * golden)) for position in range(20)]
    states = [[chance.mix(start + place * golden) >> 11 for place in range(1, 2001)] for start in starts]
    units = (torch.tensor(states, dtype=torch.float64) + 0.5) / 2**53
    torch.testing.assert_close(
        chance.gumbel(5, range(20), 2000, CPU), (-(-units.log()).log()).float(), rtol=2e-7, atol=0
    )


def test_scores_agree_with_the_processors_of_transformers() -> None:
    import transformers

    text = [1, 5, 5, 30]
    logits = torch.randn(1, 64, generator=torch.Generator().manual_seed(0)) * 3
    processors = transformers.LogitsProcessorList()
    processors.append(transformers.RepetitionPenaltyLogitsProcessor(1.3))
    processors.append(transformers.TemperatureLogitsWarper(0.7))
    processors.append(transformers.TopKLogitsWarper(20))
    processors.append(transformers.TopPLogitsWarper(0.8))
    theirs = processors(torch.tensor([text]), logits.clone())
    ours = dice(text, 64, temperature=0.7, top_k=20, top_p=0.8, repetition_penalty=1.3)
    torch.testing.assert_close(ours.scores(logits, [[]]), theirs)


def test_the_penalty_sees_the_text_and_what_is_ahead_of_it_and_no_more() -> None:
    made = dice([1], repetition_penalty=2.0)
    logits = torch.ones(2, 8)
    rows = made.scores(logits, [[], [3, torch.tensor([4])]])  # type: ignore[list-item]
    assert (rows < 1).nonzero().tolist() == [[0, 1], [1, 1], [1, 3], [1, 4]]
    made.commit([6])
    assert (made.scores(logits[:1], [[]]) < 1).nonzero()[:, 1].tolist() == [1, 6]


def test_padding_beyond_the_shared_vocabulary_is_never_chosen() -> None:
    logits = torch.zeros(1, 8)
    logits[0, 7] = 9.0
    assert dice(vocab=7).draw(dice(vocab=7).scores(logits, [[]]), [[]]).item() == 0


def draft_of(*tokens: int, scores: torch.Tensor | None = None, parents: tuple[int, ...] = ()) -> Draft:
    return Draft(tokens, scores, len(tokens), "limit", "fresh", 0, parents=parents)


@pytest.mark.parametrize("settings", [{}, {"temperature": 1.0}, {"temperature": 1.0, "dice": "ratio"}])
@pytest.mark.parametrize("damage", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_refused_in_words(settings: dict[str, Any], damage: float) -> None:
    logits = torch.zeros(2, 8)
    logits[1, 3] = damage
    with pytest.raises(BrokenModel, match="NaN or infinite"):
        dice(**settings).judge(logits, draft_of(2, scores=torch.zeros(1, 8)))


@on_a_gpu
@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 1.0}, {"temperature": 0.9, "repetition_penalty": 1.3}], ids=str
)
def test_verdicts_on_several_texts_take_one_choice_and_are_those_of_each_alone(
    settings: dict[str, Any], device: torch.device
) -> None:
    drafts = [draft_of(), draft_of(2, 3), draft_of(5, 1, parents=(-1, -1))]
    random = torch.Generator().manual_seed(2)
    rows = [torch.randn(len(draft.tokens) + 1, 8, generator=random).to(device) for draft in drafts]
    asked = [(dice([n], seed=n, **settings), rows[n], draft) for n, draft in enumerate(drafts)]
    found = [weighing.verdict() for weighing in launch_together(asked)]
    assert found == [made.judge(logits, draft) for made, logits, draft in asked]
    made, logits, draft = asked[0]
    with refusing_waits():
        broken, whole = launch_together([(made, logits * math.nan, draft), asked[1]])
    assert whole.verdict() == found[1]
    with pytest.raises(BrokenModel, match="NaN or infinite"):
        broken.verdict()


@pytest.mark.parametrize("places", [[5, 6, 7], [5, 5, 6, 8], [5, 7, 6, 8], [31, 31, 33], [40, 8, 40]], ids=str)
def test_every_place_has_its_own_noise_in_whatever_order_it_is_asked_for(places: list[int]) -> None:
    """Branches ask for few places several times, and the first and the last may be as far apart as in a chain."""
    made = dice(temperature=1.0, dice="shared")
    alone = [made.noise([place], CPU) for place in places]  # type: ignore[attr-defined]
    assert torch.equal(made.noise(places, CPU), torch.cat(alone))  # type: ignore[attr-defined]


@on_a_gpu
@pytest.mark.parametrize("settings", [
    {"repetition_penalty": 1.3}, {"temperature": 1.0}, {"temperature": 0.9, "repetition_penalty": 1.3, "top_k": 4},
], ids=str)  # fmt: skip
def test_a_verdict_is_launched_without_a_stop(settings: dict[str, Any], device: torch.device) -> None:
    """Also where the text holds new tokens and the noise a new block: elsewhere the draft could not work meanwhile."""
    draft = draft_of(2, 3)
    logits = torch.randn(3, 8, generator=torch.Generator().manual_seed(1))
    on_gpu, on_cpu = (dice([1], **settings) for _ in range(2))
    for made, where in ((on_gpu, logits.to(device)), (on_cpu, logits)):
        made.judge(where, draft)
        for token in range(2 * NOISE_BLOCK):
            made.commit([token % 5])
    on_device = logits.to(device)
    with refusing_waits():
        on_gpu.commit([6])
        weighing = on_gpu.launch_verdict(on_device, draft)
    on_cpu.commit([6])
    assert weighing.verdict() == on_cpu.judge(logits, draft)
