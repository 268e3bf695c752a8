from decoding.drafting.params import Param
from decoding.drafting.source import Chain
from decoding.drafting.strategy import CAP, LONGEST, Looks, Strategy


class UntilRefused(Chain):
    """Stop after the first token that the target will refuse.

    The draft keeps that token. Without it, the target would add a bonus token instead of a correction, and the text
    would be biased.
    """

    sees = "fate"

    def stops(self, seen: float) -> bool:
        return not seen


STRATEGY = Strategy(
    slug="oracle",
    title="Oracle",
    summary="A bound, not a strategy: stops after the first token that the target will refuse.",
    role="bound",
    order=5,
    looks=Looks(
        "○",
        "M8.5,0A8.5,8.5 0 1 1 -8.5,0A8.5,8.5 0 1 1 8.5,0ZM5.5,0A5.5,5.5 0 1 0 -5.5,0A5.5,5.5 0 1 0 5.5,0Z",
        "#111",
        "#f2f2f2",
    ),
    params=(Param("cap", "int", 32, CAP, 1, 64),),
    source=lambda given, cap: UntilRefused(cap),
    grid=lambda: ({"cap": LONGEST},),
)
