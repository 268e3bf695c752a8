"""The real llama-server, with the starter pair in GGUF: its counts, its texts, and speculation on against off."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from decoding.core.load import Load
from decoding.models.checkpoints import LoadedModel, load
from decoding.trace.events import Reported
from tests.kit.llama_server import VARIABLE, program
from tests.kit.servers.stage import asked
from worker.started_server import started
from worker.terminal.compare import main

pytestmark = [pytest.mark.peer, pytest.mark.slow]
STARTER = Path(__file__).parents[3] / "starter"
LOOKAHEAD = 4


@dataclass(frozen=True)
class Llama:
    program: str
    on: str  # address of a server that drafts
    off: str
    off_command: str


def weights() -> tuple[Path, Path]:
    folder = Path(os.environ.get("DRAFTHOUSE_LLAMA_GGUF", "no folder"))
    found = folder / "target.gguf", folder / "draft.gguf"
    if not all(path.is_file() for path in found):
        pytest.skip("DRAFTHOUSE_LLAMA_GGUF names no folder with target.gguf and draft.gguf of the starter pair")
    return found


@pytest.fixture(scope="module")
def llama() -> Iterator[Llama]:
    if (path := program()) is None:
        pytest.skip(f"no llama-server: set {VARIABLE}, or put it on PATH")
    target, draft = weights()
    alone = [str(path), "-m", str(target), "-t", "1", "-c", "8192", "--parallel", "8", "--metrics", "--port", "{port}"]
    drafting = ["-md", str(draft), "--spec-type", "draft-simple", "--spec-draft-n-max", str(LOOKAHEAD)]
    with ExitStack() as servers:
        on = servers.enter_context(started("on", [*alone, *drafting], "/health"))
        off = servers.enter_context(started("off", alone, "/health"))
        yield Llama(str(path), on.address, off.address, " ".join(alone))


def prompts() -> list[str]:
    return [json.loads(line)["text"] for line in (STARTER / "prompts" / "code.jsonl").read_text().splitlines()]


def first(address: str, count: int, **how: Any) -> list[tuple[Any, list[Any]]]:
    """Answers and events of the first prompts of the starter pair."""
    return asked(address, "llamacpp", *prompts()[:count], max_new_tokens=64, ignore_eos=True, **how)


def counted(draft: LoadedModel, prompt: str, tokens: list[int]) -> tuple[int, int, int]:
    """Verifications, drafted and accepted tokens, if the draft proposes its likeliest tokens after this text. The first
    token comes with the prompt; a draft leaves room for the target's own token."""
    text = draft.tokenizer.encode(prompt)
    made, steps, drafted, accepted = 1, 0, 0, 0
    while made < len(tokens):
        proposed: list[int] = []
        for _ in range(min(LOOKAHEAD, len(tokens) - made - 1)):
            draft.runner.rewind(0)
            proposed.append(int(draft.runner.extend([*text, *tokens[:made], *proposed])[-1].argmax()))
        pairs = zip(proposed, tokens[made:], strict=False)
        kept = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
        made, steps = made + kept + 1, steps + bool(proposed)
        drafted, accepted = drafted + len(proposed), accepted + kept
    return steps, drafted, accepted


def test_acceptance_that_llama_cpp_reports_is_the_one_counted_from_its_tokens(llama: Llama) -> None:
    draft = load(STARTER / "pair" / "draft")
    for prompt, (answer, events) in zip(prompts(), first(llama.on, 6), strict=False):
        [reported] = [event for event in events if isinstance(event, Reported)]
        assert (len(answer.tokens), reported.new_tokens, reported.doubt) == (64, 64, "")
        told = reported.num_spec_steps, reported.num_draft_tokens, reported.num_accepted_draft_tokens
        assert told == counted(draft, prompt, answer.tokens)
        histogram = dict(enumerate(reported.acceptance_histogram))
        assert sum(histogram.values()) == reported.num_spec_steps
        assert sum(n * times for n, times in histogram.items()) == reported.num_accepted_draft_tokens


def test_no_prompt_comes_out_of_the_cache(llama: Llama) -> None:
    twice = [*first(llama.on, 2), *first(llama.on, 2)]
    assert [e.cached_tokens for _, events in twice for e in events if isinstance(e, Reported)] == [0] * 4


def test_texts_at_eight_at_once_are_those_of_one_user(llama: Llama) -> None:
    alone = {answer.text for answer, _ in first(llama.off, 8)}
    together = {answer.text for answer, _ in first(llama.off, 8, load=Load(8))}
    assert len(alone & together) >= 7  # a batch adds in another order, so one text may tip at a tie


def test_speculation_on_against_off_and_against_us_is_audited(
    llama: Llama, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "result.json"
    servers = ("--server", f"{llama.on},dialect=llamacpp,name=on", "--server", f"{llama.off},dialect=llamacpp,name=off")
    flags = ("--limit", "6", "--max-new-tokens", "48", "--temperature", "0", "--ignore-eos", "--threads", "1")
    assert main([*servers, *flags, "--json", str(written)]) == 0
    rows = {row["label"]: row for row in json.loads(written.read_text())["strategies"]}
    for label in ("server:on", "server:off"):
        assert rows[label]["audit"]["divergent"] == 0 and rows[label]["runner"] == "llama.cpp"
    assert rows["server:on"]["mean_acceptance_length"] > 1.5
    assert rows["server:off"]["num_draft_tokens"] == 0


def test_a_server_that_runs_the_draft_as_its_target_is_found(llama: Llama, tmp_path: Path) -> None:
    _, draft = weights()
    written = tmp_path / "result.json"
    start = f"{llama.program} -m {draft} -t 1 --port {{port}}"
    flags = ("--limit", "2", "--max-new-tokens", "48", "--temperature", "0", "--ignore-eos", "--threads", "1")
    assert main(["--start", start, *flags, "--json", str(written)]) == 0
    document = json.loads(written.read_text())
    assert document["strategies"][-1]["audit"]["divergent"] == 2
    assert "does not write the target's text on 2 of 2 samples" in document["warnings"][0]


def test_a_build_that_ignores_the_switch_is_refused_with_the_way_out(
    llama: Llama, capsys: pytest.CaptureFixture[str]
) -> None:
    server = f"{llama.on},dialect=llamacpp,speculation=off"
    assert main(["--server", server, "--limit", "1", "--max-new-tokens", "32", "--temperature", "0"]) == 2
    assert "Start a second server without a draft" in capsys.readouterr().err
