"""A pair of models whose tokenizers differ: the text stays the target's, also with a draft in another process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from decoding.choice import parse_choices
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement
from decoding.prompts.prompt import PromptItem
from tests.kit.models import LLAMA, another_order_of_words, save
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.messages import LocalPair

pytestmark = pytest.mark.slow
SSD = "ssd:4,branches=4,placement="


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("pair")
    target = save(root / "target", "llama", **LLAMA)
    draft = Path(shutil.copytree(target, root / "draft"))
    another_order_of_words(draft)
    return target, draft


@pytest.mark.parametrize(
    ("method", "labels"), [("slem", "static:4"), ("tli", f"static:4,threshold:0.1,{SSD}in-turn,{SSD}beside")]
)
def test_every_text_is_the_targets(folders: tuple[Path, Path], method: str, labels: str) -> None:
    pair, _ = load_pair(LocalPair(*folders, "cpu", {}, other_tokenizer=method), Residents())
    assert pair.bridge
    choices = parse_choices(f"autoregressive,{labels}")
    if pair.draft_process is None and method == "tli":
        choices = choices[:-1]  # this machine has one core
    run = Measurement(pair, [PromptItem("p", "w1 w5 w6 w3")], choices, Sampling(max_new_tokens=48))
    try:
        pair.begin(choices)
        samples = run.run()
    finally:
        pair.close()
    assert len({sample.tokens for sample in samples}) == 1
    assert all(sample.num_accepted_draft_tokens for sample in samples if sample.strategy != "autoregressive")
