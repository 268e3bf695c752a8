"""Speeds of SSD in the paper: by temperature, beside SGLang's, and for each device."""

from __future__ import annotations

from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Series, published, series
from decoding.papers.figures.base import Formula, law
from decoding.papers.figures.ssd_batches import UNDRAFTED
from decoding.papers.settings import AUTOREGRESSIVE, BRANCHES_EACH, TEMPERATURES
from decoding.words import signed

FIGURE_4 = "digitised from Figure 4 of arXiv 2603.03251v1: tokens/s over those of SD"
EVEN = (246 / 161, 222 / 150, 195 / 138, 137 / 113)
SHAPED = (248 / 161, 226 / 150, 200 / 138, 143 / 113)
PAPER = [100 * (shaped / even - 1) for even, shaped in zip(EVEN, SHAPED, strict=True)]


def by_temperature(evidence: Evidence) -> FigurePart:
    even, shaped, lookaheads = [], [], []
    for temperature in TEMPERATURES:
        outcomes = evidence.temperatures[temperature]
        race = Formula(evidence, outcomes)
        ours, plain = race.tuned(BRANCHES_EACH), race.tuned(0)
        even.append((temperature, race.ratio(ours, plain)))
        shaped.append((temperature, race.ratio(race.tuned(BRANCHES_EACH, law=law(outcomes)), plain)))
        lookaheads.append((ours.lookahead, plain.lookahead))
    share = evidence.single.draft(1) / evidence.single.verify(1, 1)
    ahead, plain_k = lookaheads[0]
    gains = [100 * (s.value / e.value - 1) for (_, e), (_, s) in zip(even, shaped, strict=True)]
    return FigurePart(
        [series("ours, uniform", "theory", even), series("ours, geometric", "theory", shaped)],
        f"Theorem 7 at prices measured here; SSD drafts {ahead} "
        f"token{'s' * (ahead != 1)} at temperature 0 and SD {plain_k}, each its best. The geometric fan-out changes "
        f"this speed by {signed(gains[0])} % there and {signed(gains[-1])} % at 1, against {signed(PAPER[0])} and "
        f"{signed(PAPER[-1])} in the paper. "
        f"A drafted token takes {100 * share:.0f} % of a verification here and some 11 % in the paper, and extra rows "
        "and branches cost time on our device.",
    )


SETS = ("HumanEval", "UltraFeedback", "Alpaca", "GSM8K", "mean of all")
ALL = SETS.index("mean of all")
READERS = "appendix B.3 of arXiv 2603.03251, as four readers cite it, over 54.7 tokens/s of its own autoregressive"
READ = "digitised from Figure 7 of arXiv 2603.03251v1, over the same; 4 GPUs"


def beside_engines(evidence: Evidence) -> FigurePart:
    ran = evidence.ran_ssd
    plain, ahead = (evidence.fastest(is_ahead=is_ahead) for is_ahead in (False, True))
    gains = {name: ran.ratio(choice, AUTOREGRESSIVE) for name, choice in (("SSD", ahead), ("SD", plain))}
    return FigurePart(
        [series(f"ours, {name}", "measured", [(ALL, gain)], is_line=False) for name, gain in gains.items()],
        f"Ours is the median over your prompts, of {ahead.label} and {plain.label}. The paper's SSD is "
        f"{255.8 / 168.9:.2f} times as fast as SGLang's ordinary speculative decoding, on one GPU more. To put an "
        "engine beside ours, give compare its address with --server.",
    )


def _of_engine(name: str, grade: str, source: str, *speeds: tuple[int, float]) -> Series:
    return published(name, [(at, speed / UNDRAFTED) for at, speed in speeds], grade, source, is_line=False)


RATIOS = ("SD / autoregressive", "SSD / autoregressive", "SSD / SD", "SSD / SD, each device")
TABLE = "appendix B.3 of arXiv 2603.03251, as four readers cite it: mean of four prompt sets, 5 GPUs against 4"
FIGURE_6 = "digitised from Figure 6 of arXiv 2603.03251v1, by its batch of 1: 5 GPUs against 4"
DERIVED = "the table's SSD / SD of 1.49, times 4 GPUs over 5"


def speedups(evidence: Evidence) -> FigurePart:
    ran = evidence.ran_ssd
    plain, ahead = (evidence.fastest(is_ahead=is_ahead) for is_ahead in (False, True))
    found = [
        ran.ratio(plain, AUTOREGRESSIVE),
        ran.ratio(ahead, AUTOREGRESSIVE),
        ran.ratio(ahead, plain),
        ran.ratio(ahead, plain).times(0.5),
    ]
    return FigurePart(
        [series("this pair, greedy", "measured", [*enumerate(found)], is_line=False)],
        f"{ahead.label} beside {plain.label}, the fastest of each kind that ran. SSD takes a second core here, so it "
        "is halved for each device; the paper's draft takes one GPU of five. SSD can gain no more than drafting costs: "
        f"{100 * evidence.single.draft(1) / evidence.single.verify(1, 1):.0f} % of a verification for each token here.",
    )


FIGURES = (
    Figure(
        slug="ssd-4-speed",
        paper=SSD,
        number="Figure 4",
        title="Speed of SSD over ordinary speculative decoding",
        x=Axis("temperature"),
        y=Axis("SSD / SD", "times"),
        draw=by_temperature,
        uses=("greedy", "ran_ssd", "temperatures"),
        published=(
            published("70B/1B, uniform", [*zip(TEMPERATURES, EVEN, strict=True)], "Pd", FIGURE_4),
            published("70B/1B, geometric", [*zip(TEMPERATURES, SHAPED, strict=True)], "Pd", FIGURE_4),
        ),
    ),
    Figure(
        slug="ssd-7-engines",
        paper=SSD,
        number="Figure 7, left",
        title="Speed-up over autoregressive by prompt set, beside SGLang's",
        x=Axis("", names=SETS),
        y=Axis("speed-up", "times"),
        draw=beside_engines,
        needs=("a second core",),
        uses=("ran_ssd",),
        published=(
            _of_engine("70B/1B, SSD", "S2+", READERS, *enumerate((283, 215, 224, 301, 255.8))),
            _of_engine("70B/1B, SD", "S2+", READERS, *enumerate((176, 138, 145, 188, 161.8))),
            _of_engine("70B/1B, SD of SGLang", "Pd", READ, (ALL, 168.9)),
            _of_engine("70B, EAGLE-3 of SGLang", "Pd", READ, (ALL, 150.2)),
        ),
    ),
    Figure(
        slug="ssd-speedups",
        paper=SSD,
        number="Appendix B.3",
        title="Speed-ups, and by device count",
        x=Axis("", names=RATIOS),
        y=Axis("ratio", "times"),
        draw=speedups,
        needs=("a second core",),
        uses=("ran_ssd",),
        published=(
            published("Llama 70B/1B", [(0, 2.96), (1, 4.68), (2, 1.58)], "S2+", TABLE, is_line=False),
            published("Llama 70B/1B, each device", [(3, 1.26)], "Pd", FIGURE_6, is_line=False),
            published("Qwen3 32B/0.6B", [(0, 1.54), (1, 2.29), (2, 1.49)], "S2+", TABLE, is_line=False),
            published("Qwen3 32B/0.6B, each device", [(3, 1.19)], "I", DERIVED, is_line=False),
        ),
    ),
)
