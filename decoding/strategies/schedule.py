"""A lookahead for each number of running texts, as vLLM's num_speculative_tokens_per_batch_size."""

import re
from collections.abc import Iterator, Mapping

from decoding.drafting.engine_settings import llama_cpp, sglang, transformers, vllm
from decoding.drafting.params import Param, Value
from decoding.drafting.source import Chain, View
from decoding.drafting.strategy import EngineSetting, Looks, Settings, Strategy
from decoding.errors import BadStrategy

MOST_STEPS = 16
LONGEST = 64  # tokens
STEP = re.compile(r"([0-9]{1,4}):([0-9]{1,2})")
TABLE = "1:4/4:2/16:1/64:0"


def steps_of(table: str) -> list[tuple[int, int]]:
    """Read `4:5/16:2/64:0`: up to 4 texts draft 5 tokens each, up to 16 draft 2, and more draft none."""
    found = [STEP.fullmatch(piece.strip()) for piece in table.split("/")]
    steps = [(int(match[1]), int(match[2])) for match in found if match]
    texts = [most for most, _ in steps]
    is_rising = texts == sorted({*texts} - {0})
    if not all(found) or not is_rising or len(steps) > MOST_STEPS or max(k for _, k in steps) > LONGEST:
        raise BadStrategy(
            f"table is {table[:80]!r}; write it as {TABLE}, texts:lookahead, in at most {MOST_STEPS} steps, with "
            f"numbers of texts that rise from 1 up, and lookaheads from 0 to {LONGEST}"
        )
    return steps


class Scheduled(Chain):
    def __init__(self, table: str) -> None:
        self._steps = steps_of(table)

    def begin(self, view: View) -> None:
        fitting = (lookahead for most, lookahead in self._steps if self.batch.running <= most)
        self.lookahead = next(fitting, self._steps[-1][1])


def _check(params: Mapping[str, Value]) -> None:
    steps_of(str(params["table"]))


def _exports(params: Settings) -> Iterator[EngineSetting]:
    """A schedule for vLLM, and for engines that have none, its lookahead for few texts. Without any gain there is
    nothing to set: vLLM refuses a config without drafts."""
    steps = steps_of(str(params["table"]))
    users, lookahead = next((step for step in steps if step[1]), (0, 0))
    if not lookahead:
        return
    fewest = [1, *(most + 1 for most, _ in steps)]
    ranges = [[low, most, lookahead] for low, (most, lookahead) in zip(fewest, steps, strict=False)]
    config = {
        "method": "draft_model",
        "model": "DRAFT",
        "num_speculative_tokens": max(lookahead for _, lookahead in steps),
        "num_speculative_tokens_per_batch_size": ranges,
    }
    yield vllm(config)
    upto = f"One lookahead for every load, the best for up to {users} at once."
    yield sglang(lookahead, f"{upto} SGLang's --speculative-adaptive takes EAGLE drafts only, not a draft model.")
    yield llama_cpp(lookahead, users=users, note=upto)
    if steps[0][1]:
        yield transformers(lookahead, note="For 1 text at a time: generate takes an assistant for a batch of one only.")


STRATEGY = Strategy(
    slug="schedule",
    title="Schedule",
    summary="A lookahead for each number of texts that are decoded together: the fuller the machine, the shorter.",
    role="ranked",
    order=5,
    looks=Looks("▤", "M-8,-8H8V-4.5H-8ZM-8,-1.75H8V1.75H-8ZM-8,4.5H8V8H-8Z", "#8a8420", "#a49f40", 100),
    params=(Param("table", "text", TABLE, "most texts:lookahead, from few texts to many"),),
    check=_check,
    source=lambda given, table: Scheduled(table),
    exports=_exports,
)
