from collections.abc import Iterator

from decoding.drafting.engine_settings import llama_cpp, sglang, transformers, vllm
from decoding.drafting.params import Param
from decoding.drafting.source import Chain
from decoding.drafting.strategy import LONGEST, LOOKAHEAD, EngineSetting, Looks, Settings, Slider, Strategy


def _exports(params: Settings) -> Iterator[EngineSetting]:
    lookahead = int(params["lookahead"])
    yield transformers(lookahead)
    yield vllm({"method": "draft_model", "model": "DRAFT", "num_speculative_tokens": lookahead})
    yield sglang(lookahead)
    yield llama_cpp(lookahead)


STRATEGY = Strategy(
    slug="static",
    title="Static lookahead",
    summary="The same number of drafted tokens every round.",
    role="ranked",
    order=2,
    looks=Looks("■", "M-6,-6H6V6H-6Z", "#0072b2", "#4aa3df", 25),
    params=(Param("lookahead", "int", 4, LOOKAHEAD, 1, 64),),
    source=lambda given, lookahead: Chain(lookahead),
    grid=lambda: ({"lookahead": n} for n in range(1, LONGEST + 1)),
    exports=_exports,
    usual=({"lookahead": 2}, {"lookahead": 4}, {"lookahead": 8}),
    demo=({"lookahead": 2}, {"lookahead": 4}),
    sliders=(Slider("lookahead", 1, LONGEST),),
)
