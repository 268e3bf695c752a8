"""The lesson in copying: what the models read, and that a tiny pair learns it."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding.errors import DrafthouseError
from starter.copying.lesson import Lesson, Mixture, lesson_texts, teach
from starter.corpus import Source, read_corpus
from starter.loop import Plan, Windows
from starter.models import build_model, held_out_loss, save_checkpoint, shape
from starter.tokenizer import encode, train_tokenizer

pytestmark = pytest.mark.slow
NO_LADDER = Path("no rungs")
FUNCTION = '''def part_{number}(value, offset):
    """Add the offset to the value, times {number}."""
    total = value
    for step in range({number}):
        if step > offset:
            total += step
        total += offset
    return total
'''


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sources")
    for number in range(80):
        (folder / f"part_{number}.py").write_text(FUNCTION.format(number=number))
    return folder


@pytest.fixture(scope="module")
def sources(corpus) -> list[Source]:
    return read_corpus(corpus)


@pytest.fixture(scope="module")
def pair(sources, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pair")
    tokenizer = train_tokenizer([source.code for source in sources], vocabulary=400)
    for name, hidden in (("target", 64), ("draft", 32)):
        its_shape = shape(hidden=hidden, inner=hidden, layers=1, heads=1, key_heads=1)
        save_checkpoint(build_model(its_shape, tokenizer.get_vocab_size(), seed=0), tokenizer, folder / name)
    return folder


def plan(steps: int) -> Plan:
    return Plan(steps=steps, minutes=0, fall=0.5, tokens_per_step=256, short=128, long=128)


def recipe(seed: int = 0) -> Lesson:
    return Lesson(plan(60), plan(40), share=0.5, texts=40, own_tokens=1, seed=seed)


def test_the_share_of_the_steps_reads_the_special_texts_in_order_and_none_reads_what_another_read():
    usual, special = (Windows(np.full(4000, number, dtype=np.uint16), seed=0) for number in (1, 2))
    mixture = Mixture(usual, special, share=0.3)
    read = [int(mixture.batch(step, 2, 16)[0, 0]) for step in range(100)]
    assert read.count(2) == 30 and 2 in read[:4] and read[:50].count(2) == 15
    usual, special = (Windows(np.arange(begin, begin + 20_000, dtype=np.uint16), seed=0) for begin in (0, 30_000))
    mixture = Mixture(usual, special, share=0.25)
    assert len({tuple(mixture.batch(step, 1, 16)[0].tolist()) for step in range(200)}) == 200


def test_the_lesson_is_made_from_sources_that_the_models_may_read(sources):
    held_out = [source for source in sources if source.split != "corpus"]
    texts, again, other = (lesson_texts(sources, count=40, seed=seed) for seed in (0, 0, 1))
    assert texts == again != other and held_out
    assert not [source for source in held_out if any(source.code.splitlines()[0] in text for text in texts)]
    assert any("The same function" in text for text in texts)
    assert any("The form, filled in" in text for text in texts)


def test_target_draft_and_ladder_learn_the_lesson_and_load_as_any_other(pair, corpus, sources, tmp_path):
    lines: list[str] = []
    shutil.copytree(pair / "draft", tmp_path / "ladder" / "1x32")
    taught = teach(recipe(), pair, tmp_path / "ladder", tmp_path / "work", corpus, lines.append)
    tokenizer = AutoTokenizer.from_pretrained(taught / "draft")
    tokens = encode(tokenizer.backend_tokenizer, lesson_texts(sources, count=40, seed=0))
    work = tmp_path / "work"
    for name, rung in (
        ("target", work / "pair/target"),
        ("draft", work / "pair/draft"),
        ("draft", work / "ladder/1x32"),
    ):
        before, after = (AutoModelForCausalLM.from_pretrained(folder) for folder in (pair / name, rung))
        assert held_out_loss(after, tokens) < held_out_loss(before, tokens) - 0.3
    assert any(line.startswith("target: held-out loss") for line in lines)


def test_a_work_folder_belongs_to_its_seed(pair, corpus, tmp_path):
    (tmp_path / "begun.json").write_text('{"seed": 1, "corpus": "other"}')
    with pytest.raises(DrafthouseError, match="was begun with seed 1"):
        teach(recipe(), pair, NO_LADDER, tmp_path, corpus, print)
