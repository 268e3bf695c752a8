"""SSD: the draft prepares the next drafts while the target still verifies (arXiv 2603.03251)."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_args

from decoding.drafting import fan_outs as fanout
from decoding.drafting.params import Param, Value
from decoding.drafting.ssd_settings import SpeculatorSettings, WantedBackup
from decoding.drafting.strategy import LOOKAHEAD, Looks, Settings, Slider, Strategy
from decoding.errors import BadStrategy

AUTO = "auto"
BRANCHES = Param(
    "branches",
    "int",
    AUTO,
    "how many outcomes are prepared for each round; auto: as many as save most time at what passes take in this run, "
    "about as many as are ready within a verification",
    1,
    512,
    word=AUTO,
)
FIXED = 12  # branches with Saguaro sampling: how many tokens it bends must not follow the clock
PLACEMENT = Param(
    "placement",
    "choice",
    "auto",
    "where the draft works: beside the target on a core of its own, on another GPU than the target (two-gpus; in a "
    "service only after up --gpus-per-worker 2), on the same GPU on a stream of its own (two-streams), or in turn with "
    "it; auto: two-streams on a GPU, and elsewhere beside where there are two cores",
    choices=("auto", "beside", "in-turn", "two-gpus", "two-streams"),
)


def _check(params: Mapping[str, Value]) -> None:
    name, lookahead = str(params["fanout"]), int(params["lookahead"])
    try:
        fanout.read(name, lookahead, counted(params["branches"]))
    except ValueError as error:
        raise BadStrategy(f"fanout is {name!r}, {error}") from None


def counted(branches: Value) -> int | None:
    """Return the number of branches; None if it is left open."""
    return None if branches == AUTO else int(branches)


def _speculates(placement: str, branches: Value, **settings: Any) -> SpeculatorSettings:
    made = SpeculatorSettings(branches=counted(branches), **settings)
    lists = fanout.read(made.fanout, made.lookahead, made.branches)
    if made.branches is None and (lists or made.constant < 1.0):
        return replace(made, branches=sum(lists[0]) if lists else FIXED)
    return made


def _grid() -> Iterator[Settings]:
    return ({"lookahead": k, "branches": branches} for k in (2, 4, 6, 9) for branches in (3, 6, AUTO, 12))


def _finer(best: Settings) -> Iterator[Settings]:
    """Each parameter by itself, the others as in the best setting."""
    lookahead = int(best["lookahead"])
    yield from ({**best, "lookahead": k} for k in (lookahead - 1, lookahead + 1))
    yield from near(best)
    yield from ({**best, "fanout": name} for name in fanout.NAMES)
    yield from ({**best, "backup": name} for name in ("neural", "ngram", "copy"))


def near(best: Settings) -> Iterator[Settings]:
    """Other numbers of branches, near the best one; near none if it is left open."""
    if branches := counted(best["branches"]):
        yield from ({**best, "branches": count} for count in (branches * 2 // 3, branches * 4 // 3))


STRATEGY = Strategy(
    slug="ssd",
    title="SSD",
    summary="While the target verifies, the draft prepares the next drafts for the outcomes that are likely.",
    role="ranked",
    order=7,
    looks=Looks("▼", "M0,9L-7.8,-4.5L7.8,-4.5Z", "#8b5fbf", "#b490e0", 97),
    params=(
        Param("lookahead", "int", 3, LOOKAHEAD, 1, 64, short="k"),
        Param(
            "fanout",
            "text",
            "geometric",
            "how branches are divided among the accepted counts: uniform, geometric, measured, or a list such as "
            "5/4/3 for k=2, 12 branches; a second list for rounds after a miss: 5/4/3+8/4/0",
        ),
        BRANCHES,
        Param(
            "backup",
            "choice",
            "auto",
            "what drafts after a miss: the draft model (neural), an n-gram of the text (ngram), a copy of what "
            "followed the longest repeated context (copy: the model where no copy is sure), or random tokens; auto: "
            "the model, or the n-gram from the critical batch size of Theorem 17 on, by the times so far",
            choices=get_args(WantedBackup),
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
    speculates=_speculates,
    grid=_grid,
    finer=_finer,
    demo=({},),
    sliders=(
        Slider("lookahead", 1, 12),
        Slider("branches", 1, 32, options=(AUTO, "1", "2", "3", "4", "6", "8", "12", "16", "24", "32")),
        Slider("fanout", options=fanout.NAMES),
        Slider("backup", options=("auto", "neural", "ngram", "copy")),
    ),
)
