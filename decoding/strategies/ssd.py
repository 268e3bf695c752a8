"""SSD: the draft prepares the next drafts while the target still verifies (arXiv 2603.03251)."""

from collections.abc import Iterator, Mapping
from typing import Any

from decoding.errors import BadStrategy
from decoding.params import Param, Value
from decoding.ssd.policy import fanout
from decoding.ssd.settings import Settings as SpeculatorSettings
from decoding.strategy import LOOKAHEAD, Looks, Parts, Settings, Slider, Strategy

BRANCHES = Param("branches", "int", 12, "how many outcomes are prepared for each round", 1, 512)
PLACEMENT = Param(
    "placement",
    "choice",
    "auto",
    "where the draft works: beside the target on a core of its own, on another GPU than the target (two-gpus), on the "
    "same GPU on a stream of its own (two-streams), or in turn with it; auto: two-streams on a GPU, and elsewhere "
    "beside where there are two cores",
    choices=("auto", "beside", "in-turn", "two-gpus", "two-streams"),
)


def _check(params: Mapping[str, Value]) -> None:
    name, lookahead, branches = str(params["fanout"]), params["lookahead"], params["branches"]
    try:
        fanout.read(name, int(lookahead), int(branches))
    except ValueError as error:
        raise BadStrategy(f"fanout is {name!r}, {error}") from None


def _speculates(placement: str, **settings: Any) -> SpeculatorSettings:
    return SpeculatorSettings(**settings)


def _build(parts: Parts, placement: str, **settings: Any) -> Any:
    return parts.speculating(placement, _speculates(placement, **settings))


def _grid() -> Iterator[Settings]:
    return ({"lookahead": k, "branches": branches} for k in (2, 4, 6, 9) for branches in (6, 12, 24))


def _finer(best: Settings) -> Iterator[Settings]:
    """Each parameter by itself, the others as in the best setting."""
    lookahead, branches = int(best["lookahead"]), int(best["branches"])
    yield from ({**best, "lookahead": k} for k in (lookahead - 1, lookahead + 1))
    yield from ({**best, "branches": count} for count in (branches * 2 // 3, branches * 4 // 3))
    yield from ({**best, "fanout": name} for name in fanout.NAMES)
    yield from ({**best, "backup": name} for name in ("neural", "ngram", "copy"))


STRATEGY = Strategy(
    slug="ssd",
    title="SSD",
    summary="While the target verifies, the draft prepares the next drafts for the outcomes that are likely.",
    role="ranked",
    order=7,
    looks=Looks("▼", "M0,9L-7.8,-4.5L7.8,-4.5Z", "#8b5fbf", "#b490e0", 97),
    params=(
        Param("lookahead", "int", 4, LOOKAHEAD, 1, 64, short="k"),
        Param(
            "fanout",
            "text",
            "geometric",
            "how branches are divided among the accepted counts: uniform, geometric, measured, or a list such as "
            "5/4/3 for k=2, branches=12; a second list for rounds after a miss: 5/4/3+8/4/0",
        ),
        BRANCHES,
        Param(
            "backup",
            "choice",
            "auto",
            "what drafts after a miss: the draft model (neural), an n-gram of the text (ngram), a copy of what "
            "followed the longest repeated context (copy: the model where no copy is sure; copy-or-random: random "
            "tokens there), or random tokens; auto: the model or the n-gram, whichever saved more time so far; "
            "by-batch: the model for few texts at once, the n-gram from the critical batch size of Theorem 17 on",
            choices=("auto", "by-batch", "neural", "ngram", "random", "copy", "copy-or-random"),
        ),
        Param(
            "constant",
            "float",
            1.0,
            "Saguaro sampling: multiplies the draft's probability of cached tokens by this factor, above 0; "
            "only with ratio dice",
            1e-6,
            1.0,
            short="C",
        ),
        PLACEMENT,
    ),
    check=_check,
    build=_build,
    speculates=_speculates,
    grid=_grid,
    finer=_finer,
    demo=({"lookahead": 4, "branches": 8},),
    sliders=(
        Slider("lookahead", 1, 12),
        Slider("branches", 1, 32),
        Slider("fanout", options=fanout.NAMES),
        Slider("backup", options=("auto", "neural", "ngram", "copy")),
    ),
)
