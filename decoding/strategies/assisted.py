from decoding.params import Param
from decoding.strategies.base import Looks, Strategy

STRATEGY = Strategy(
    slug="assisted",
    title="Assisted (transformers)",
    summary="generate(assistant_model=…) of the transformers library on the same weights.",
    role="peer",
    order=9,
    looks=Looks("✚", "M-2.6,-8H2.6V-2.6H8V2.6H2.6V8H-2.6V2.6H-8V-2.6H-2.6Z", "#009e73", "#33c298", 36),
    params=(
        Param("lookahead", "int", 20, "num_assistant_tokens", 1, 64),
        Param("threshold", "float", 0.4, "assistant_confidence_threshold; 0 switches it off", 0.0, 1.0),
        Param("schedule", "choice", "constant", "num_assistant_tokens_schedule", choices=("constant", "heuristic")),
    ),
)
