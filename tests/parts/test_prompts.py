"""Prompt files of every form are read. A broken one is refused with line, reason and the number of good prompts."""

import dataclasses
import json
from pathlib import Path

import pytest

from decoding.errors import BadPrompts
from decoding.prompts.containers import LONGEST
from decoding.prompts.prompt import PromptItem, decode, read_prompts
from tests.kit.snapshot import assert_recorded

FILES = Path(__file__).parent / "prompt_files"


def read(name: str) -> list[PromptItem]:
    return read_prompts(decode((FILES / name).read_bytes(), name), name)


def refusal(text: str, name: str = "mine.jsonl") -> str:
    with pytest.raises(BadPrompts) as caught:
        read_prompts(text, name)
    return str(caught.value)


def test_a_file_of_every_form_is_read_into_the_prompts_that_it_holds():
    found = {name: [told(prompt) for prompt in read(name)] for name in sorted(path.name for path in FILES.iterdir())}
    assert_recorded(found, Path(__file__).with_name("prompts.json"))


def told(prompt):
    """Return in what a prompt differs from an empty one."""
    usual = dataclasses.asdict(PromptItem("", ""))
    return {name: value for name, value in dataclasses.asdict(prompt).items() if value != usual[name]}


def test_a_chat_can_be_read_as_plain_text():
    text = (FILES / "spec-bench.jsonl").read_text()
    prompts = read_prompts(text, "spec-bench.jsonl", form="chat-as-text")
    assert [(prompt.id, prompt.text, prompt.chat) for prompt in prompts] == [
        ("81", "Write a letter.", None),
        ("401", "How many legs have two cats?", None),
    ]


def test_broken_lines_are_told_by_number_reason_and_good_ones():
    told = refusal('{"text": "good"}\n{"text": "cut o\n{"text": "good too"}\n[]\n{"prompt": ""}')
    assert told.startswith("mine.jsonl, line 2 is broken, as are 2 more: not JSON (Unterminated string")
    assert "2 prompts are good." in told


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"text": "a"}\n{"other": 1}', "line 2 is broken: it has no 'text' or 'prompt'. 1 prompt is good"),
        (
            '{"id": "x", "text": "a"}\n{"id": "x", "text": "b"}',
            "line 2 is broken: its id 'x' is that of line 1 already",
        ),
        ('{"text": "a", "split": "tset"}', "its split is 'tset', which can be train, validation, test or nothing"),
        (json.dumps({"text": "a" * (LONGEST + 1)}), "more than the 1,000,000 of the longest prompt"),
        ('{"text": "\0"}', "holds NUL characters"),
    ],
)
def test_each_fault_has_its_sentence(text, reason):
    assert reason in refusal(text)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("mine.json", '["a", {"text": "b"}]', "entry 1 is broken: not a JSON object. 1 prompt is good"),
        ("mine.csv", f"text\n{'a' * (LONGEST + 1)}\n", "line 2 is broken: not a table (field larger than field limit"),
        ("mine.docx", "a", "mine.docx ends in .docx; the name of a prompt file ends in .jsonl"),
    ],
)
def test_each_container_says_where_it_broke(name, text, reason):
    assert reason in refusal(text, name)


def test_bytes_are_utf_8_with_or_without_a_mark_or_marked_utf_16():
    assert decode("\ufeffgrün".encode(), "a.txt") == decode("grün".encode("utf-16"), "a.txt") == "grün"


def test_bytes_of_another_encoding_are_refused_with_their_line():
    with pytest.raises(BadPrompts, match=r"a\.txt, line 2: not UTF-8 text\. Save the file as UTF-8"):
        decode("gut\ngrün".encode("latin-1"), "a.txt")
    with pytest.raises(BadPrompts, match="not UTF-16 text"):
        decode(b"\xff\xfea", "a.txt")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("p.jsonl", '{"text": "x \\ud800"}', "its text holds a NUL character or half a surrogate pair"),
        ("p.jsonl", '{"text": "x", "id": "\\u0000"}', "its id holds a NUL character"),
        ("p.jsonl", '{"text": "x", "text": "y"}', "the key 'text' is there twice"),
        ("p.json", "[" + "[]," * 2_000_000 + "0]", "lists and objects, more than"),
        ("p.jsonl", '{"text": "x", "n": [' + "1," * 6_500_000 + "1]}", "values, more than"),
        ("p.csv", "," * 200_000, "a row has more than 100,000 cells"),
        ("p.txt", "a\n" * 100_001, "more than 100,000 rows"),
        ("p.txt", "a" + "\n" * 2_000_001, "has 2,000,001 lines, more than 2,000,000"),
    ],
    ids=range(8),
)
def test_a_prompt_file_made_to_hurt_is_refused_in_a_sentence(name, text, reason):
    with pytest.raises(BadPrompts, match=reason) as refusal:
        read_prompts(text, name)
    assert len(str(refusal.value)) < 1000


def test_lines_end_as_they_do_on_any_system():
    for end in ("\n", "\r\n"):
        assert [prompt.text for prompt in read_prompts(end.join(("a", "b")), "p.txt")] == ["a", "b"]
    for end in ("\n", "\r\n", "\r"):
        found = read_prompts(end.join(("id,text", "1,a", '2,"b c"')), "p.csv")
        assert [prompt.text for prompt in found] == ["a", "b c"]
