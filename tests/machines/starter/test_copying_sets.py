"""How prompts are made on which copying pays: edits of code, filled records, quoted sentences."""

import ast
import json
import random
from pathlib import Path

import pytest

from starter.copying import edits, quotes, records, sets
from starter.copying.measure import mean_copied

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


def test_shared_4_grams_are_counted():
    assert sets.copied([1, 2, 3, 4, 5, 6], [9, 2, 3, 4, 5]) == 0.5
    assert sets.copied([1, 2, 3, 4], [4, 3, 2, 1]) == 0.0
    assert sets.copied([1, 2, 3, 4], [1, 2]) == 0.0
    assert mean_copied([[1, 2, 3, 4], [1, 2, 3, 4]], [[1, 2, 3, 4], [4, 3, 2, 1]]) == 0.5


@pytest.mark.parametrize("kind", edits.KINDS)
def test_both_versions_of_an_edit_are_python_and_differ(kind):
    before, _, after = edits.KINDS[kind](FUNCTION, random.Random(0))
    assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(after))


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
