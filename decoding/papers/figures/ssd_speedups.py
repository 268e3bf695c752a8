"""End-to-end table of the SSD paper: speed-ups as such, and for each device."""

from __future__ import annotations

from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.settings import AUTOREGRESSIVE

NAMES = ("SD / autoregressive", "SSD / autoregressive", "SSD / SD", "SSD / SD, each device")
TABLE = "appendix B.3 of arXiv 2603.03251, as four readers cite it: mean of four prompt sets, 5 GPUs against 4"
FIGURE_6 = "digitised from Figure 6 of arXiv 2603.03251v1, by its batch of 1: 5 GPUs against 4"
DERIVED = "the table's SSD / SD of 1.49, times 4 GPUs over 5"


def draw(evidence: Evidence) -> FigurePart:
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


FIGURE = Figure(
    paper=SSD,
    number="Appendix B.3",
    title="Speed-ups, and by device count",
    x=Axis("", names=NAMES),
    y=Axis("ratio", "times"),
    draw=draw,
    needs=("a second core",),
    uses=("ran_ssd",),
    published=(
        published("Llama 70B/1B", [(0, 2.96), (1, 4.68), (2, 1.58)], "S2+", TABLE, is_line=False),
        published("Llama 70B/1B, each device", [(3, 1.26)], "Pd", FIGURE_6, is_line=False),
        published("Qwen3 32B/0.6B", [(0, 1.54), (1, 2.29), (2, 1.49)], "S2+", TABLE, is_line=False),
        published("Qwen3 32B/0.6B, each device", [(3, 1.19)], "I", DERIVED, is_line=False),
    ),
)
