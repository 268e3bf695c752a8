"""`./drafthouse compare` on small random models, saved as a user's files are; and how commands end: under a limit and
by a signal nothing half written stays, and streams may be odd."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from decoding.models.devices import usual_threads
from tests.kit.models import another_order_of_words, spoil
from tests.kit.terminal import PIECES, ROOT, compared, copied, on_pair, read
from webapp.core.version import version
from worker.memory import HEADROOM
from worker.terminal.compare import main

STRATEGIES = "static:3,heuristic,threshold:0.2,oracle,assisted:3,tree,ssd,hybrid,best-source"
TRACED = ("autoregressive", "static:3", "heuristic:5", "threshold:0.2", "oracle:32", "assisted:3")  # one row a token


@pytest.mark.smoke
def test_the_document_says_what_ran_and_the_trace_adds_up_to_it(box: Path, tmp_path: Path) -> None:
    files = ("--json", tmp_path / "result.json", "--trace", tmp_path / "trace.jsonl")
    with redirect_stdout(io.StringIO()):
        assert main(on_pair(box, "--strategies", STRATEGIES, "--repeats", 2, "--limit", 4, *files)) == 0
    found = compared(tmp_path / "result.json")
    events = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    rows = {row["label"]: row for row in found["strategies"]}
    assert [*rows][:6] == [*TRACED] and len(rows) == 10
    assert found["complete"] is True and found["is_noisy"] is bool(found["noise"])
    assert (found["drafthouse"], found["prompts"]["count"]) == (version(), 4)
    assert found["hardware"]["threads"] == usual_threads()
    assert {label: row["runner"] for label, row in rows.items() if row["runner"] != "fast"} == {
        "assisted:3": "transformers"
    }
    assert {(len(row["samples"]), row["audit"]["identical"]) for row in rows.values()} == {(8, 8)}
    for row in found["strategies"]:
        own = [event for event in events if event["strategy"] == row["label"]]
        assert sum(event["event"] == "finished" for event in own) == 8
        assert {event["prompt"] for event in own} == {f"p{n}" for n in range(4)}
        if row["label"] in TRACED:
            assert sum(event["event"] == "verified" for event in own) == row["num_target_passes"]
            drafted = [event for event in own if event["event"] == "drafted"]
            assert sum(len(event["tokens"]) for event in drafted) == row["num_draft_tokens"]
    prompted = [event for event in events if event["event"] == "prompted"]
    assert len(prompted) == 4 and all(len(event["tokens"]) > 1 for event in prompted)


def test_the_verdict_is_the_first_line_and_what_was_left_out_is_told_aside(box, tmp_path, capsys):
    copied(box, tmp_path)
    for name in ("target", "draft"):
        spoil(tmp_path / name, token=50)
    texts = {"novel": "w1 " * 200, "bad": "w4 w50", "p0": "w1 w2", "p1": "w3"}
    rows = (json.dumps({"id": name, "text": text}) + "\n" for name, text in texts.items())
    (tmp_path / "prompts.jsonl").write_text("".join(rows))
    assert main(on_pair(tmp_path, "--strategies", "static:2", "--json", tmp_path / "result.json")) == 0
    found, (out, err) = read(tmp_path / "result.json"), capsys.readouterr()
    assert [row["audit"]["identical"] for row in found["strategies"]] == [2, 2] and found["complete"]
    why = "Prompt novel has 200 tokens and the target holds 128"
    assert f"Left out: {why}" in err and why in out
    [told] = (warning for warning in found["warnings"] if warning.startswith("4 samples were left out. "))
    lines = out.splitlines()
    assert "static:2 ran at" in lines[0] and "on 2 prompts, and nobody" in lines[0] and told in lines
    table = next(number for number, line in enumerate(lines) if line.split()[:2] == ["strategy", "tokens/s"])
    assert [line.split()[1] for line in lines[table + 1 : table + 3]] == ["autoregressive", "static:2"]
    assert "target 0.1M, draft 0.0M parameters" in err
    assert err.index("4 prompts are too few") < err.index("warming up")


def test_ctrl_c_shows_and_writes_what_is_done(box: Path, tmp_path: Path) -> None:
    terminal, theirs = pty.openpty()
    asked = on_pair(box, "--strategies", "static:2", "--repeats", "1000", "--json", tmp_path / "result.json")
    command = [sys.executable, "-m", "worker.terminal.compare", *asked]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, cwd=ROOT, text=True)
    os.close(theirs)
    shown = b""
    while b" 4/16000 " not in shown:
        shown += os.read(terminal, 4096)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=300)
    os.close(terminal)
    assert process.returncode == 130
    assert any(line.split()[:2] == ["●", "autoregressive"] for line in out.splitlines()[3:5])
    result = read(tmp_path / "result.json")
    assert result["complete"] is False
    assert len({len(row["samples"]) for row in result["strategies"]}) == 1


TEMPLATE = "{% for m in messages %}{{ 'w1 ' if m.role == 'user' else 'w2 ' }}{{ m.content }} {% endfor %}w2"
TALKS = [{"id": "t", "turns": ["w3 w4", "w5"]}, {"id": "u", "turns": ["w6"]}]
LOG = [{"custom_id": str(n), "body": {"prompt": f"w{n + 3}"}, "timestamp": 1000 + n / 10} for n in range(4)]


@pytest.fixture
def folder(box: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where commands run: a pair, its prompts, chats, a log, and a pipe."""
    os.mkfifo(copied(box, tmp_path) / "pipe")  # a device would be lost if a refusal were
    (tmp_path / "talks.jsonl").write_text("\n".join(map(json.dumps, TALKS)))
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, LOG)))
    (tmp_path / "brim.jsonl").write_text(json.dumps({"text": "w1 " * 128}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_chats_are_reported_by_turn_and_a_log_is_replayed_at_its_own_times(folder, capsys):
    def run(*more: str) -> dict[str, Any]:
        assert main(on_pair(folder, "--strategies", "static:2", "--json", "r.json", *more, tokens=6)) == 0
        return compared(folder / "r.json")

    (folder / "target" / "chat_template.jinja").write_text(TEMPLATE)
    base, static = run("--prompts", "talks.jsonl")["strategies"]
    first, later = (sample for sample in base["samples"] if sample["prompt"].startswith("t"))
    assert first["rendered"] == "w1 w3 w4 w2"
    assert later["rendered"] == f"w1 w3 w4 w2 {first['answer']} w1 w5 w2"
    assert [turn["turn"] for turn in static["by_turn"]] == [1, 2]
    assert "static:2 by turn: turn 1 " in capsys.readouterr().out
    found = run("--prompts", "log.jsonl", "--rate", "recorded:5")
    assert [load["recorded"] for load in found["loads"]] == [True]
    arrived = [sample["timing"]["arrived_ns"] for sample in found["strategies"][0]["samples"]]
    assert sorted(arrived) == pytest.approx([0, 2e7, 4e7, 6e7], abs=1e5)


def torn(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--prompts", "talks.jsonl"), "has no chat template"),
        (("--prompts", "brim.jsonl"), "leaves no room"),
        (("--rate", "recorded"), "8 of 8 prompts have no timestamp"),
        (("--target", "gone"), "gone is not a folder."),
        (("--draft", "torn"), "is torn"),
        (("--strategies", "assisted", "--draft", "other", "--other-tokenizer", "slem"), "assisted needs one tokenizer"),
        (("--json", "pipe"), "not a regular file"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs_and_leaves_no_file(folder, capsys, flags, words):
    if "--draft" in flags:
        other = (folder / "draft").rename(folder / flags[flags.index("--draft") + 1])
        torn(other) if other.name == "torn" else another_order_of_words(other)
    before = {path.name for path in folder.iterdir()}
    assert main([*on_pair(folder, "--json", "r.json", "--trace", "t.jsonl", tokens=20), *flags]) == 2
    out, err = capsys.readouterr()
    assert words in err and out == "" and "samples" not in err
    assert {path.name for path in folder.iterdir()} == before >= {*PIECES} - {"draft"} and (folder / "pipe").is_fifo()


def test_a_slip_is_told_without_loading_torch(box: Path) -> None:
    code = (
        "import sys; from worker.terminal.compare import main; "
        "code = main(sys.argv[1:]); sys.exit(99 if 'torch' in sys.modules else code)"
    )
    command = [sys.executable, "-c", code, *on_pair(box, "--strategies", "static:0")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "static: lookahead is '0', outside 1 to 64.\n")


PATIENCE = 300.0  # s; the machine may be busy
WRITES = (
    "import sys; from worker.terminal.ending import ended; "
    "sys.exit(ended(lambda words: [print(words[0], flush=True), input(), print(*words)], sys.argv[1:]))"
)


@contextmanager
def started(*command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def comparing(box: Path, folder: Path) -> tuple[str, ...]:
    files = ("--json", folder / "o.json", "--trace", folder / "o.trace")
    return ("-m", "worker.terminal.compare", *on_pair(box, "--repeats", 5000, *files, tokens=32))


def test_a_command_that_is_told_to_end_removes_what_is_half_written(box: Path, tmp_path: Path) -> None:
    with started(*comparing(box, tmp_path)) as process:
        until_said(process, b"warming up")
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


def test_a_command_that_takes_too_much_memory_is_refused_in_a_sentence(box: Path, tmp_path: Path) -> None:
    with started(*comparing(box, tmp_path), **{HEADROOM: "0.2"}) as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    (sentence,) = said.decode().strip().splitlines()
    assert sentence.startswith("The command took more than 0.") and f"a larger {HEADROOM} (0.2 now)." in sentence
    assert list(tmp_path.iterdir()) == []


def until_said(process: subprocess.Popen[bytes], words: bytes) -> None:
    assert process.stderr
    said = b""
    while words not in said:
        assert select.select([process.stderr], [], [], PATIENCE)[0], f"waited in vain for {words!r}, and heard {said!r}"
        piece = os.read(process.stderr.fileno(), 4096)
        assert piece, f"it ended before it said {words!r}: {said!r}"
        said += piece


DEAF = """
import signal, sys
from worker.terminal import guarded
guarded.TIME_TO_OBEY = 0.1
def work():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    print("deaf", file=sys.stderr, flush=True)
    signal.pause()
sys.exit(guarded.guarded(work))
"""


def test_a_command_that_hears_no_signal_is_ended() -> None:
    with started("-c", DEAF) as process:
        until_said(process, b"deaf")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM


def test_whoever_reads_only_the_first_lines_gets_them_and_a_mark_that_cannot_be_shown_costs_nothing() -> None:
    with started("-c", WRITES, "verdict") as process:
        assert process.stdout
        assert process.stdout.readline() == b"verdict\n"
        process.stdout.close()
        assert (process.communicate(b"\n")[1], process.returncode) == (b"", 141)
    with started("-c", WRITES, "●", "static:4", PYTHONIOENCODING="ascii") as process:
        assert process.communicate(b"\n") == (b"?\n? static:4\n", b"")
