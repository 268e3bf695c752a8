"""`./drafthouse compare` on chats and request logs: what it prints and replays, and the file of the worst prompts."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from decoding.errors import BadStrategy
from decoding.prompts.prompt import read_prompts
from tests.kit.models import LLAMA, save
from worker.terminal import oracle, project, train_disco
from worker.terminal.compare import main

ROOT = Path(__file__).parents[2]
TEMPLATE = "{% for m in messages %}{{ 'w1 ' if m.role == 'user' else 'w2 ' }}{{ m.content }} {% endfor %}w2"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("box")
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", **{**LLAMA, "num_hidden_layers": 1})
    (folder / "chat.jinja").write_text(TEMPLATE)
    talks = [{"id": "t", "turns": ["w3 w4", "w5"]}, {"id": "u", "turns": ["w6"]}]
    (folder / "talks.jsonl").write_text("\n".join(map(json.dumps, talks)))
    asked = [{"custom_id": str(n), "body": {"prompt": f"w{n + 3}"}, "timestamp": 1000 + n / 10} for n in range(4)]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, asked)))
    return folder


def arguments(box: Path, prompts: str, *more: str) -> list[str]:
    pair = ("--target", str(box / "target"), "--draft", str(box / "draft"), "--threads", "1")
    return [*pair, "--prompts", str(box / prompts), "--max-new-tokens", "6", "--strategies", "static:2", *more]


def document(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    schema = json.loads((ROOT / "docs" / "compare.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(found)
    return found


def test_chats_are_shown_as_the_target_reads_them_and_reported_by_turn(
    box: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--json", str(tmp_path / "r.json"), "--worst", str(tmp_path / "worst.jsonl"))
    chat = ("--template", str(box / "chat.jinja"), "--show-prompts")
    assert main(arguments(box, "talks.jsonl", *chat, *files)) == 0
    printed = capsys.readouterr()
    base, static = document(tmp_path / "r.json")["strategies"]
    first, later = (sample for sample in base["samples"] if sample["prompt"].startswith("t"))
    assert first["rendered"] == "w1 w3 w4 w2"
    assert later["rendered"] == f"w1 w3 w4 w2 {first['answer']} w1 w5 w2"
    assert f"Prompt t:\n{first['rendered']}\n" in printed.err and f"Prompt t#2:\n{later['rendered']}\n" in printed.err
    assert [turn["turn"] for turn in static["by_turn"]] == [1, 2]
    assert "static:2 by turn: turn 1 " in printed.out
    worst = read_prompts((tmp_path / "worst.jsonl").read_text(), "worst.jsonl")
    assert {prompt.id for prompt in worst} == {"t", "t#2", "u"}
    [alone] = [prompt for prompt in worst if prompt.id == "t#2"]
    assert alone.chat and alone.chat.messages[1] == {"role": "assistant", "content": first["answer"]}


def test_studies_of_chats_end_the_process_that_renders_them(box: Path, tmp_path: Path) -> None:
    """Workers used to keep one for each study."""
    chats = [json.dumps({"id": str(n), "turns": [f"w{n + 3} w{n + 5}"]}) for n in range(6)]
    (tmp_path / "chats.jsonl").write_text("\n".join(chats))
    asked = [*arguments(box, "")[:6], "--prompts", str(tmp_path / "chats.jsonl"), "--max-new-tokens", "6"]
    asked += ["--template", str(box / "chat.jinja")]
    oracle.run([*asked, "--limit", "2", "--out", str(tmp_path / "oracle")])
    project.run([*asked, "--limit", "2", "--card", "llama-70b-1b-h100"])
    with pytest.raises(BadStrategy, match="at least 200 are needed"):
        train_disco.run([*asked, "--out", str(tmp_path / "disco")])
    gc.collect()  # a process that nobody ended warns here, and warnings are errors


def test_a_log_is_replayed_at_its_own_times(box: Path, tmp_path: Path) -> None:
    assert main(arguments(box, "log.jsonl", "--rate", "recorded:5", "--json", str(tmp_path / "r.json"))) == 0
    found = document(tmp_path / "r.json")
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
def test_what_cannot_run_is_refused_with_the_reason(
    box: Path, more: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments(box, *more)) != 0
    assert told in capsys.readouterr().err


def test_a_chat_runs_as_plain_text_without_a_template(box: Path, tmp_path: Path) -> None:
    asked = ("--form", "chat-as-text", "--json", str(tmp_path / "r.json"))
    assert main(arguments(box, "talks.jsonl", *asked)) == 0
    samples = document(tmp_path / "r.json")["strategies"][0]["samples"]
    assert [(sample["prompt"], sample["prompt_tokens"]) for sample in samples] == [("t", 2), ("u", 1)]
