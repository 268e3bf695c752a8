"""`./drafthouse compare` on chats and request logs: what it reports and replays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.terminal import compared, on_pair
from worker.terminal.compare import main

TEMPLATE = "{% for m in messages %}{{ 'w1 ' if m.role == 'user' else 'w2 ' }}{{ m.content }} {% endfor %}w2"


@pytest.fixture
def here(box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where commands run, with prompts and a template."""
    (tmp_path / "chat.jinja").write_text(TEMPLATE)
    talks = [{"id": "t", "turns": ["w3 w4", "w5"]}, {"id": "u", "turns": ["w6"]}]
    (tmp_path / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    asked = [{"custom_id": str(n), "body": {"prompt": f"w{n + 3}"}, "timestamp": 1000 + n / 10} for n in range(4)]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, asked)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(box: Path, prompts: str, *more: str) -> int:
    flags = ("--threads", "1", "--strategies", "static:2", "--prompts", prompts, "--json", "r.json", *more)
    return main(on_pair(box, *flags, tokens=6))


def test_chats_are_reported_by_turn_with_what_the_target_read(box, here, capsys):
    assert run(box, "talks.jsonl", "--template", "chat.jinja") == 0
    base, static = compared(here / "r.json")["strategies"]
    first, later = (sample for sample in base["samples"] if sample["prompt"].startswith("t"))
    assert first["rendered"] == "w1 w3 w4 w2"
    assert later["rendered"] == f"w1 w3 w4 w2 {first['answer']} w1 w5 w2"
    assert [turn["turn"] for turn in static["by_turn"]] == [1, 2]
    assert "static:2 by turn: turn 1 " in capsys.readouterr().out


def test_a_log_is_replayed_at_its_own_times(box: Path, here: Path) -> None:
    assert run(box, "log.jsonl", "--rate", "recorded:5") == 0
    found = compared(here / "r.json")
    assert [load["recorded"] for load in found["loads"]] == [True]
    arrived = [sample["timing"]["arrived_ns"] for sample in found["strategies"][0]["samples"]]
    assert sorted(arrived) == pytest.approx([0, 2e7, 4e7, 6e7], abs=1e5)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("talks.jsonl",), "has no chat template"),
        (("talks.jsonl", "--rate", "recorded"), "3 of 3 prompts have no timestamp"),
        (("log.jsonl", "--rate", "recorded:0"), "is not a number above 0"),
        (("talks.jsonl", "--template", "nowhere.jinja"), "nowhere.jinja cannot be read"),
    ],
)
@pytest.mark.usefixtures("here")
def test_what_cannot_run_is_refused_with_the_reason(box, more, told, capsys):
    assert run(box, *more) != 0
    assert told in capsys.readouterr().err


def test_a_chat_runs_as_plain_text_without_a_template(box: Path, here: Path) -> None:
    assert run(box, "talks.jsonl", "--form", "chat-as-text") == 0
    samples = compared(here / "r.json")["strategies"][0]["samples"]
    assert [(sample["prompt"], sample["prompt_tokens"]) for sample in samples] == [("t", 2), ("u", 1)]
