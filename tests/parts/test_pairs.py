"""Remarks on a pair come as sentences when it is made; only a pair that would change the target's text is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoding.errors import BadPair
from decoding.vocabularies.fit import PairReport, check_pair
from tests.kit.models import LLAMA, another_order_of_words, save
from tests.kit.pairs import sentences
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.messages import LocalPair

SMALL = LLAMA | {"hidden_size": 12, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return (
        save(tmp_path_factory.mktemp("target"), "llama", **LLAMA),
        save(tmp_path_factory.mktemp("draft"), "llama", **SMALL),
    )


@pytest.fixture
def pair(saved: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    target, draft = (Path(shutil.copytree(folder, tmp_path / name)) for folder, name in zip(saved, "td", strict=True))
    return target, draft


def edit(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(file.read_text()) if file.exists() else {}
    change(content)
    file.write_text(json.dumps(content))


def levels(report: PairReport) -> dict[str, str]:
    return {found.topic: found.level for found in report.findings}


def test_a_pair_that_fits(pair: tuple[Path, Path]) -> None:
    report = check_pair(*pair)
    assert report.fits
    assert set(levels(report).values()) == {"fits"}
    assert "Both have the same 97 tokens." in sentences(report)
    report.require()


def test_two_tokenizers_are_remarked_on_with_what_they_share(pair: tuple[Path, Path]) -> None:
    another_order_of_words(pair[1])
    report = check_pair(*pair)
    report.require()
    told = sentences(report)
    assert told[0].startswith("The tokenizers differ: 2 ids mean different things; 5 is 'w5' to the target")
    assert told[1].startswith("The target shares 97 of the draft's 97 tokens. They are about")
    assert report.shared and (report.shared.to_target[5], report.shared.to_target[6]) == (6, 5)


def test_tokenizers_without_a_common_token_do_not_fit(pair: tuple[Path, Path]) -> None:
    def rename(tokenizer: dict[str, Any]) -> None:
        tokenizer["model"]["vocab"] = {f"v{n}": n for n in range(1, 97)} | {"<stop>": 0}
        tokenizer["added_tokens"][0]["content"] = tokenizer["model"]["unk_token"] = "<stop>"

    edit(pair[1] / "tokenizer.json", rename)
    for folder in pair:  # end tokens are shared by what they mean
        (folder / "generation_config.json").unlink()
        edit(folder / "config.json", lambda config: config.update(eos_token_id=None))
    report = check_pair(*pair)
    assert levels(report)["shared tokens"] == "misfit"
    with pytest.raises(BadPair, match=r"None of the draft's 97 tokens writes what one of the target's 97 does \(0 %\)"):
        report.require()
    with pytest.raises(BadPair):
        load_pair(LocalPair(*pair, "cpu", {}), Residents())


def test_a_padded_vocabulary_fits(pair: tuple[Path, Path], tmp_path: Path) -> None:
    padded = save(tmp_path / "padded", "llama", **SMALL | {"vocab_size": 128})
    shutil.copy(pair[0] / "tokenizer.json", padded)
    report = check_pair(pair[0], padded)
    assert report.fits
    assert any("differ by padding alone" in sentence for sentence in sentences(report))


def test_merges_are_spelled_either_way(pair: tuple[Path, Path]) -> None:
    edit(pair[0] / "tokenizer.json", lambda tokenizer: tokenizer["model"].update(merges=[["w", "1"]]))
    edit(pair[1] / "tokenizer.json", lambda tokenizer: tokenizer["model"].update(merges=["w 1"]))
    assert levels(check_pair(*pair))["tokenizer"] == "fits"
    edit(pair[1] / "tokenizer.json", lambda tokenizer: tokenizer["model"].update(merges=["w 2"]))
    assert levels(check_pair(*pair))["tokenizer"] == "remark"


REMARKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "special tokens": (
        lambda draft: edit(draft / "tokenizer.json", lambda t: t["added_tokens"][0].update(special=False)),
        "Special tokens differ (<end>)",
    ),
    "end tokens": (
        lambda draft: (draft / "generation_config.json").write_text('{"eos_token_id": 4}'),
        "end tokens differ",
    ),
    "context": (
        lambda draft: edit(draft / "config.json", lambda c: c.update(max_position_embeddings=64)),
        "together they hold 64",
    ),
}


@pytest.mark.parametrize("case", list(REMARKS))
def test_what_changes_no_text_is_a_remark(pair: tuple[Path, Path], case: str) -> None:
    change, says = REMARKS[case]
    change(pair[1])
    report = check_pair(*pair)
    assert report.fits
    assert says in sentences(report)[0]
