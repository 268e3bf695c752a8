"""The corpus is the same everywhere, holds only what may be used, and splits by source file."""

from pathlib import Path

import pytest

from starter.corpus import read_corpus
from starter.prompt_sets import is_fit
from starter.tokenizer import train_tokenizer

MODULE = '''"""Doubling of numbers of the kind {number}, for those who cannot do it in their heads, written out at
length so that this docstring is long enough to be worth reading. It goes on for a while, and then for another while,
without saying very much. That is what docstrings of this length are often like, and nobody minds it at all.

A second paragraph follows, since real docstrings have one. It explains why the number {number} was chosen, namely
because the test needs files that differ, and what would happen with another number, namely the very same thing.
"""


def double_{number}(value, times={number}, *, carefully=True, loudly=False):
    """Return the value multiplied by two, {number} times over, carefully if that is wanted and loudly if not."""
    for _ in range(times):
        value = value * 2
    return value
'''


@pytest.fixture
def folder(tmp_path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    for number in range(120):
        (place / f"double_{number}.py").write_text(MODULE.format(number=number))
    return place


def test_tests_tables_copies_and_broken_files_are_left_out(folder):
    (folder / "tests").mkdir()
    (folder / "tests" / "test_double.py").write_text(MODULE.format(number=900))
    (folder / "table.py").write_text("TABLE = [\n" + "    123456, 654321, 987654,\n" * 50 + "]\n")
    (folder / "copy.py").write_text(MODULE.format(number=1))
    (folder / "python2.py").write_text("print 'no'\n" * 50)
    (folder / "latin.py").write_bytes(b"# gr\xfcn\n" * 50)
    names = {source.name for source in read_corpus(folder)}
    assert "mine/double_2.py" in names
    assert not {"mine/tests/test_double.py", "mine/table.py", "mine/python2.py", "mine/latin.py"} & names
    assert ("mine/copy.py" in names) + ("mine/double_1.py" in names) == 1


def test_a_prompt_that_quotes_the_corpus_is_left_out():
    tokenizer = train_tokenizer(["some letters"], vocabulary=300)
    text = "a line that stands in the corpus\nanother line that stands there too\n"
    assert is_fit(text, set(), tokenizer)
    assert not is_fit(text, set(text.splitlines()), tokenizer)
