"""How prompts are made on which copying pays: edits of code, filled records, quoted sentences."""

import ast
import json
import random
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from starter.copying import edits, quotes, records, sets
from starter.copying.measure import mean_copied
from starter.copying.task import Task

STARTER = Path(__file__).parents[3] / "starter"
CODE = '''
def count(words, length):
    """Count the words that are longer than that."""
    total = 0
    for word in words:
        if len(word) > length:
            total += 1
    return total
'''
FUNCTION = CODE.strip()
PROSE = """# A heading

The cat sat on the [mat](mat.md) for most of the **afternoon**. It had come in
through the window that somebody had left open. Nobody noticed it until the
evening, when the lamps were lit and the dinner was nearly ready. Then everybody wanted to feed it.

| a | table |
"""


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(STARTER / "pair" / "target")


def test_shared_4_grams_are_counted():
    assert sets.copied([1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5]) == 0.5
    assert sets.copied([1, 2, 3, 4], [4, 3, 2, 1]) == 0.0
    assert sets.copied([1, 2, 3, 4], [1, 2]) == 0.0
    assert mean_copied([[1, 2, 3, 4], [1, 2, 3, 4]], [[1, 2, 3, 4], [4, 3, 2, 1]]) == 0.5


@pytest.mark.parametrize("kind", edits.KINDS)
def test_both_versions_of_an_edit_are_python_and_differ(kind):
    before, _, after = edits.KINDS[kind](FUNCTION, random.Random(0))
    assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))


def test_a_rename_changes_one_name_everywhere():
    before, request, after = edits.rename(FUNCTION, random.Random(0))
    old, new = request.split(", with ")[1].rstrip(":").split(" renamed to ")
    assert (before, old in {"total", "word", "words", "length"}) == (FUNCTION, True)
    assert namespace(after)["count"](["a", "abc", "abcd"], 2) == 2
    names = {node.id for node in ast.walk(ast.parse(after)) if isinstance(node, ast.Name)}
    assert new in names and old not in names
    in_an_f_string = 'def f(word):\n    a = word\n    b = word\n    return f"{word}"'
    assert edits.rename(in_an_f_string, random.Random(0)) is None


def test_a_fix_takes_back_a_fault():
    before, request, after = edits.fix(FUNCTION, random.Random(0))
    assert "Wrong: len(word) >= length. Right: len(word) > length." in request
    assert after == FUNCTION
    assert namespace(before)["count"](["ab"], 2) == 1
    assert namespace(after)["count"](["ab"], 2) == 0


def namespace(code: str) -> dict:
    names: dict = {}
    exec(code, names)
    return names


def test_a_quoted_sentence_stands_in_the_passage():
    tasks = list(quotes.quotes("a.md", PROSE))
    assert [task.category for task in tasks] == list(quotes.KINDS)
    for task in tasks:
        assert "heading" not in task.text and "table" not in task.text
        assert "on the mat for most of the afternoon. It had come in through" in task.text
        sentences = [each for each in quotes.quotable(task.text.split("\n\n")[0]) if each in task.reference]
        assert len(sentences) == 2
    part = "it is set to True by default, which most people want. Then it waits for the others to come."
    assert quotes.quotable(part) == ["Then it waits for the others to come."]


@pytest.mark.parametrize("kind", ["fill", "schema", "update"])
def test_a_filled_record_is_json_with_the_keys_that_were_given(kind):
    fields = records.TEST["vehicle"]
    for task in records.records("vehicle", fields, seed=0):
        if task.category == kind:
            assert list(json.loads(task.text[-1] + task.reference)) == list(fields)


def test_the_same_project_gives_the_same_prompts(tmp_path, tokenizer):
    for number in range(12):
        (tmp_path / "decoding").mkdir(exist_ok=True)
        (tmp_path / "decoding" / f"part{number}.py").write_text(CODE.replace("count", f"count_longer_than_{number}"))
    first, second = (sets.copying_sets(tmp_path, tokenizer.backend_tokenizer) for _ in range(2))
    assert first == second
    assert len(first["edits"]) == 12
    assert len(first["json"]) == 192
    assert first["quotes"] == []


def test_an_answer_that_does_not_copy_makes_no_prompt(tokenizer):
    numbers = " ".join(map(str, range(100, 160)))
    words = " ".join(f"word{number}" for number in range(60))
    assert not sets.is_fit(Task(words, numbers, "none", "none"), tokenizer.backend_tokenizer)
    assert sets.is_fit(Task(words, words, "none", "none"), tokenizer.backend_tokenizer)
