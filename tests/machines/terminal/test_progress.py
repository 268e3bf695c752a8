import io

from worker.messages import JobProgress
from worker.terminal.progress import ProgressLines, duration


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Time:
    s = 0.0

    def __call__(self) -> float:
        return self.s


def test_a_phase_has_a_line_for_its_first_step_its_last_and_now_and_then_with_the_time_that_is_left() -> None:
    lines = ProgressLines(stream := io.StringIO(), time := Time())
    for done in (1, 2, 3):  # 10 came from an earlier run
        lines.show(JobProgress("recording", done, 3, whole=(10 + done, 53), is_counted=True))
        time.s += 4.0
    for done in range(31):
        lines.show(JobProgress("decoding", done, 30))
        time.s += 1.0
    assert stream.getvalue().splitlines() == [
        "recording: 1/3",
        "recording: 3/3, about 2 min 40 s left",
        *(f"decoding: {done}/30" for done in (0, 10, 20, 30)),
    ]
    assert [duration(s) for s in (0.4, 59.6, 200, 7500)] == ["0 s", "1 min 0 s", "3 min 20 s", "2 h 5 min"]


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
