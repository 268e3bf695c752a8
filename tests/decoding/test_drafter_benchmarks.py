"""Arguments of the benchmarks of drafters, and one short run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import lookup, other_tokenizers, sources, trees
from decoding.strategies import STRATEGIES
from worker.terminal.ending import ended


def test_each_proposer_is_timed_beside_the_scan_of_transformers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lookup.main(["--length", "60", "--rounds", "2", "--json", str(tmp_path / "found.json")])
    found = json.loads((tmp_path / "found.json").read_text())
    ours = [slug for slug, spec in STRATEGIES.items() if spec.copies_only and not spec.needs_classifier]
    assert [*found] == [*ours, "transformers"]
    assert all(row["answers"] >= 2 and 0 < row["median_us"] <= row["worst_us"] for row in found.values())
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*found]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--length", "39"], "in so short a text no round is measured. Give 40 or more."),
        (["--rounds", "0"], "'0' is not a whole number from 1 up"),
    ],
)
def test_a_text_in_which_nothing_is_measured_is_refused(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text of less than 40 tokens used to run for ever."""
    with pytest.raises(SystemExit) as ending:
        lookup.main(argv)
    assert ending.value.code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--strategies", "static:4,nonsense"], "There is no strategy 'nonsense'"),
        (["--strategies", "static:4,hybrid"], "hybrid needs a draft that says the target's tokens"),
        (["--tokens", "0"], "'0' is not a whole number from 1 up"),
    ],
)
def test_what_cannot_run_with_another_tokenizer_is_refused_before_anything_loads(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second used to fail after minutes, at the first pair that matches text."""
    assert ended(other_tokenizers.run_all, argv) == 2
    told = capsys.readouterr()
    assert words in told.err and not told.out


def test_sources_are_measured_on_a_set_in_the_box(tmp_path: Path) -> None:
    short = ["--limit", "1", "--max-new-tokens", "8"]
    own = tmp_path / "own.jsonl"
    own.write_text('{"text": "def add(a, b):", "split": "test"}\n{"text": "left out", "split": "train"}\n')
    sources.run_all(["--prompts", str(own), *short, "--json", str(tmp_path / "found.json")])
    assert [row["set"] for row in json.loads((tmp_path / "found.json").read_text())] == ["own", "own"]
    there = ["--card", "llama-70b-1b-h100", "--json", str(tmp_path / "found.json")]
    sources.run_all(["--prompts", str(own), *short, *there])
    for row in json.loads((tmp_path / "found.json").read_text()):
        alone = row["tokens_per_s"]["autoregressive"]
        assert alone == pytest.approx(1000 / 18.28) and row["tokens_per_s"]["best-source"] > alone
    sources.run_all(["--sets", "edits", "--wide", "2", *short, "--json", str(tmp_path / "found.json")])
    usual, greedy = json.loads((tmp_path / "found.json").read_text())
    assert (usual["set"], usual["sampling"], greedy["sampling"]) == ("edits", "temperature 0.6", "greedy")
    assert {"hybrid", "disco-hybrid", "bound"} < greedy["ratios"].keys()
    theirs = greedy["tokens_per_s"].keys() - usual["tokens_per_s"].keys()
    assert len(theirs) == 1 and "lookup / transformers'" in greedy["ratios"].keys() - usual["ratios"].keys()
    assert all(speed > 0 for row in (usual, greedy) for speed in row["tokens_per_s"].values())


def test_a_set_that_is_not_in_the_box_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(sources.run_all, ["--sets", "edits,poems"]) == 2
    assert "There is no prompt set 'poems' in the box." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--other", "gone.jsonl"], "gone.jsonl"),
        (["--limit", "0"], "'0' is not a whole number from 1 up"),
        (["--target", "gone"], "Models of your own need prompts"),
    ],
)
def test_the_benchmark_of_trees_refuses_what_is_not_there(
    argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(trees.run_all, argv) == 2
    told = capsys.readouterr()
    assert words in told.err and "Traceback" not in told.err and not told.out
