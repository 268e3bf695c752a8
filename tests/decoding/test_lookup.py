"""Prompt lookup proposes what transformers proposes, from an index instead of a scan."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

from decoding.choice import choose
from decoding.drafting.source import Copy, Source, View, next_of
from decoding.errors import BadStrategy
from decoding.strategies.lookup import PromptLookup
from tests.kit.copies import some_text


def theirs(text: Sequence[int], lookahead: int, ngram: int, ends: Sequence[int], max_length: int) -> list[int]:
    generator = PromptLookupCandidateGenerator(
        eos_token_id=torch.tensor(ends) if ends else None,
        num_output_tokens=lookahead,
        max_matching_ngram_size=ngram,
        max_length=max_length,
    )
    candidates, _ = generator.get_candidates(torch.tensor([text]))
    return candidates[0, len(text) :].tolist()


def copy_of(source: Source, view: View) -> tuple[Sequence[int], str]:
    """The tokens that a source copies, and why it wants no more."""
    asking, tokens = source.propose(view), list[int]()
    ask = next_of(asking)
    if isinstance(ask, Copy):
        tokens, ask = [*ask.tokens], next_of(asking)
    assert isinstance(ask, str)
    return tokens, ask


@pytest.mark.parametrize(("lookahead", "ngram"), [(10, 2), (1, 1), (3, 5), (20, 3), (64, 32)])
@pytest.mark.parametrize("ends", [(), (2,), (0, 5)], ids=["no end token", "one", "two"])
def test_tokens_and_their_number_equal_those_of_transformers_at_each_position(
    lookahead: int, ngram: int, ends: Sequence[int]
) -> None:
    dice, found = random.Random(lookahead), 0
    for vocab in (3, 12, 60):
        whole = some_text(dice, 120, vocab)
        source, view = PromptLookup(lookahead, ngram), View(ends=ends, vocab=vocab)
        at = dice.randrange(1, 10)
        while at < len(whole):
            room = len(whole) - at - 1  # transformers proposes beyond it, and cuts what was accepted too much
            expected = theirs(whole[:at], lookahead, ngram, ends, len(whole))[:room]
            view.text, view.room = whole[:at], room
            assert [*copy_of(source, view)[0]] == expected
            found += len(expected)
            at += dice.randrange(1, 6)  # a round commits several tokens
    assert found > 50


def test_a_draft_says_why_it_ended() -> None:
    def stop(text: Sequence[int], limit: int, ends: Sequence[int] = ()) -> str:
        return copy_of(PromptLookup(4, 2), View(text, limit, ends))[1]

    text = [1, 2, 3, 4, 5, 6, 1, 2]
    assert stop(text, 9) == "limit"
    assert stop(text, 3) == "length"
    assert stop(text, 9, [5]) == "eos"
    assert stop([1, 2, 3, 1, 2], 9) == "match"


@pytest.mark.parametrize("params", [{"ngram": 0}, {"lookahead": 0}, {"lookahead": 65}, {"ngram": "two"}], ids=str)
def test_settings_that_transformers_would_refuse_are_refused(params: dict[str, object]) -> None:
    with pytest.raises(BadStrategy, match="lookup: "):
        choose("lookup", params)


def test_a_token_that_the_models_do_not_share_is_not_proposed() -> None:
    assert copy_of(PromptLookup(5, 1), View([1, 2, 99, 3, 1], 9, vocab=10))[0] == [2]
