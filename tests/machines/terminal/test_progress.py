import io

from worker.messages import JobProgress
from worker.terminal.progress import ComparisonProgress, StepLines, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Time:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def test_on_a_terminal_one_line_is_redrawn() -> None:
    stream, time = Terminal(), Time()
    progress = ComparisonProgress(4, stream, time)
    time.s = 2.0
    progress.sample("static:4", 100)
    progress.close()
    redraw = "\r\x1b[K"
    assert stream.getvalue() == (
        f"{redraw}██████░░░░░░░░░░░░░░░░░░ 1/4 samples · 50 tokens/s · 6 s left · static:4{redraw}"
    )


def test_elsewhere_a_plain_line_is_written_now_and_then() -> None:
    stream, time = io.StringIO(), Time()
    progress = ComparisonProgress(30, stream, time)
    for _ in range(30):
        time.s += 1.0
        progress.sample("static:4", 10)
    progress.close()
    assert stream.getvalue() == (
        "10/30 samples · 10 tokens/s · 20 s left\n"
        "20/30 samples · 10 tokens/s · 10 s left\n"
        "30/30 samples · 10 tokens/s · 0 s left\n"
    )


def test_steps_have_a_line_for_the_first_and_the_last_of_a_phase_with_the_time_that_is_left() -> None:
    lines = StepLines(stream := io.StringIO(), time := Time())
    for done in (1, 2, 3):
        lines.show(
            JobProgress("recording", done, 3, whole=(10 + done, 53), is_counted=True)
        )  # 10 came from an earlier run
        time.s += 4.0
    lines.show(JobProgress("running", 40, 40, whole=(53, 53), is_counted=True))
    lines.show(JobProgress("fitting", 1, 2, "loss 0.5", whole=(53, 53)))
    assert stream.getvalue().splitlines() == [
        "recording: 1/3",
        "recording: 3/3, about 2 min 40 s left",
        "running: 40/40, about 0 s left",
        "fitting: 1/2 loss 0.5",
    ]


def test_on_a_terminal_each_phase_keeps_its_line() -> None:
    lines = StepLines(stream := Terminal())
    for phase in ("recording", "confirming"):
        lines.show(JobProgress(phase, 1, 2))
        lines.show(JobProgress(phase, 2, 2))
    lines.close()
    redraw = "\r\x1b[K"
    first, second, rest = stream.getvalue().split("\n")
    assert first == f"{redraw}recording: 1/2{redraw}recording: 2/2"
    assert (second, rest) == (f"{redraw}confirming: 1/2{redraw}confirming: 2/2", "")


def test_durations_are_said_as_a_person_would() -> None:
    assert [duration(s) for s in (0.4, 59.6, 200, 7500)] == ["0 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]
