"""The command that draws the papers' figures: files, resuming, and slips told before anything runs."""

from __future__ import annotations

import csv
import json
import shutil
from functools import partial
from pathlib import Path

import pytest

from tests.kit.terminal import ROOT, given, read
from worker.terminal import papers

STARTER = ROOT / "starter"
SMALL = ["--threads", "1", "--max-new-tokens", "24", "--limit", "4"]
QUICK = "disco-4,disco-5,ssd-fan-outs"  # needs no clock


PAIR = STARTER / "pair"
OWN = ["--prompts", STARTER / "prompts" / "code.jsonl", "--split", "test"]  # prompts for a pair of one's own


command = partial(given, papers.run)


def points(out: Path, slug: str) -> list[dict[str, str]]:
    with (out / f"{slug}.csv").open() as file:
        return [*csv.DictReader(file)]


def test_figures_are_drawn_stored_and_told_and_a_rerun_takes_finished_ones_and_texts_from_the_folder(tmp_path, capsys):
    assert command(*SMALL, "--figures", "disco-4", "--out", tmp_path) == 0
    assert "recording: 4/4, about" in capsys.readouterr().err
    assert {path.name for path in tmp_path.glob("disco-4.*")} == {f"disco-4.{e}" for e in ("csv", "py")}
    computed = [float(row["y"]) for row in points(tmp_path, "disco-4") if row["origin"] == "computed"]
    assert sum(computed) == pytest.approx(1.0)

    kept = tmp_path / "evidence" / "figure-disco-4.json"
    kept.write_text(json.dumps(read(kept) | {"why": "Drawn before."}))
    (tmp_path / "evidence" / "noise.json").write_text(json.dumps(["Others were busy.", "", "Others were busy."]))
    assert command(*SMALL, "--figures", QUICK, "--out", tmp_path) == 0
    told = capsys.readouterr()
    assert told.out.count("Others were busy.") == 1
    assert "Drawn before." in told.out and "ssd-fan-outs: Theorem 12" in told.out
    assert "recording at temperature 0:" in told.err and "recording: " not in told.err
    assert "disco-5: Figure 5" in told.out and "not drawn; it needs prompts of at least two categories" in told.out
    assert not [*tmp_path.glob("disco-5.*")]
    found = read(tmp_path / "papers.json")
    assert [figure["slug"] for figure in found["figures"]] == QUICK.split(",")


def test_evidence_of_anything_else_is_not_mixed_in(tmp_path, capsys):
    """Files count by their content: the same ones may be copied from anywhere, and others may have the old names."""
    models = shutil.copytree(PAIR, tmp_path / "pair")
    (tmp_path / "chat.jinja").write_text("{{ messages[0].content }}")
    asked = [*SMALL, "--target", models / "target", "--draft", models / "draft", *OWN, "--figures", "disco-4"]
    asked += ["--out", tmp_path / "out"]

    def is_refused(*more: object) -> bool:
        return command(*asked, *more) == 2 and "holds evidence of another pair" in capsys.readouterr().err

    assert command(*asked[:-3], "ssd-99") == 2
    assert "there is no figure 'ssd-99'" in capsys.readouterr().err
    assert command(*asked) == 0
    for more in (("--limit", 3), ("--template", tmp_path / "chat.jinja"), ("--seed", 7)):
        assert is_refused(*more), more
    for file in (next((models / "disco").glob("*.json")), models / "draft" / "model.safetensors"):
        before = file.read_bytes()
        file.write_bytes(before[:-2] + b"} ")
        assert is_refused(), file
        file.write_bytes(before)
    assert command(*asked) == 0
