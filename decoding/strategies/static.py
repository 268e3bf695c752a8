from decoding.strategies.base import LONGEST, LOOKAHEAD, Looks, Param, Policy, Slider, Strategy


class SameLength(Policy):
    def __init__(self, lookahead: int) -> None:
        self.lookahead = lookahead


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
    sliders=(Slider("lookahead", 1, LONGEST),),
)
