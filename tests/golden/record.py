"""Record golden traces: the events of the real loop in small exact worlds, and Python's fold of them.

Run `python -m tests.golden.record` after a change of the events. Only times differ from one recording to the next.
"""

from __future__ import annotations

import json
from pathlib import Path

from decoding.choice import parse_choices
from decoding.core.ending import Ending
from decoding.dice.sampling import Sampling
from decoding.measure.sample import SampleResult, sample_from_events
from decoding.trace.events import Event, from_dict, to_dict
from tests.kit.worlds import World

FOLDER = Path(__file__).parent / "worlds"
CHOICES = parse_choices("autoregressive,static:4,heuristic:5,threshold:0.4,oracle:8")
FACTS = (
    "strategy", "prompt_tokens", "tokens", "reason", "prefill_ns", "decode_ns", "num_spec_steps", "num_draft_tokens",
    "num_accepted_draft_tokens", "acceptance_histogram", "drafts_by_position", "accepted_by_position",
)  # fmt: skip


def name_of(label: str) -> str:
    return label.replace(":", "-")


def facts(sample: SampleResult) -> dict[str, object]:
    """Return the facts that a page must find when it folds the same events."""
    whole = json.loads(json.dumps(sample.to_dict()))
    return {name: whole[name] for name in FACTS}


def summed(events: list[Event], label: str, tokens: list[int]) -> SampleResult:
    return sample_from_events(
        events, choice=parse_choices(label)[0], prompt="1", category="", repeat=0, tokens=tokens, text=""
    )


def read(path: Path) -> list[Event]:
    """Return the events of a file that has one a line, numbered."""
    return [from_dict(json.loads(line)) for line in path.read_text().splitlines()]


def record() -> None:
    FOLDER.mkdir(exist_ok=True)
    world = World.of_tables(24, seed=8, sharpness=2.0, noise=0.5)
    expected = {}
    for choice in CHOICES:
        ending = Ending(frozenset({0}))  # it ends inside a round of some strategies
        decoded, recorder = world.run(choice, [1, 2, 3], Sampling(max_new_tokens=64), ending=ending)
        lines = [json.dumps(to_dict(event, seq)) for seq, event in enumerate(recorder.events, 1)]
        (FOLDER / f"{name_of(choice.label)}.jsonl").write_text("".join(f"{line}\n" for line in lines))
        expected[name_of(choice.label)] = facts(summed(recorder.events, choice.label, decoded.tokens))
    (FOLDER / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    record()
