"""The verdict of a proof and its reasons, the place of llama-server, and the GGUF files that proofs keep."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import torch

from decoding.backends.pair import ModelPair
from decoding.choice import choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.errors import BadExport, BadServer, BadStrategy
from decoding.models.checkpoints import load
from decoding.prompts.prompt import PromptItem
from tests.kit.models import LLAMA, save
from worker.cache import FileCache
from worker.jobs.proof.llama_server import VARIABLE, program, weights
from worker.jobs.proof.proving import Promise, promise_of, prove, reasons, verdict

STARTER = Path(__file__).parents[2] / "starter" / "pair"
PROMISE = Promise(choose("static", {"lookahead": 4}), 1.5)


def gain(ratio: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"ratio": ratio, "low": low, "high": high, "prompts": 4}


@pytest.mark.parametrize(
    ("found", "noisy", "words"),
    [
        (gain(1.3, 1.2, 1.4), "", "llama.cpp does not keep the promise. With static:4, llama.cpp is 1.30 times"),
        (gain(1.5, 1.4, 1.6), "", "llama.cpp keeps the promise. With static:4"),
        (gain(1.9, 1.8, 2.0), "", "llama.cpp exceeds the promise."),
        (gain(1.5, 0.9, 2.9), "", "The measurement is too uneven to judge the promise."),
        (gain(1.5, None, None), "", "on 4 prompts, where 1.50 was promised. That is too few"),
        (gain(1.5, 1.4, 1.6), "Other programs used 60 %.", "The machine was busy, so measure again before you rely"),
        (None, "", "wrote too few tokens to measure a speed-up"),
    ],
)
def test_the_verdict_says_whether_the_promise_holds(found: dict[str, Any] | None, noisy: str, words: str) -> None:
    assert words in verdict(PROMISE, found, noisy)


def side(speedup: float, length: float, tokens_per_s: float) -> dict[str, Any]:
    return {
        "speedup": gain(speedup, None, None),
        "mean_acceptance_length": length,
        "round_price": length / speedup,
        "plain_tokens_per_s": tokens_per_s,
        "audit": {"not_compared": 0},
    }


def test_reasons_split_the_difference_into_the_yield_and_the_price_of_a_round() -> None:
    said = " ".join(reasons(PROMISE, side(1.5, 3.0, 500), side(1.2, 3.0, 700)))
    assert "A round yields 3.00 tokens there and 3.00 here. That explains no difference." in said
    assert "A round costs as much as 2.50 passes of one token there and 2.00 here" in said
    assert "That changes the speed-up there by −20 %." in said
    assert "a token takes 1.43 ms there and 2.00 ms here. Our engine is slower without speculation" in said
    assert "is slower without" not in " ".join(reasons(PROMISE, side(1.5, 3.0, 700), side(1.2, 3.0, 500)))


def test_the_fastest_setting_that_llama_cpp_can_be_given_is_proved() -> None:
    settings = [(choice, 3.0 - n) for n, choice in enumerate(parse_choices("suffix,threshold:0.3,cap=8,static:2"))]
    promise = promise_of(settings)
    assert (promise.choice.label, promise.speedup) == ("threshold:0.3,cap=8", 2.0)
    assert promise.options == "-md DRAFT --spec-type draft-simple --spec-draft-n-max 8 --spec-draft-p-min 0.3"
    with pytest.raises(BadStrategy, match=r"no setting that llama\.cpp can be given"):
        promise_of(settings[:1])


def test_without_llama_server_people_read_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(BadServer, match=f"put llama-server on PATH or set {VARIABLE} to its path"):
        program()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(BadServer, match=f"{VARIABLE} is .*gone, and that is not a program"):
        program()


def pair_of(target: Path, draft: Path | None) -> ModelPair:
    loaded = load(STARTER / "draft")  # no test here decodes
    runner, tokenizer = loaded.runner, loaded.tokenizer
    return ModelPair(runner, runner, tokenizer, frozenset(), torch.float32, target_folder=target, draft_folder=draft)


def test_a_pair_is_written_once_for_all_proofs_and_anew_when_its_tokenizer_changes(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(STARTER / "draft", tmp_path / "model"))
    cache = FileCache(tmp_path / "cache" / "gguf", 1 << 30)

    def written() -> Path:
        with ExitStack() as using:
            found = weights(pair_of(folder, folder), cache, using, lambda: False)
            assert found.target == found.draft and found.target.read_bytes()[:4] == b"GGUF"
            return found.target

    first = written()
    made = first.stat().st_mtime_ns
    assert written() == first and first.stat().st_mtime_ns == made
    (folder / "generation_config.json").write_text('{"eos_token_id": 1}')
    assert written() != first


def test_a_proof_that_is_cancelled_while_it_writes_or_cannot_write_leaves_no_file(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "gguf", 1 << 30)
    with pytest.raises(KeyboardInterrupt), ExitStack() as using:
        weights(pair_of(STARTER / "draft", STARTER / "draft"), cache, using, lambda: True)
    other = save(tmp_path / "model", "llama", **LLAMA)  # llama.cpp would run it otherwise
    with pytest.raises(BadExport), ExitStack() as using:
        weights(pair_of(other, other), cache, using, lambda: False)
    assert list(cache.folder.iterdir()) == []


def test_a_proof_tells_its_steps_before_it_decodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, shutil.which("false") or "")
    pair, told = pair_of(STARTER / "draft", STARTER / "draft"), list[tuple[str, int, int]]()
    with pytest.raises(BadServer, match="off ended with exit code"):
        prove(
            pair, [PromptItem("p", "def")], Sampling(max_new_tokens=2), PROMISE, FileCache(tmp_path / "gguf", 1 << 30),
            on_step=lambda *step: told.append(step),
        )  # fmt: skip
    assert told == [("writing GGUF files", 0, 1), ("starting llama-server", 0, 2)]
