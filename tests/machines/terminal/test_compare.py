"""`./drafthouse compare` on small random models, saved as a user's files are."""

import io
import json
import os
import pty
import signal
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from decoding.models.devices import usual_threads
from tests.kit.hub import COMMIT, hub
from tests.kit.models import LLAMA, another_order_of_words, save, spoil
from tests.kit.terminal import PIECES, ROOT, compared, copied, on_pair, read
from webapp.core.version import version
from worker.terminal.compare import main

STRATEGIES = "static:3,heuristic,threshold:0.2,oracle,assisted:3,tree,ssd,hybrid,best-source"
TRACED = ("autoregressive", "static:3", "heuristic:5", "threshold:0.2", "oracle:32", "assisted:3")  # one row a token


@pytest.fixture(scope="module")
def run(box: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str, list[dict[str, Any]]]:
    """One comparison of every kind of strategy: its document, its output and its trace."""
    folder = tmp_path_factory.mktemp("run")
    files = ("--json", folder / "result.json", "--trace", folder / "trace.jsonl")
    with redirect_stdout(io.StringIO()) as out:
        assert main(on_pair(box, "--strategies", STRATEGIES, "--repeats", 2, *files)) == 0
    events = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    return compared(folder / "result.json"), out.getvalue(), events


def test_the_document_says_what_ran_and_every_greedy_text_is_the_targets(run) -> None:
    found, _, _ = run
    rows = {row["label"]: row for row in found["strategies"]}
    assert [*rows][:6] == [*TRACED] and len(rows) == 10
    assert found["complete"] is True
    assert found["is_noisy"] is bool(found["noise"])
    assert found["doubt"].startswith("The machine was not quiet: ") is found["is_noisy"]
    assert (found["drafthouse"], found["prompts"]["count"]) == (version(), 8)
    assert found["hardware"]["threads"] == usual_threads()
    assert {label: row["runner"] for label, row in rows.items() if row["runner"] != "fast"} == {
        "assisted:3": "transformers"
    }
    assert {(len(row["samples"]), row["audit"]["identical"]) for row in rows.values()} == {(16, 16)}


def test_a_model_of_the_hub_is_named_in_the_document_with_its_commit(box, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    asked = ["--target", "org/target", "--prompts", str(box / "prompts.jsonl"), "--strategies", "lookup"]
    with hub() as there:
        there.add("org/target", {file.name: file.read_bytes() for file in (box / "target").iterdir()})
        monkeypatch.setenv("HF_ENDPOINT", there.address)
        assert main([*asked, "--limit", "1", "--max-new-tokens", "2", "--json", str(tmp_path / "result.json")]) == 0
    assert compared(tmp_path / "result.json")["pair"]["target"]["hub"] == f"org/target@{COMMIT}"


@pytest.mark.smoke
def test_the_trace_adds_up_to_the_document(run) -> None:
    found, _, events = run
    for row in found["strategies"]:
        own = [event for event in events if event["strategy"] == row["label"]]
        assert sum(event["event"] == "finished" for event in own) == 16
        assert {event["prompt"] for event in own} == {f"p{n}" for n in range(8)}
        if row["label"] in TRACED:
            assert sum(event["event"] == "verified" for event in own) == row["num_target_passes"]
            drafted = [event for event in own if event["event"] == "drafted"]
            assert sum(len(event["tokens"]) for event in drafted) == row["num_draft_tokens"]
    prompted = [event for event in events if event["event"] == "prompted"]
    assert len(prompted) == 8 and all(len(event["tokens"]) > 1 for event in prompted)


def test_the_verdict_is_the_first_line_and_everything_else_is_aside(box, capsys):
    assert main(on_pair(box, "--strategies", "static:2", "--limit", "2")) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert "static:2 ran at" in lines[0] and "on 2 prompts, and nobody" in lines[0]
    assert lines[1].endswith("at least 6 prompts: run 4 more.") or "Other programs" in lines[1], "on a busy machine"
    assert lines[3].split()[:3] == ["strategy", "tokens/s", "speed-up"]
    assert [line.split()[1] for line in lines[4:6]] == ["autoregressive", "static:2"]
    assert "target 0.1M, draft 0.0M parameters" in err
    assert err.index("2 prompts are too few") < err.index("warming up")
    assert err.splitlines()[-1].startswith("decoding: 4/4 ")


@pytest.mark.parametrize("load", [(), ("--rate", "200")], ids=["one", "open"])
def test_a_prompt_that_is_too_long_or_answered_with_nan_is_left_out_and_told(box, tmp_path, capsys, load):
    copied(box, tmp_path)
    for name in ("target", "draft"):
        spoil(tmp_path / name, token=50)
    prompts = tmp_path / "prompts.jsonl"
    novel, bad = json.dumps({"id": "novel", "text": "w1 " * 200}), json.dumps({"id": "bad", "text": "w4 w50"})
    prompts.write_text(f"{novel}\n{prompts.read_text()}{bad}\n")
    assert main(on_pair(tmp_path, "--strategies", "static:2", "--json", tmp_path / "result.json", *load)) == 0
    found, (out, err) = read(tmp_path / "result.json"), capsys.readouterr()
    why = "Prompt novel has 200 tokens and the target holds 128"
    assert f"Left out: {why}" in err and why in out
    [told] = (warning for warning in found["warnings"] if warning.startswith("4 samples were left out. "))
    assert told in out
    assert [row["audit"]["identical"] for row in found["strategies"]] == [8, 8] and found["complete"]


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


def torn(model: Path) -> None:
    weights = model / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])


