"""The prompt sets on which copying pays: whole, apart by split, short enough, and answered by copying."""

import ast
import json
import random
from itertools import combinations
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from decoding.prompts.prompt import read_prompts
from starter.copying import edits, quotes, records, sets
from starter.copying.measure import evenly, mean_copied
from starter.copying.task import Task

STARTER = Path(__file__).parents[2] / "starter"
SPLITS = ("train", "validation", "test")
CONTEXT, NEW_TOKENS = 1024, 128
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


@pytest.fixture(scope="module", params=["edits", "json", "quotes"])
def path(request) -> Path:
    return STARTER / "prompts" / f"{request.param}.jsonl"


@pytest.fixture(scope="module")
def rows(path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_our_own_reader_takes_texts_categories_and_answers(path):
    prompts = read_prompts(path.read_text("utf-8"), path.name)
    assert {prompt.split for prompt in prompts} == set(SPLITS)
    assert all(prompt.category and prompt.reference for prompt in prompts)


def test_every_category_has_its_share_of_every_split(rows):
    counts = {split: {each["category"]: 0 for each in rows} for split in SPLITS}
    for row in rows:
        counts[row["split"]][row["category"]] += 1
    assert min(sum(by_category.values()) for by_category in counts.values()) >= 30
    assert sum(counts["test"].values()) >= 60
    assert all(len(set(by_category.values())) == 1 for by_category in counts.values())


def test_no_prompt_is_there_twice(rows):
    assert len({row["text"] for row in rows}) == len({row["id"] for row in rows}) == len(rows)


def test_no_two_splits_share_a_source(rows):
    sources = [{row["source"] for row in rows if row["split"] == split} for split in SPLITS]
    assert all(not a & b for a, b in combinations(sources, 2))


def test_prompt_and_new_tokens_fit_into_the_context(rows, tokenizer):
    assert max(len(tokenizer(row["text"])["input_ids"]) for row in rows) + NEW_TOKENS < CONTEXT


def test_answers_copy_most_of_their_4_grams(rows, tokenizer):
    shares = [
        sets.copied(tokenizer(row["text"])["input_ids"], tokenizer(row["reference"])["input_ids"]) for row in rows
    ]
    assert min(shares) >= sets.LEAST_COPIED
    assert sum(shares) / len(shares) > 0.6


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


def test_a_name_in_an_f_string_is_not_renamed():
    code = 'def f(word):\n    a = word\n    b = word\n    return f"{word}"'
    assert edits.rename(code, random.Random(0)) is None


def test_an_added_parameter_leaves_the_old_calls_as_they_were():
    _, _, after = edits.parameter(FUNCTION, random.Random(1))
    assert namespace(after)["count"](["a", "abc", "abcd"], 2) == 2


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


def test_an_edit_ends_with_the_signature_and_its_answer_is_the_body():
    task = next(edits.edits("a.py", CODE))
    assert task.text.splitlines()[-1].startswith("def count(")
    assert task.reference.startswith("\n    ")


def test_a_quoted_sentence_stands_in_the_passage():
    tasks = list(quotes.quotes("a.md", PROSE))
    assert [task.category for task in tasks] == list(quotes.KINDS)
    for task in tasks:
        assert "heading" not in task.text and "table" not in task.text
        assert "on the mat for most of the afternoon. It had come in through" in task.text
        sentences = [each for each in quotes.quotable(task.text.split("\n\n")[0]) if each in task.reference]
        assert len(sentences) == 2


def test_only_whole_sentences_are_quoted():
    passage = "it is set to True by default, which most people want. Then it waits for the others to come."
    assert quotes.quotable(passage) == ["Then it waits for the others to come."]


@pytest.mark.parametrize("kind", ["fill", "schema", "update"])
def test_a_filled_record_is_json_with_the_keys_that_were_given(kind):
    fields = records.TEST["vehicle"]
    for task in records.records("vehicle", fields, seed=0):
        if task.category == kind:
            assert list(json.loads(task.text[-1] + task.reference)) == list(fields)


def test_a_list_goes_on_with_the_record_of_the_notes():
    fields = records.TEST["course"]
    task = next(task for task in records.records("course", fields, seed=0) if task.category == "extend")
    listed = json.loads(task.text[task.text.index("\n[") :] + task.reference)
    assert len(listed) == 4
    assert f"- campus location: {listed[-1]['campus_location']}" in task.text


def test_the_same_project_gives_the_same_prompts(tmp_path, tokenizer):
    for number in range(12):
        (tmp_path / "decoding").mkdir(exist_ok=True)
        (tmp_path / "decoding" / f"part{number}.py").write_text(CODE.replace("count", f"count_longer_than_{number}"))
    first, second = (sets.copying_sets(tmp_path, tokenizer.backend_tokenizer) for _ in range(2))
    assert first == second
    assert len(first["edits"]) == 12
    assert len(first["json"]) == 192
    assert first["quotes"] == []


def test_prompts_are_taken_from_the_whole_of_a_file(path):
    taken = evenly(path, "test", 10)
    assert len({row["id"] for row in taken}) == 10
    assert {row["category"] for row in taken} >= {row["category"] for row in evenly(path, "test", 1000)}


def test_an_answer_that_does_not_copy_makes_no_prompt(tokenizer):
    numbers = " ".join(map(str, range(100, 160)))
    words = " ".join(f"word{number}" for number in range(60))
    assert not sets.is_fit(Task(words, numbers, "none", "none"), tokenizer.backend_tokenizer)
    assert sets.is_fit(Task(words, words, "none", "none"), tokenizer.backend_tokenizer)
