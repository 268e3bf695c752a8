"""The starter files are complete: a pair that fits together, and prompts whose splits share no source file."""

import json
from itertools import combinations
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding.dice.sampling import Sampling
from decoding.prompts.prompt import read_prompts

STARTER = Path(__file__).parents[2] / "starter"
PAIR = STARTER / "pair"
MIB = 1024**2


@pytest.fixture(scope="module", params=["code", "prose"])
def prompts(request) -> list[dict[str, str]]:
    return [json.loads(line) for line in (STARTER / "prompts" / f"{request.param}.jsonl").read_text().splitlines()]


def test_every_split_is_large_enough(prompts):
    sizes = {split: sum(prompt["split"] == split for prompt in prompts) for split in ("train", "validation", "test")}
    assert sizes["train"] >= 300
    assert min(sizes.values()) >= 96


def test_no_two_splits_share_a_source_file(prompts):
    sources = {
        split: {p["source"] for p in prompts if p["split"] == split} for split in ("train", "validation", "test")
    }
    assert all(not a & b for a, b in combinations(sources.values(), 2))


def test_no_prompt_is_there_twice(prompts):
    assert len({prompt["text"] for prompt in prompts}) == len({prompt["id"] for prompt in prompts}) == len(prompts)


def test_prompts_have_the_promised_length(prompts):
    tokenizer = AutoTokenizer.from_pretrained(PAIR / "target")
    lengths = [len(tokenizer(prompt["text"])["input_ids"]) for prompt in prompts]
    assert min(lengths) >= 32 and max(lengths) <= 200


@pytest.mark.parametrize("name", ["code", "prose"])
def test_our_own_reader_reads_them(name):
    path = STARTER / "prompts" / f"{name}.jsonl"
    prompts = read_prompts(path.read_text("utf-8"), path.name)
    assert {prompt.split for prompt in prompts} == {"train", "validation", "test"}
    assert all(prompt.category for prompt in prompts)
    assert path.stat().st_size < 2 * MIB


def test_the_pair_fits_in_its_box():
    assert sum(path.stat().st_size for path in PAIR.rglob("*") if path.is_file()) < 48 * MIB


def test_target_and_draft_have_one_tokenizer():
    target, draft = ((PAIR / name / "tokenizer.json").read_bytes() for name in ("target", "draft"))
    assert target == draft


@pytest.mark.parametrize("name", ["target", "draft"])
def test_a_checkpoint_loads_as_any_other_and_writes(name):
    model = AutoModelForCausalLM.from_pretrained(PAIR / name)
    tokenizer = AutoTokenizer.from_pretrained(PAIR / name)
    ids = tokenizer("def main():\n", return_tensors="pt")["input_ids"]
    assert model.config.max_position_embeddings == tokenizer.model_max_length == 1024
    assert model.generation_config.eos_token_id == tokenizer.eos_token_id == 0
    assert ids[0, 0] != tokenizer.bos_token_id  # prompts go on in the middle of a text
    assert model.generate(ids, max_new_tokens=8, do_sample=False).shape[1] > ids.shape[1]


def test_a_long_text_is_no_harder_than_a_short_one():
    model = AutoModelForCausalLM.from_pretrained(PAIR / "target")
    tokenizer = AutoTokenizer.from_pretrained(PAIR / "target")
    text = "\n".join(
        json.loads(line)["text"] for line in (STARTER / "prompts" / "code.jsonl").read_text("utf-8").splitlines()
    )
    ids = tokenizer(text, return_tensors="pt")["input_ids"][0, : 8 * 1024].view(8, 1024)
    with torch.no_grad():
        logits = model(ids).logits
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none").mean(0)
    assert loss[768:].mean() < loss[128:384].mean() + 0.15


def test_the_defaults_are_settings_the_engine_takes():
    defaults = json.loads((STARTER / "defaults.json").read_text())
    sampling = Sampling(**defaults["sampling"], max_new_tokens=defaults["max_new_tokens"])
    assert sampling.fixes_the_text
