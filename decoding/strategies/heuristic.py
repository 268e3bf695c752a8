from decoding.drafting.params import Param
from decoding.drafting.source import Chain, Judgement
from decoding.drafting.strategy import Looks, Slider, Strategy


class TwoMoreOrOneFewer(Chain):
    """The transformers rule: two more after a draft that was accepted whole, otherwise one fewer, never below one."""

    def judged(self, judgement: Judgement) -> None:
        if judgement.tokens:
            whole = judgement.accepted == judgement.tokens
            self.lookahead = self.lookahead + 2 if whole else max(1, self.lookahead - 1)


STRATEGY = Strategy(
    slug="heuristic",
    title="Heuristic",
    summary="The transformers rule: two more after a round that was accepted whole, otherwise one fewer.",
    role="ranked",
    order=3,
    looks=Looks("▲", "M0,-9L7.8,4.5L-7.8,4.5Z", "#56b4e9", "#2087ba", 74),
    params=(Param("initial", "int", 5, "the lookahead of a sample's first round", 1, 64),),
    source=lambda given, initial: TwoMoreOrOneFewer(initial),
    grid=lambda: ({"initial": n} for n in (2, 5)),
    usual=({},),
    sliders=(Slider("initial", 1, 12),),
)