def without_numbers(model: Path) -> None:
    weights = load_file(model / "model.safetensors")
    weights["model.norm.weight"][:] = torch.nan
    save_file(weights, model / "model.safetensors", metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("model", "damage", "words"),
    [("draft", torn, "is torn"), ("target", without_numbers, "NaN")],
)
def test_a_model_that_will_not_do_is_told_in_one_sentence_and_leaves_no_file(
    box, tmp_path, capsys, model, damage, words
):
    damage(copied(box, tmp_path) / model)
    files = ("--json", tmp_path / "result.json", "--trace", tmp_path / "trace.jsonl")
    assert main(on_pair(tmp_path, *files)) == 2
    out, err = capsys.readouterr()
    assert words in err and out == ""
    assert {path.name for path in tmp_path.iterdir()} == {*PIECES}


def test_a_strategy_that_cannot_run_costs_the_others_nothing(box, tmp_path, capsys):
    without_numbers(copied(box, tmp_path) / "draft")
    flags = ("--strategies", "static:2,lookup", "--limit", "2", "--json", tmp_path / "result.json")
    assert main(on_pair(tmp_path, *flags)) == 0
    rows = compared(tmp_path / "result.json")["strategies"]
    assert [len(row["samples"]) for row in rows] == [2, 0, 2]
    out, err = capsys.readouterr()
    assert "2 samples were left out. static:2 on prompt p0: " in out and "Left out: static:2 on prompt p0: " in err


def another_vocabulary(model: Path) -> None:
    save(model, "llama", **{**LLAMA, "vocab_size": 50})


@pytest.mark.parametrize(
    ("method", "change", "more", "shared"),
    [
        ("tli", another_vocabulary, ",ssd:2,oracle,assisted:3", "50 of the draft's 50"),
        ("slem", another_order_of_words, "", "97 of the draft's 97"),
    ],
)
def test_a_draft_with_another_tokenizer_writes_the_targets_text_after_a_word_on_what_it_shares(
    box, tmp_path, capsys, method, change, more, shared
):
    change(copied(box, tmp_path) / "draft")
    asked = ("--strategies", f"static:3,heuristic{more}", "--other-tokenizer", method)
    assert main(on_pair(tmp_path, *asked, "--json", tmp_path / "result.json")) == 0
    assert f"The target shares {shared} tokens" in capsys.readouterr().err
    assert {row["audit"]["identical"] for row in read(tmp_path / "result.json")["strategies"]} == {8}


NOVEL, BRIM = (json.dumps({"id": name, "text": "w1 " * count}) for name, count in (("novel", 200), ("brim", 128)))


@pytest.mark.parametrize(
    ("prompts", "flags", "words"),
    [
        ('{"text": "w1"}\n\nw2\n', (), "line 3 is broken: not JSON"),
        (NOVEL, (), "Prompt novel has 200 tokens"),
        (BRIM, (), "leaves no room"),
        ("", ("--target", "gone"), "gone is not a folder."),
        ("", ("--target", "prompts.jsonl"), "prompts.jsonl is a file, and not GGUF by its first bytes."),
        ("", ("--strategies", "ssd:2", "--other-tokenizer", "slem"), "ssd:2 needs a draft that says"),
        ("", ("--strategies", "assisted", "--other-tokenizer", "slem"), "with as many outputs (97 each)"),
        ("", ("--json", "gone/result.json"), "cannot be written: No such file or directory."),
        ("", ("--json", "pipe"), "not a regular file"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(box, tmp_path, monkeypatch, capsys, prompts, flags, words):
    os.mkfifo(copied(box, tmp_path) / "pipe")  # a device would be lost if this refusal were
    monkeypatch.chdir(tmp_path)
    if prompts:
        (tmp_path / "prompts.jsonl").write_text(prompts)
    if "slem" in flags:
        another_order_of_words(tmp_path / "draft")
    assert main([*on_pair(tmp_path, tokens=20), *flags]) == 2
    out, err = capsys.readouterr()
    assert words in err and out == "" and "samples" not in err
    assert (tmp_path / "pipe").is_fifo()


def test_a_slip_is_told_without_loading_torch(box: Path) -> None:
    code = (
        "import sys; from worker.terminal.compare import main; "
        "code = main(sys.argv[1:]); sys.exit(99 if 'torch' in sys.modules else code)"
    )
    command = [sys.executable, "-c", code, *on_pair(box, "--strategies", "static:0")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "static: lookahead is '0', outside 1 to 64.\n")
