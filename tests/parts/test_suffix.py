"""Sources that copy: suffix decoding by its automaton, and prompt lookup as transformers does it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

from decoding.drafting.source import Copy, Source, View, next_of
from decoding.drafting.suffixes import Suffixes
from decoding.strategies.lookup import PromptLookup
from decoding.strategies.suffix import MOST_TEXTS, RecentTexts, Remembering, SuffixDecoding
from tests.kit.copies import some_text


def repeated(text: Sequence[int]) -> int:
    """Length of the longest suffix that occurred before, by a scan."""

    def occurs(length: int) -> bool:
        end = text[len(text) - length :]
        return any(text[i : i + length] == end for i in range(len(text) - length))

    return next((length for length in range(len(text) - 1, 0, -1) if occurs(length)), 0)


def followers(text: Sequence[int], context: Sequence[int]) -> Counter[int]:
    n = len(context)
    return Counter(text[i + n] for i in range(len(text) - n) if text[i : i + n] == context)


@pytest.mark.parametrize("vocab", [2, 30])
def test_the_automaton_finds_what_a_scan_finds(vocab: int) -> None:
    dice, found = random.Random(vocab), 0
    for _ in range(6):
        text, suffixes = some_text(dice, 60, vocab), Suffixes()
        for end, token in enumerate(text, start=1):
            suffixes.append(token)
            here = text[:end]
            state, length = suffixes.repeated()
            assert length == repeated(here)
            while length:
                counts = followers(here, here[end - length :])
                token, match = next(suffixes.followers(state, length))
                assert match == (length, max(counts.values()), counts.total()) and counts[token] == match.times
                (state, length), found = suffixes.shorter(state), found + 1
    assert found > 200


def test_a_loop_counts_in_bounded_time_and_goes_on_beyond_the_end_of_the_text() -> None:
    proposer = SuffixDecoding(threshold=0.1, cap=10)
    proposer.follow([1, 2, 3] * 200)
    assert [*proposer.copied()] == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]


def remembering(memory: RecentTexts, text: Sequence[int]) -> Remembering:
    proposer = Remembering(0.1, 20, memory)
    proposer.follow(text)
    return proposer


def test_an_earlier_answer_to_the_same_prompt_is_not_copied() -> None:
    memory = RecentTexts()
    remembering(memory, [1, 2, 3]).follow([1, 2, 3, *range(50, 80)])
    again = remembering(memory, [1, 2, 3])
    again.follow([1, 2, 3, 50])
    assert not again.copied()


def test_only_the_latest_texts_are_remembered() -> None:
    memory = RecentTexts()
    for number in range(MOST_TEXTS + 1):
        remembering(memory, [number, 1000 + number])
    assert not remembering(memory, [-5, 0]).copied(), "the first text is forgotten"
    assert [*remembering(memory, [-6, 5]).copied()] == [1005]


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


@pytest.mark.parametrize(("lookahead", "ngram"), [(10, 2), (64, 32)])
@pytest.mark.parametrize("ends", [(), (0, 5)], ids=["no end token", "two"])
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


def test_a_token_that_the_models_do_not_share_is_not_proposed() -> None:
    assert copy_of(PromptLookup(5, 1), View([1, 2, 10, 3, 1], 9, vocab=10))[0] == [2]
