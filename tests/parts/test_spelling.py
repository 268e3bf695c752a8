"""Tokens write bytes, in the way of their tokenizer, and two tokenizers share the tokens that write the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from decoding.models.tokenizer_files import TokenizerFacts, read_tokenizer
from decoding.vocabularies import sample
from decoding.vocabularies.shared import shared
from decoding.vocabularies.spelling import Coder, Spelling, cut, spelling_of, tail_of, whole_characters

LINES = [*sample.TEXT.splitlines(), "the walking of the walkers, and walks", "naïve 世界 🙂"] * 3
MANY = 1 << 20  # outputs


def byte_level(size: int) -> Tokenizer:
    """GPT-2's way: a sign for each byte."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, special_tokens=["<|end|>"], show_progress=False
    )
    made.train_from_iterator(LINES, trainer)
    return made


def sentence_piece(size: int) -> Tokenizer:
    """Llama 2's way: "▁" for a space, a space before the text, and bytes for characters without a token."""
    spare = [f"<0x{byte:02X}>" for byte in range(256)]
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=["<unk>", "</s>", *spare], show_progress=False)
    made.train_from_iterator([line.replace("世", "").replace("🙂", "") for line in LINES], trainer)
    whole = json.loads(made.to_str())
    whole["added_tokens"] = whole["added_tokens"][:2]  # the bytes are ordinary tokens
    return Tokenizer.from_str(json.dumps(whole))


def facts(ids: dict[str, int], specials: set[str] = frozenset()) -> TokenizerFacts:  # type: ignore[assignment]
    names = frozenset(specials)
    return TokenizerFacts(ids, (), names, names)


@pytest.fixture(scope="module")
def coders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Coder]:
    root = tmp_path_factory.mktemp("tokenizers")
    made = {"gpt": byte_level(500), "llama": sentence_piece(700)}
    return {name: _coder(root / name, tokenizer) for name, tokenizer in made.items()}


def _coder(folder: Path, made: Tokenizer) -> Coder:
    PreTrainedTokenizerFast(tokenizer_object=made).save_pretrained(folder)
    spelling = spelling_of(read_tokenizer(folder), MANY)
    return Coder(spelling, lambda text: made.encode(text, add_special_tokens=False).ids)


@pytest.mark.parametrize("text", ["naïve café  a\n\tc", "世界 🙂"])
@pytest.mark.parametrize("name", ["gpt", "llama"])
def test_ids_write_the_very_bytes_that_they_were_cut_from(coders: dict[str, Coder], name: str, text: str) -> None:
    found = coders[name]
    assert found.spelling.bytes_of(found.ids_of(text.encode())) == text.encode()


def test_a_word_after_a_space_has_the_same_bytes_in_every_tokenizer(coders: dict[str, Coder]) -> None:
    assert all(b" the" in found.spelling.ids for found in coders.values())
    words = spelling_of(replace(facts({"the": 0, "##ing": 1, "##": 2}), signs="words"), MANY)
    assert words.written == {0: b" the", 1: b"ing", 2: b" ##"}


def test_of_two_tokens_for_one_byte_the_one_in_use_is_taken() -> None:
    spelling = spelling_of(replace(facts({"<0x41>": 0, "A": 1, "<0x42>": 2}), signs="spaces"), MANY)
    assert spelling.ids == {b"A": 1, b"B": 2}


def test_special_tokens_write_nothing_and_are_shared_by_name() -> None:
    target = spelling_of(facts({"<|end|>": 0, "<|user|>": 1, "a": 2}, {"<|end|>", "<|user|>"}), MANY)
    draft = spelling_of(facts({"a": 0, "<|user|>": 1, "</s>": 2}, {"<|user|>", "</s>"}), MANY)
    assert target.bytes_of([0, 2, 1]) == b"a"
    assert shared(target, draft).to_target == {0: 2, 1: 1}
    assert shared(target, draft, {0}, {2}).to_target == {0: 2, 1: 1, 2: 0}  # both end a text


def test_an_id_that_the_model_cannot_say_is_shared_with_nobody() -> None:
    ids = {"a": 0, "b": 1, "c": 7}
    assert shared(spelling_of(facts(ids), 2), spelling_of(facts(ids), 99)).to_target == {0: 0, 1: 1}


def test_the_share_is_counted_of_a_sample_text(coders: dict[str, Coder]) -> None:
    gpt, llama = coders["gpt"].spelling, coders["llama"].spelling
    both = shared(gpt, llama)
    known = {gpt.written[number] for number in both.to_target.values()}
    assert all(gpt.written[theirs] == llama.written[ours] for ours, theirs in both.to_target.items())
    tokens = [*cut(gpt, sample.TEXT.encode())]
    assert both.of_target_text == sum(gpt.written.get(token, b"") in known for token in tokens) / len(tokens)
    assert 0.3 < both.of_target_text < shared(gpt, gpt).of_target_text == 1.0


def test_text_is_cut_as_it_would_be_after_what_stands_before_it(coders: dict[str, Coder]) -> None:
    for name in ("gpt", "llama"):
        one = coders[name]
        after = one.following(b" of the", b" walking")
        assert after == one.ids_of(b" of the walking")[-len(after) :]
        assert one.spelling.bytes_of(one.following(b" walk", b"ing")) == b"ing"  # though "walking" is one token


def test_a_proposal_ends_before_a_byte_that_no_token_writes() -> None:
    few = Coder(Spelling({0: b"a", 1: b"b"}, {}, frozenset()), lambda text: [])
    assert few.following(b"a", b"abxa") == [0, 1]
    assert few.ids_of(b"abxa") == [0, 1, 0]  # but it reads on


def test_an_incomplete_character_is_left_for_the_next_round() -> None:
    whole = "né世🙂".encode()
    complete = ["n", "né", "né世", "né世🙂"]
    for end in range(1, len(whole) + 1):
        expected = max((text.encode() for text in complete if len(text.encode()) <= end), key=len)
        assert whole_characters(whole[:end]) == expected


def test_the_last_word_of_a_text_is_found(coders: dict[str, Coder]) -> None:
    spelling = coders["gpt"].spelling
    tokens = coders["gpt"].ids_of(b"look at the zzyzx")
    start, word = tail_of(spelling, tokens)
    assert word == b" zzyzx" and spelling.bytes_of(tokens[:start]) == b"look at the"
    assert tail_of(spelling, []) == (0, b"")
    end = next(iter(spelling.specials))
    assert tail_of(spelling, [*tokens, end]) == (len(tokens) + 1, b"")
    assert tail_of(spelling, [end, *tokens[-1:]])[0] == 1
