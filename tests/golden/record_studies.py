"""`python -m tests.golden.record_studies`: record the engine's results on the starter pair, for the tests of pages.

The figures depend on the machine that recorded them and mean nothing. The tests rest on their shape, and
`tests/machines/worker/test_studies.py` compares that shape with what the engine makes today.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from decoding.dice.sampling import Sampling
from decoding.models.devices import set_threads
from decoding.papers.shelf import Shelf
from decoding.prices.machine_card import card_in_the_box
from decoding.prompts.prompt import PromptItem, read_prompts
from worker.engine.residents import Residents
from worker.jobs.oracle import AskOracle
from worker.jobs.papers import DrawFigures
from worker.jobs.plan import MakePlan
from worker.jobs.projection import Project
from worker.jobs.training import Train
from worker.messages import Found, LocalPair, Reply

ROOT = Path(__file__).parents[2]
WHERE = Path(__file__).with_name("studies.json")
CLASSIFIER = "00000000-0000-4000-8000-000000000001"  # its id in the plan
SAMPLING = Sampling(temperature=0.6, repetition_penalty=1.1, max_new_tokens=64)


def prompts(split: str, count: int) -> list[PromptItem]:
    path = ROOT / "starter" / "prompts" / "code.jsonl"
    return [p for p in read_prompts(path.read_text(encoding="utf-8"), path.name) if p.split == split][:count]


def found(replies: list[Reply]) -> dict[str, Any]:
    [document] = [dict(reply.document) for reply in replies if isinstance(reply, Found)]
    return {**document, "hardware": {"device_name": "a machine", "threads": 1, "dtype": "float32", "torch": "2"}}


def main() -> None:
    set_threads(1)
    residents, said = Residents(), list[Reply]()
    models = ROOT / "starter" / "pair"
    with tempfile.TemporaryDirectory() as folder:
        local = LocalPair(models / "target", models / "draft", "cpu", {})
        material = [*prompts("train", 20), *prompts("validation", 8), *prompts("test", 8)]
        Train(local, material, SAMPLING, Path(folder)).carry_out(residents, said.append, lambda: False)
        card = json.loads((Path(folder) / "card.json").read_text())
        AskOracle(local, prompts("test", 8), SAMPLING, 5).carry_out(residents, said.append, lambda: False)
        oracle, said = found(said), []
        judging = LocalPair(local.target, local.draft, "cpu", {CLASSIFIER: Path(folder)})
        MakePlan(judging, prompts("test", 12), SAMPLING, (1, 4, 16)).carry_out(residents, said.append, lambda: False)
        plan, said = found(said), []
        machine = card_in_the_box("llama-70b-1b-h100")
        Project(judging, prompts("test", 4), SAMPLING, machine).carry_out(residents, said.append, lambda: False)
        projection, said = found(said), []
        figures = DrawFigures(judging, prompts("test", 4), SAMPLING, Shelf(), "prompts")
        figures.carry_out(residents, said.append, lambda: False)
    card["pair"] = ["target", "draft"]
    card["machine"] = "a machine"
    recorded = {"oracle": oracle, "plan": plan, "card": card, "projection": projection}
    recorded["papers"] = found(said)
    WHERE.write_text(json.dumps(recorded, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
