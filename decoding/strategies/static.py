import json
from collections.abc import Iterator

from decoding.params import Param
from decoding.strategy import (
    LLAMA_CPP,
    LONGEST,
    LOOKAHEAD,
    Export,
    Looks,
    Policy,
    Settings,
    Slider,
    Strategy,
    assistant,
    llama_draft,
)


class SameLength(Policy):
    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead


def _exports(params: Settings) -> Iterator[Export]:
    lookahead = int(params["lookahead"])
    yield Export("transformers", assistant(lookahead, 0))
    vllm = json.dumps({"method": "draft_model", "model": "DRAFT", "num_speculative_tokens": lookahead})
    yield Export("vLLM", f"--speculative-config '{vllm}'")
    yield Export(
        "SGLang",
        "--speculative-algorithm STANDALONE --speculative-draft-model-path DRAFT "
        f"--speculative-num-steps {lookahead} --speculative-eagle-topk 1 "
        f"--speculative-num-draft-tokens {lookahead + 1}",
    )
    yield Export(LLAMA_CPP, llama_draft(lookahead, 0))


STRATEGY = Strategy(
    slug="static",
    title="Static lookahead",
    summary="The same number of drafted tokens every round.",
    role="ranked",
    order=2,
    looks=Looks("■", "M6.0,6.0L-6.0,6.0L-6.0,-6.0L6.0,-6.0Z", "#0072b2", "#4aa3df", 25),
    params=(Param("lookahead", "int", 4, LOOKAHEAD, 1, 64),),
    policy=SameLength,
    grid=lambda: ({"lookahead": n} for n in range(1, LONGEST + 1)),
    exports=_exports,
    usual=({"lookahead": 2}, {"lookahead": 4}, {"lookahead": 8}),
    demo=({"lookahead": 2}, {"lookahead": 4}),
    sliders=(Slider("lookahead", 1, LONGEST),),
)
