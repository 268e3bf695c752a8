"""Figure 7 of the SSD paper, left half, and the rows of its table: speeds by prompt set, beside SGLang's."""

from __future__ import annotations

from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Series, published, series
from decoding.papers.figures.ssd_7 import UNDRAFTED
from decoding.papers.settings import AUTOREGRESSIVE

NAMES = ("HumanEval", "UltraFeedback", "Alpaca", "GSM8K", "mean of all")
ALL = NAMES.index("mean of all")
TABLE = "appendix B.3 of arXiv 2603.03251, as four readers cite it, over 54.7 tokens/s of its own autoregressive"
READ = "digitised from Figure 7 of arXiv 2603.03251v1, over the same; 4 GPUs"


def draw(evidence: Evidence) -> FigurePart:
    ran = evidence.ran_ssd
    plain, ahead = (evidence.fastest(is_ahead=is_ahead) for is_ahead in (False, True))
    gains = {name: ran.ratio(choice, AUTOREGRESSIVE) for name, choice in (("SSD", ahead), ("SD", plain))}
    return FigurePart(
        [series(f"ours, {name}", "measured", [(ALL, gain)], is_line=False) for name, gain in gains.items()],
        f"Ours is the median over your prompts, of {ahead.label} and {plain.label}. The paper's SSD is "
        f"{255.8 / 168.9:.2f} times as fast as SGLang's ordinary speculative decoding, on one GPU more. To put an "
        "engine beside ours, give compare its address with --server.",
    )


def _published(name: str, grade: str, source: str, *speeds: tuple[int, float]) -> Series:
    return published(name, [(at, speed / UNDRAFTED) for at, speed in speeds], grade, source, is_line=False)


FIGURE = Figure(
    paper=SSD,
    number="Figure 7, left",
    title="Speed-up over autoregressive by prompt set, beside SGLang's",
    x=Axis("", names=NAMES),
    y=Axis("speed-up", "times"),
    draw=draw,
    needs=("a second core",),
    uses=("ran_ssd",),
    published=(
        _published("70B/1B, SSD", "S2+", TABLE, *enumerate((283, 215, 224, 301, 255.8))),
        _published("70B/1B, SD", "S2+", TABLE, *enumerate((176, 138, 145, 188, 161.8))),
        _published("70B/1B, SD of SGLang", "Pd", READ, (ALL, 168.9)),
        _published("70B, EAGLE-3 of SGLang", "Pd", READ, (ALL, 150.2)),
    ),
)
