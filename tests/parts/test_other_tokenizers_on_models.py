"""The starter pair with a draft of another tokenizer: the text stays the target's, and studies and replays go on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from decoding.backends.pair import ModelPair
from decoding.choice import Choice, choose, parse_choices
from decoding.dice.sampling import Sampling
from decoding.measure.comparison import Measurement
from decoding.measure.schedule import SampleKey
from decoding.prompts.prompt import PromptItem, decode, read_prompts
from decoding.trace.events import Recorder, Verified
from tests.kit.foreign import STARTER, foreign_draft
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.messages import LocalPair

pytestmark = pytest.mark.slow
CHOICES = parse_choices("static:4,threshold:0.3,disco")
SAMPLING = Sampling(max_new_tokens=48)
PROMPT_FILE = STARTER.parent / "prompts" / "code.jsonl"


@pytest.fixture(scope="module")
def prompts() -> list[PromptItem]:
    read = read_prompts(decode(PROMPT_FILE.read_bytes(), PROMPT_FILE.name), PROMPT_FILE.name)
    return [prompt for prompt in read if prompt.split == "test"][:2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return foreign_draft(tmp_path_factory.mktemp("drafts") / "draft", 1500)


def made(folder: Path, method: str, target: Path = STARTER / "target") -> ModelPair:
    local = LocalPair(target, folder, "cpu", {"": STARTER / "disco"}, other_tokenizer=method)
    return load_pair(local, Residents())[0]


def run(
    pair: ModelPair, choice: Choice, prompt: PromptItem, sampling: Sampling = SAMPLING
) -> tuple[list[int], Recorder]:
    recorder = Recorder()
    return Measurement(pair, [prompt], [choice], sampling).decode(
        SampleKey(choice, prompt, 0), recorder
    ).tokens, recorder


@pytest.mark.parametrize("method", ["tli", "slem"])
def test_greedy_text_is_the_targets(folder: Path, prompts: list[PromptItem], method: str) -> None:
    pair = made(folder, method)
    pair.fingerprints = None  # the classifier was trained with the starter's own draft
    more = parse_choices("ssd:4,branches=6,placement=in-turn,oracle") if method == "tli" else []
    alone, _ = run(pair, choose("autoregressive"), prompts[0])
    for choice in [*CHOICES, *more]:
        tokens, recorder = run(pair, choice, prompts[0])
        assert tokens == alone
        assert sum(event.accepted for event in recorder.events if isinstance(event, Verified)) > 5


def test_ssd_drafts_beside_the_target_with_another_tokenizer(
    folder: Path, prompts: list[PromptItem], tmp_path: Path
) -> None:
    """The draft's process finds out for itself what the two share."""
    pair = made(shutil.copytree(folder, tmp_path / "draft"), "tli")
    if pair.draft_process is None:
        pytest.skip("this machine has one core")
    choice = choose("ssd", {"placement": "beside", "branches": 4})
    try:
        pair.begin([choice])
        alone, _ = run(pair, choose("autoregressive"), prompts[0])
        tokens, recorder = run(pair, choice, prompts[0])
    finally:
        pair.close()
    assert tokens == alone
    assert any(isinstance(event, Verified) and event.accepted for event in recorder.events)
