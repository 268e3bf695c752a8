import io

from worker.messages import JobProgress
from worker.terminal.progress import ProgressLines, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Time:
    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


def test_steps_have_a_line_for_the_first_and_the_last_of_a_phase_with_the_time_that_is_left() -> None:
    lines = ProgressLines(stream := io.StringIO(), time := Time())
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


def test_a_long_phase_has_a_line_now_and_then() -> None:
    lines = ProgressLines(stream := io.StringIO(), time := Time())
    for done in range(31):
        lines.show(JobProgress("decoding", done, 30))
        time.s += 1.0
    assert stream.getvalue().split() == [word for done in (0, 10, 20, 30) for word in ("decoding:", f"{done}/30")]


def test_on_a_terminal_each_phase_keeps_its_line() -> None:
    lines = ProgressLines(stream := Terminal())
    for phase in ("recording", "confirming"):
        lines.show(JobProgress(phase, 1, 2))
        lines.show(JobProgress(phase, 2, 2))
    lines.close()
    half, full = f"\r\x1b[K{'█' * 12}{'░' * 12} ", f"\r\x1b[K{'█' * 24} "
    first, second, rest = stream.getvalue().split("\n")
    assert first == f"{half}recording: 1/2{full}recording: 2/2"
    assert (second, rest) == (f"{half}confirming: 1/2{full}confirming: 2/2", "")


def test_durations_are_said_as_a_person_would() -> None:
    assert [duration(s) for s in (0.4, 59.6, 200, 7500)] == ["0 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]
